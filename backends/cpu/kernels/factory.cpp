// full and arange.
#include <cmath>
#include <limits>

#include "../host.hpp"
#include "../tensor_view.hpp"
#include "kernels.hpp"
#include "strided.hpp"

namespace bp::cpu {
namespace {

// A number that an application wrote, as an element. Integers wrap; a number that fits no integer
// (infinity, NaN, too large) becomes the smallest i64 first, as the processor itself would have it.
template <class T> T element_from(Scalar value) {
  const auto from_real = [](auto real) {
    if constexpr (is_complex<T>) {
      return T(static_cast<typename T::value_type>(real), 0);
    } else if constexpr (is_reduced_float<T>) {
      return T(static_cast<float>(real));
    } else if constexpr (std::is_same_v<T, bool>) {
      return real != 0;
    } else if constexpr (std::is_integral_v<T> && std::is_floating_point_v<decltype(real)>) {
      const bool fits = real >= -0x1p63 && real < 0x1p63;
      if (std::is_same_v<T, uint64_t> && real >= 0x1p63 && real < 0x1p64)
        return static_cast<T>(static_cast<uint64_t>(real));
      return static_cast<T>(fits ? static_cast<int64_t>(real)
                                 : std::numeric_limits<int64_t>::min());
    } else {
      return static_cast<T>(real);
    }
  };
  if (value.is_complex()) {
    if constexpr (is_complex<T>) {
      using Part = typename T::value_type;
      return T(static_cast<Part>(value.to_double()), static_cast<Part>(value.imaginary()));
    }
  }
  return value.is_integer() ? from_real(value.to_int()) : from_real(value.to_double());
}

constexpr bp_dtype_set fillable = numeric_dtypes | dtype_set({BP_BOOL});

Status full(Stream, Ints, Scalar fill_value, std::optional<Dtype>, std::optional<DeviceNumber>,
            Out result) {
  const bp_tensor& out = result.abi();
  visit_dtype<fillable>(out.dtype, [&]<class T>(Tag<T>) {
    const T value = element_from<T>(fill_value);
    if ((out.flags & (BP_LAYOUT_CONTIGUOUS | BP_LAYOUT_DENSE)) != 0) {
      fill_bytes(address(out), out.numel * sizeof(T), &value, sizeof(T));
      return;
    }
    const std::array<int64_t, BP_MAX_RANK> standing{};  // every element from the same place
    copy_strided(shape_of(out), data_of<T>(out), out.dl.strides, &value, standing.data());
  });
  return ok;
}

Status arange(Stream, Scalar first, Scalar, Scalar between, std::optional<Dtype>,
              std::optional<DeviceNumber>, Out result) {
  const bp_tensor& out = result.abi();
  constexpr bp_dtype_set dtypes = integral_dtypes | floating_dtypes;
  visit_dtype<dtypes>(out.dtype, [&]<class T>(Tag<T>) {
    // Each element from its own product, not from its neighbour: errors do not add up.
    using Count = std::conditional_t<std::is_integral_v<T>, uint64_t, double>;
    using Number = std::conditional_t<std::is_integral_v<T>, int64_t, double>;
    const auto start = static_cast<Count>(element_from<Number>(first));
    const auto step = static_cast<Count>(element_from<Number>(between));
    T* const to = data_of<T>(out);
    parallel_for(out.numel, element_grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const Count value = start + step * static_cast<Count>(i);
        if constexpr (is_reduced_float<T>) {
          to[i] = T(static_cast<float>(value));
        } else {
          to[i] = static_cast<T>(value);
        }
      }
    });
  });
  return ok;
}

}  // namespace

void add_factory_kernels(Kernels& k) {
  k.add<op::full>(full).dtypes(DtypeSet(fillable)).layouts(strided).deterministic();
  k.add<op::arange>(arange).dtypes(real).deterministic();
}

}  // namespace bp::cpu

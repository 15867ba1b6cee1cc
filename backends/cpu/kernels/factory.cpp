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
template <class T> T element_from(const bp_value& value) {
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
  if (value.tag == BP_DOUBLE) return from_real(value.u.f);
  if (value.tag == BP_COMPLEX) {
    const auto* parts = static_cast<const double*>(value.u.ptr);
    if constexpr (is_complex<T>) {
      using Part = typename T::value_type;
      return T(static_cast<Part>(parts[0]), static_cast<Part>(parts[1]));
    }
    return from_real(parts[0]);
  }
  return from_real(value.u.i);
}

constexpr bp_dtype_set fillable = numeric_dtypes | dtype_set({BP_BOOL});

bp_code full(void*, const bp_call* call) noexcept {
  return guarded("full", [&]() -> bp_code {
    const bp_tensor& out = *call->outputs[0];
    visit_dtype<fillable>(out.dtype, [&]<class T>(Tag<T>) {
      const T value = element_from<T>(call->args[1]);
      if ((out.flags & (BP_LAYOUT_CONTIGUOUS | BP_LAYOUT_DENSE)) != 0) {
        fill_bytes(address(out), out.numel * sizeof(T), &value, sizeof(T));
        return;
      }
      const std::array<int64_t, BP_MAX_RANK> standing{};  // every element from the same place
      copy_strided(shape_of(out), data_of<T>(out), out.dl.strides, &value, standing.data());
    });
    return BP_OK;
  });
}

bp_code arange(void*, const bp_call* call) noexcept {
  return guarded("arange", [&]() -> bp_code {
    const bp_tensor& out = *call->outputs[0];
    constexpr bp_dtype_set dtypes = integral_dtypes | floating_dtypes;
    visit_dtype<dtypes>(out.dtype, [&]<class T>(Tag<T>) {
      // Each element from its own product, not from its neighbour: errors do not add up.
      using Count = std::conditional_t<std::is_integral_v<T>, uint64_t, double>;
      using Number = std::conditional_t<std::is_integral_v<T>, int64_t, double>;
      const auto start = static_cast<Count>(element_from<Number>(call->args[0]));
      const auto step = static_cast<Count>(element_from<Number>(call->args[2]));
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
    return BP_OK;
  });
}

}  // namespace

void add_factory_kernels(const bp_host& host, KernelList& list) {
  list.add(host, "full",
           {any_place(), any_place(), any_place(), any_place(), tensor_place(fillable)}, full);
  list.add(host, "arange",
           {any_place(), any_place(), any_place(), any_place(), any_place(),
            tensor_place(integral_dtypes | floating_dtypes, BP_LAYOUT_CONTIGUOUS)},
           arange);
}

}  // namespace bp::cpu

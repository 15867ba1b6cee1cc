// Norms of all tensors of a list, of order 2 and inf, which the threads share by pieces.
#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "../constants.hpp"
#include "kernels.hpp"
#include "tensor_view.hpp"
#include "threads.hpp"
#include "tile/norm.hpp"
#include "tile/program.hpp"
#include "tile/reduce.hpp"

namespace bp::cpu {
namespace {

struct NormPart {
  size_t tensor;
  int64_t first, count;
  double value;
};

double square_sum(const char* from, uint32_t dtype, int64_t count) {
  const auto sums = dtype == BP_F64 ? tile::norm_sums_f64 : tile::norm_sums_f32;
  return sums(from, nullptr, count, 0).second;
}

double extreme(tile::Reduce what, const char* from, uint32_t dtype, int64_t count) {
  const tile::Reducer reducer = tile::find_reducer(what, dtype);
  alignas(16) char accumulator[16], element[16];
  reducer.start(accumulator, 1);
  reducer.run(accumulator, from, count);
  reducer.finish(element, accumulator, 1, 1);
  double value = 0;
  visit_dtype(dtype, [&]<class T>(Tag<T>) {
    if constexpr (std::is_floating_point_v<T>)
      value = *static_cast<const T*>(static_cast<const void*>(element));
  });
  return value;
}

// The greater of two sizes; a NaN wins.
double greater(double a, double b) {
  return std::isnan(a) || a > b ? a : b;
}

double greatest_size(const char* from, uint32_t dtype, int64_t count) {
  return greater(std::abs(extreme(tile::Reduce::max, from, dtype, count)),
                 std::abs(extreme(tile::Reduce::min, from, dtype, count)));
}

bool takes_norm(Stream, InList, Scalar ord, std::optional<Dtype>, OutList) {
  return !ord.is_complex() && (ord.to_double() == 2 || std::isinf(ord.to_double())) &&
         ord.to_double() > 0;
}

Status norm(Stream, InList self, Scalar ord, std::optional<Dtype>, OutList out) {
  std::vector<NormPart> parts;
  for (size_t i = 0; i < self.size(); ++i) {
    const int64_t numel = self[i].numel();
    for (int64_t at = 0; at < numel; at += constants::list_norm_elements)
      parts.push_back({i, at, std::min(constants::list_norm_elements, numel - at), 0});
  }
  const bool is_of_squares = ord.to_double() == 2;
  const auto take = is_of_squares ? square_sum : greatest_size;
  parallel_for(static_cast<int64_t>(parts.size()), 2, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      NormPart& part = parts[static_cast<size_t>(i)];
      const In tensor = self[part.tensor];
      part.value = take(address(tensor.abi()) + part.first * tensor.itemsize(),
                        static_cast<uint32_t>(tensor.dtype()), part.count);
    }
  });
  std::vector<double> values(self.size());
  for (const NormPart& part : parts) {
    double& value = values[part.tensor];
    value = is_of_squares ? value + part.value : greater(value, part.value);
  }
  for (size_t i = 0; i < values.size(); ++i)
    tile::write_number(address(out[i].abi()), static_cast<uint32_t>(out[i].dtype()),
                       is_of_squares ? std::sqrt(values[i]) : values[i]);
  return ok;
}

}  // namespace

void add_list_norm_kernels(Kernels& k) {
  k.add<op::_foreach_norm>(norm)
      .dtypes(f32, f64)
      .layouts(contiguous)
      .supports(takes_norm)
      .deterministic();
}

}  // namespace bp::cpu

#include "checks.hpp"

namespace bp::rules {

std::string to_string(DtypeSet set) {
  std::string text;
  const auto append = [&](std::string_view what) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", what);
  };
  // Whole categories by their name, the rest one by one.
  const auto take = [&](DtypeSet category, std::string_view what) {
    if ((set & category) != category) return;
    append(what);
    set &= ~category;
  };
  take(dtypes::integral, "any integer");
  take(dtypes::floating, "float16, bfloat16, float32, float64");
  take(dtypes::complex, "complex");
  for (unsigned d = 0; d < num_dtypes; ++d)
    if (set >> d & 1u) append(name(static_cast<Dtype>(d)));
  return text;
}

void check_dtype(const Operator& op, Dtype dtype) {
  BP_CHECK(contains(op.all_dtypes(), dtype), "{}: not defined for {}; cast to one of {}", op.name(),
           name(dtype), to_string(op.all_dtypes()));
}

void check_index_dtype(const Call& call, const TensorImpl& index) {
  BP_CHECK(contains(set_of(i32, i64), dtype_of(index)),
           "{}: the index is {}; cast it to int64 (or int32)", call.op.name(),
           name(dtype_of(index)));
}

void check_something_to_index(const Call& call, IntList shape, std::int64_t dim,
                              std::int64_t num_indices) {
  BP_CHECK(
      num_indices == 0 || shape.empty() || shape[dim] > 0,
      "{}: {} indices into dimension {} of shape {}, which has no elements; pass an empty index",
      call.op.name(), num_indices, dim, bp::to_string(shape));
}

}  // namespace bp::rules

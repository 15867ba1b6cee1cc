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
  BP_CHECK(contains(op.dtypes, dtype), "{}: not defined for {}; cast to one of {}", op.name(),
           name(dtype), to_string(op.dtypes));
}

}  // namespace bp::rules

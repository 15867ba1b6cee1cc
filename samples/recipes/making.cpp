// Samples of rows that make tensors: of one number, counted, or random.
#include "draft.hpp"

namespace bp {
namespace {

Dims size_for(Draft& draft) {
  if (draft.is("vector", "with_offset", "half", "integer", "boolean", "negative")) return {6};
  if (draft.is("matrix")) return {3, 5};
  if (draft.is("odd_size")) return {3, 7};
  if (draft.is("rank_four")) return {2, 3, 4, 5};
  return draft.shape();
}

void add_dtype_and_device(Draft& draft, Dtype dtype) {
  draft.add_value(dtype);
  draft.add_value(draft.device());
}

Dtype floating_dtype(Draft& draft) {
  if (draft.is("half")) return f16;
  return is_floating(draft.dtype()) ? draft.dtype() : f32;
}

void draft_arange(Draft& draft) {
  Scalar start = 0;
  Scalar end = 10;
  Scalar step = 1;
  if (draft.is("from_start")) start = 3;
  if (draft.is("with_step")) step = 3;
  if (draft.is("downward")) start = 10, end = -5, step = -4;
  if (draft.is("fractional", "single_precision")) start = 0.0, end = 1.0, step = 0.125;
  if (draft.is("empty")) end = 0;
  if (draft.is("several_tiles")) end = 5000;
  draft.is("counting");
  draft.add_value(start);
  draft.add_value(end);
  draft.add_value(step);
  draft.is("single_precision") ? draft.add_value(f32) : draft.add_none();
  draft.add_value(draft.device());
}

Dtype made_dtype(Draft& draft) {
  return draft.is("integer") ? i64 : draft.is("boolean") ? boolean : draft.dtype();
}

// empty_like and its like: a tensor says what.
void draft_like(Draft& draft, std::string_view name) {
  const Dims shape = draft.is("integer", "boolean") ? Dims{3, 5} : draft.shape();
  draft.add(draft.tensor(shape, made_dtype(draft)));
  if (name == "full_like") draft.add_value(std::int64_t{1});
}

}  // namespace

void draft_factory(Draft& draft) {
  const std::string_view name = draft.op().name();
  if (name == "arange") return draft_arange(draft);
  if (name.ends_with("_like")) return draft_like(draft, name);
  draft.add_list(size_for(draft));
  if (name == "full") draft.add_value(std::int64_t{1});
  add_dtype_and_device(draft, made_dtype(draft));
}

void draft_random(Draft& draft) {
  const std::string_view name = draft.op().name();
  if (name == "dropout") {
    draft.add(draft.tensor(draft.is("inference", "never", "always") ? Dims{3, 5} : draft.shape()));
    draft.add_value(draft.is("never") ? 0.0 : draft.is("always") ? 1.0 : 0.5);
    return draft.add_value(!draft.is("inference"));
  }
  if (name == "randperm") {
    const bool is_int32 = draft.is("as_int32");
    const std::int64_t n = draft.is("one")             ? 1
                           : draft.is("empty")         ? 0
                           : draft.is("even")          ? 8
                           : draft.is("odd_size")      ? 9
                           : draft.is("prime")         ? 101
                           : draft.is("several_tiles") ? 5000
                                                       : (draft.is("small"), 5);
    draft.add_value(n);
    return add_dtype_and_device(draft, is_int32 ? i32 : i64);
  }
  if (name == "randint") {
    draft.add_value(draft.is("negative") ? std::int64_t{-20} : std::int64_t{0});
    draft.add_value(std::int64_t{10});
    draft.add_list(size_for(draft));
    return add_dtype_and_device(draft, i64);
  }
  draft.add_list(size_for(draft));
  if (name != "rand" && name != "randn") {
    draft.add_value(std::int64_t{1234});
    draft.add_value(draft.is("with_offset") ? std::int64_t{1} << 33 : std::int64_t{0});
  }
  if (name == "philox") return draft.add_value(draft.device());
  add_dtype_and_device(draft, floating_dtype(draft));
}

}  // namespace bp

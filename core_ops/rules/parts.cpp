// Rows with a list of results: how many there are, and the views of one tensor.
#include <algorithm>

#include <backplane/tensor/views.hpp>

#include "checks.hpp"
#include "rules.hpp"

namespace bp::rules {
namespace {

struct Cut {
  std::int64_t dim, whole;
};

// Where argument 0 is cut: along the dimension that argument `place` names.
Cut cut_of(const Call& call, std::uint32_t place) {
  const TensorImpl& input = impl_arg(call, 0);
  const IntList shape = shape_of(input);
  BP_CHECK(!shape.empty(), "{}: a 0-dim tensor has no parts; reshape it to [1] first",
           call.op.name());
  const std::int64_t dim = wrap_dim(call.op.name(), int_arg(call, place), input.abi.dl.ndim);
  return {dim, shape[dim]};
}

std::uint32_t checked_count(const Call& call, std::int64_t count) {
  BP_CHECK(count <= INT32_MAX, "{}: {} results; ask for at most {}", call.op.name(), count,
           INT32_MAX);
  return static_cast<std::uint32_t>(count);
}

std::uint32_t num_listed(const Call& call) {
  return call.args[0].aux;
}

}  // namespace

std::uint32_t foreach_count(const Call& call) {
  for (std::uint32_t i = 1; i < call.num_args; ++i)
    BP_CHECK(call.args[i].tag != BP_TENSOR_LIST || call.args[i].aux == num_listed(call),
             "{}: '{}' has {} tensors and '{}' has {}; pass lists of one length", call.op.name(),
             call.op.schema->arguments[0].name, num_listed(call), call.op.schema->arguments[i].name,
             call.args[i].aux);
  return num_listed(call);
}

std::uint32_t unbind_count(const Call& call) {
  return checked_count(call, cut_of(call, 1).whole);
}

void unbind_views(const Call& call) {
  const std::int64_t dim = cut_of(call, 1).dim;
  for (std::uint32_t i = 0; i < call.num_results; ++i)
    call.results[i] = views::select(tensor_arg(call, 0), dim, i);
}

std::uint32_t split_count(const Call& call) {
  const Cut cut = cut_of(call, 2);
  const std::int64_t size = int_arg(call, 1);
  BP_CHECK(size > 0 || (size == 0 && cut.whole == 0),
           "{}: parts of {} elements of dimension {}, which has {}; pass a positive number",
           call.op.name(), size, cut.dim, cut.whole);
  return checked_count(call, cut.whole == 0 ? 1 : (cut.whole - 1) / size + 1);
}

void split_views(const Call& call) {
  const Cut cut = cut_of(call, 2);
  const std::int64_t size = int_arg(call, 1);
  for (std::uint32_t i = 0; i < call.num_results; ++i)
    call.results[i] =
        views::narrow(tensor_arg(call, 0), cut.dim, i * size, std::min(size, cut.whole - i * size));
}

std::uint32_t split_with_sizes_count(const Call& call) {
  const Cut cut = cut_of(call, 2);
  const IntList sizes = list_arg(call, 1);
  std::int64_t sum = 0;
  bool overflow = false;
  for (const std::int64_t part : sizes) {
    BP_CHECK(part >= 0, "{}: a part of {} elements; pass 0 or more", call.op.name(), part);
    overflow |= __builtin_add_overflow(sum, part, &sum);
  }
  BP_CHECK(sum == cut.whole && !overflow,
           "{}: the sizes {} add up to {} and dimension {} has {}; make them equal", call.op.name(),
           to_string(sizes), sum, cut.dim, cut.whole);
  return checked_count(call, static_cast<std::int64_t>(sizes.size()));
}

void split_with_sizes_views(const Call& call) {
  const std::int64_t dim = cut_of(call, 2).dim;
  const IntList sizes = list_arg(call, 1);
  std::int64_t start = 0;
  for (std::uint32_t i = 0; i < call.num_results; ++i) {
    call.results[i] = views::narrow(tensor_arg(call, 0), dim, start, sizes[i]);
    start += sizes[i];
  }
}

std::uint32_t chunk_count(const Call& call) {
  const std::int64_t chunks = int_arg(call, 1);
  BP_CHECK(chunks > 0, "{}: {} chunks; pass a positive number", call.op.name(), chunks);
  const std::int64_t whole = cut_of(call, 2).whole;
  if (whole == 0) return checked_count(call, chunks);
  const std::int64_t size = (whole - 1) / chunks + 1;
  return checked_count(call, (whole - 1) / size + 1);
}

std::uint32_t tensor_split_count(const Call& call) {
  const std::int64_t sections = int_arg(call, 1);
  BP_CHECK(sections > 0, "{}: {} sections; pass a positive number", call.op.name(), sections);
  cut_of(call, 2);
  return checked_count(call, sections);
}

std::uint32_t tensor_split_at_count(const Call& call) {
  cut_of(call, 2);
  return checked_count(call, static_cast<std::int64_t>(list_arg(call, 1).size()) + 1);
}

std::uint32_t meshgrid_count(const Call& call) {
  BP_CHECK(num_listed(call) > 0, "{}: no tensors; pass at least one", call.op.name());
  return num_listed(call);
}

std::uint32_t broadcast_tensors_count(const Call& call) {
  return num_listed(call);
}

}  // namespace bp::rules

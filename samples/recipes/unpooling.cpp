// Samples of pools of powers, and of pools undone.
#include <string_view>

#include <backplane/core_ops/generated/factory.hpp>
#include <backplane/core_ops/generated/pointwise.hpp>
#include <backplane/core_ops/generated/view.hpp>

#include "draft.hpp"

namespace bp {
namespace {

std::int64_t rank_of(std::string_view name) {
  return name.find('1') != name.npos ? 1 : name.find('2') != name.npos ? 2 : 3;
}

Dims window_shape(Draft& draft, std::int64_t rank, std::int64_t size) {
  Dims shape;
  if (!draft.is("unbatched")) shape.push_back(draft.is("zero_size") ? 0 : 2);
  shape.push_back(2);
  for (std::int64_t d = 0; d < rank; ++d) shape.push_back(size);
  return shape;
}

void draft_power(Draft& draft, std::int64_t rank) {
  const bool is_strided = draft.is("strided"), is_ceil = draft.is("ceil_mode");
  const bool is_other = draft.is("other_norm"), is_first = draft.is("first_norm");
  const bool is_long = draft.is("several_tiles");
  draft.is("same", "non_contiguous");
  const std::int64_t usual = rank == 3 ? 3 : 5;
  const std::int64_t size = !is_long ? usual : rank == 1 ? 521 : rank == 2 ? 29 : 9;
  const Tensor input = draft.tensor(window_shape(draft, rank, size));
  draft.add(input);
  draft.add_value(is_other ? 4.0 : is_first ? 1.0 : 2.0);
  draft.add_list({2});
  is_strided || is_long ? draft.add_list({is_long ? 3 : 1}) : draft.add_list({});
  if (is_ceil) draft.add_value(true);
}

// The first element of each window, row-major in the plane.
Tensor first_places(const Draft& draft, IntList shape, std::int64_t rank, std::int64_t step,
                    std::int64_t size) {
  Tensor places;
  for (std::int64_t d = 0; d < rank; ++d) {
    Dims apart(static_cast<std::uint32_t>(rank), 1);
    const std::int64_t count = shape[shape.size() - static_cast<std::size_t>(rank - d)];
    apart[static_cast<std::size_t>(d)] = count;
    const Tensor along = reshape(mul(arange(0, count, 1, i64, draft.device()), step), apart);
    places = places.defined() ? add(mul(places, size), along) : along;
  }
  return add(expand(places, shape), 0);
}

void draft_unpool(Draft& draft, std::int64_t rank) {
  const bool is_strided = draft.is("strided"), is_padded = draft.is("padded");
  const bool is_sized = draft.is("sized"), is_whole = draft.is("sized_whole");
  const bool is_long = draft.is("several_tiles");
  draft.is("same", "non_contiguous");
  const std::int64_t count = !is_long ? 3 : rank == 1 ? 211 : rank == 2 ? 13 : 5;
  const std::int64_t kernel = is_padded ? 4 : 2, step = is_strided ? 3 : 2;
  const std::int64_t usual = (count - 1) * step + kernel - (is_padded ? 2 : 0);
  const std::int64_t size = usual + (is_sized || is_whole ? 1 : 0);
  const Dims shape = window_shape(draft, rank, count);
  draft.add(draft.tensor(shape));
  draft.add(first_places(draft, shape, rank, step, size));
  draft.add_list({kernel});
  is_strided || is_padded ? draft.add_list({step}) : draft.add_list({});
  draft.add_list({is_padded ? 1 : 0});
  if (!is_sized && !is_whole) return;
  Dims asked;
  if (is_whole) asked.push_back(shape[0]), asked.push_back(shape[1]);
  for (std::int64_t d = 0; d < rank; ++d) asked.push_back(size);
  draft.add_list(asked);
}

}  // namespace

void draft_unpooling(Draft& draft) {
  const std::string_view name = draft.op().name();
  if (name.starts_with("lp")) return draft_power(draft, rank_of(name));
  draft_unpool(draft, rank_of(name));
}

}  // namespace bp

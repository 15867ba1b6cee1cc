// Samples of rows of complex numbers and their parts.
#include <string_view>

#include <backplane/tensor/views.hpp>

#include "draft.hpp"

namespace bp {
namespace {

Tensor draft_pairs(Draft& draft) {
  if (draft.is("vector")) return draft.tensor({4, 2});
  if (draft.is("pair")) return draft.tensor({2});
  if (draft.is("zero_size")) return draft.tensor({0, 3, 2});
  if (draft.is("several_tiles")) return draft.tensor({7, 1031, 2});
  if (draft.is("stepped")) return views::slice(draft.tensor({3, 10, 2}), 1, {}, {}, 2);
  if (draft.is("reordered")) return views::permute(draft.tensor({5, 3, 2}), {1, 0, 2});
  draft.is("same", "expanded", "offset");
  return draft.tensor({3, 5, 2});
}

void draft_polar(Draft& draft) {
  const Dims shape = draft.shape();
  draft.add(draft.is("row") ? draft.tensor({3, 1}) : draft.tensor(shape));
  draft.add(draft.is("row") ? draft.tensor({5}) : draft.tensor(shape));
}

}  // namespace

void draft_complex(Draft& draft) {
  const std::string_view name = draft.op().name();
  if (name == "view_as_complex") return draft.add(draft_pairs(draft));
  if (name == "polar") return draft_polar(draft);
  draft.add(draft.tensor(draft.shape()));
}

}  // namespace bp

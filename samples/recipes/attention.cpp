// Samples of attention.
#include <backplane/tensor/views.hpp>

#include "draft.hpp"

namespace bp {
namespace {

struct Heads {
  Dims query{2, 2, 3, 4}, key{2, 2, 5, 4}, value{2, 2, 5, 4};

  Dims result() const {
    Dims shape(query);
    shape.back() = value.back();
    return shape;
  }
  Dims scores() const {
    Dims shape(query);
    shape.back() = key[key.size() - 2];
    return shape;
  }
};

Heads heads_for(Draft& draft) {
  if (draft.is("same")) return {{2, 2, 3, 4}, {2, 2, 3, 4}, {2, 2, 3, 4}};
  if (draft.is("values_of_other_size")) return {{2, 2, 3, 4}, {2, 2, 5, 4}, {2, 2, 5, 3}};
  if (draft.is("grouped")) return {{1, 4, 3, 2}, {1, 2, 5, 2}, {1, 2, 5, 3}};
  if (draft.is("size_one")) return {{1, 1, 1, 1}, {1, 1, 1, 1}, {1, 1, 1, 1}};
  if (draft.is("several_tiles")) return {{1, 2, 70, 33}, {1, 2, 300, 33}, {1, 2, 300, 20}};
  if (draft.is("matrices")) return {{3, 4}, {5, 4}, {5, 3}};
  if (draft.is("three_dims")) return {{2, 3, 4}, {2, 5, 4}, {2, 5, 3}};
  if (draft.is("five_dims")) return {{2, 1, 2, 3, 4}, {2, 1, 2, 5, 4}, {2, 1, 2, 5, 4}};
  if (draft.is("batch_broadcast")) return {{2, 2, 3, 4}, {1, 2, 5, 4}, {2, 1, 5, 4}};
  if (draft.is("no_keys")) return {{2, 2, 3, 4}, {2, 2, 0, 4}, {2, 2, 0, 4}};
  if (draft.is("zero_size")) return {{0, 2, 3, 4}, {0, 2, 5, 4}, {0, 2, 5, 4}};
  draft.is("longer_keys", "causal", "scaled", "non_contiguous");
  return {};
}

void add_mask(Draft& draft, const Heads& heads) {
  if (draft.is("boolean_mask")) return draft.add(draft.tensor(heads.scores(), boolean));
  if (draft.is("additive_mask")) return draft.add(draft.tensor(heads.scores()));
  if (!draft.is("broadcast_mask")) return draft.add_none();
  draft.add(views::expand(draft.tensor({heads.query[2], heads.key[2]}), heads.scores()));
}

void add_query_key_value(Draft& draft, const Heads& heads) {
  for (const Dims& shape : {heads.query, heads.key, heads.value}) {
    // As projections leave it, [b, l, h, e]: what attention gets most.
    if (draft.is("transposed"))
      draft.add(views::transpose(draft.tensor({shape[0], shape[2], shape[1], shape[3]}), 1, 2));
    else
      draft.add(draft.tensor(shape));
  }
}

}  // namespace

void draft_attention(Draft& draft) {
  const std::string_view name = draft.op().name();
  const Heads heads = heads_for(draft);
  const bool is_backward = name.ends_with("backward"), is_causal = draft.is("causal");
  const Dtype sums = draft.dtype() == f64 ? f64 : f32;
  if (is_backward) {
    draft.add(draft.tensor(heads.result()));
    if (draft.is("scaled"))
      draft.add(draft.tensor({heads.query[0], heads.query[1], heads.query[2]}, sums));
    else
      draft.add_none();
  }
  add_query_key_value(draft, heads);
  add_mask(draft, heads);
  if (is_backward) {
    draft.add(draft.tensor(heads.result()));
    draft.add(draft.tensor({heads.query[0], heads.query[1], heads.query[2]}, sums));
  }
  if (!name.starts_with("scaled")) {
    draft.add_value(is_causal);
    return draft.add_value(draft.is("scaled") ? 0.3 : 0.5);
  }
  draft.add_value(0.0);
  draft.add_value(is_causal);
  if (draft.is("scaled"))
    draft.add_value(0.3);
  else
    draft.add_none();
  draft.add_value(draft.is("grouped"));
}

}  // namespace bp

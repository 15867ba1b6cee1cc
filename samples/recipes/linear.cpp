// Samples of rows that add to matrix products, and of sums of products.
#include <string_view>

#include "draft.hpp"

namespace bp {
namespace {

struct ProductShapes {
  Dims addend, left, right;
};

ProductShapes product_shapes(Draft& draft) {
  ProductShapes shapes{{4, 6}, {4, 5}, {5, 6}};
  if (draft.is("row")) shapes.addend = {6};
  if (draft.is("column")) shapes.addend = {4, 1};
  if (draft.is("number")) shapes.addend = {};
  if (draft.is("zero_size")) shapes = {{0, 6}, {0, 5}, {5, 6}};
  if (draft.is("empty_inner")) shapes = {{4, 6}, {4, 0}, {0, 6}};
  if (draft.is("several_tiles")) shapes = {{33, 65}, {33, 129}, {129, 65}};
  if (draft.is("size_one")) shapes = {{1, 1}, {1, 1}, {1, 1}};
  draft.is("same", "non_contiguous", "transposed", "expanded");
  return shapes;
}

void draft_added_product(Draft& draft, bool is_batched) {
  ProductShapes shapes = product_shapes(draft);
  if (is_batched) {
    if (shapes.addend.size() == 2) shapes.addend.insert(0, 2);
    shapes.left.insert(0, 2);
    shapes.right.insert(0, 2);
  }
  draft.add(draft.tensor(shapes.addend));
  draft.add(draft.tensor(shapes.left));
  draft.add(draft.tensor(shapes.right));
  if (draft.is("without_addend")) draft.add_value(std::int64_t{0});
  if (draft.is("scaled")) {
    draft.add_value(std::int64_t{3});
    draft.add_value(std::int64_t{-2});
  }
}

void draft_linear_map(Draft& draft) {
  Dims a{4, 5}, weight{6, 5};
  if (draft.is("vector")) a = {5};
  if (draft.is("batch")) a = {2, 3, 5};
  if (draft.is("vector_weight")) weight = {5};
  if (draft.is("zero_size")) a = {0, 5};
  if (draft.is("empty_inner")) a = {4, 0}, weight = {6, 0};
  if (draft.is("several_tiles")) a = {33, 129}, weight = {65, 129};
  if (draft.is("size_one")) a = weight = {1, 1};
  draft.is("same", "non_contiguous", "transposed");
  draft.add(draft.tensor(a));
  draft.add(draft.tensor(weight));
  if (draft.is("without_bias")) return;
  draft.add(draft.tensor(weight.size() == 2 ? Dims{weight[0]} : Dims{}));
}

void add_equation(Draft& draft, std::string_view equation, std::initializer_list<Dims> shapes) {
  std::vector<Tensor> operands;
  for (const Dims& shape : shapes) operands.push_back(draft.tensor(shape));
  draft.add_value(equation);
  draft.add(operands);
}

void draft_einsum(Draft& draft) {
  if (draft.is("outer")) return add_equation(draft, "i,j->ij", {{4}, {5}});
  if (draft.is("trace")) return add_equation(draft, "ii", {{4, 4}});
  if (draft.is("rows_of_diagonal")) return add_equation(draft, "iij->ji", {{3, 3, 4}});
  if (draft.is("batch")) return add_equation(draft, "bij,bkj->bik", {{2, 3, 4}, {2, 5, 4}});
  if (draft.is("ellipsis"))
    return add_equation(draft, "...ij,...jk->...ik", {{2, 1, 3, 4}, {5, 4, 3}});
  if (draft.is("implicit")) return add_equation(draft, "kj, ji", {{4, 5}, {5, 3}});
  if (draft.is("three")) return add_equation(draft, "bn,anm,bm->ba", {{2, 3}, {4, 3, 5}, {2, 5}});
  if (draft.is("dot")) return add_equation(draft, "i,i->", {{6}, {6}});
  if (draft.is("broadcast")) return add_equation(draft, "ij,ij->i", {{3, 1}, {3, 4}});
  if (draft.is("zero_size")) return add_equation(draft, "ij,jk->ik", {{3, 0}, {0, 4}});
  if (draft.is("several_tiles")) return add_equation(draft, "ij,kj->ik", {{33, 129}, {65, 129}});
  draft.is("same", "non_contiguous", "transposed");
  add_equation(draft, "ij,jk->ik", {{3, 4}, {4, 5}});
}

}  // namespace

void draft_linear(Draft& draft) {
  const std::string_view name = draft.op().name();
  if (name == "linear") return draft_linear_map(draft);
  if (name == "einsum") return draft_einsum(draft);
  draft_added_product(draft, name == "baddbmm");
}

}  // namespace bp

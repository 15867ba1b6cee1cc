// Samples of rows over lists: tensors of several shapes, and what stands beside them.
#include <limits>
#include <string_view>

#include <backplane/tensor/views.hpp>

#include "draft.hpp"

namespace bp {
namespace {

// Rows that are defined, or well behaved, for positive numbers alone.
bool takes_positive(std::string_view name, bool is_first) {
  if (name.find("sqrt") != name.npos) return true;
  if (is_first) return name.find("reciprocal") != name.npos || name.find("pow") != name.npos;
  return name.find("div") != name.npos;
}

// Fractions from 0.5 on, laid out as the recipe says.
Tensor positive(Draft& draft, IntList shape) {
  if (shape.size() == 2 && draft.is("transposed"))
    return views::transpose(draft.between({shape[1], shape[0]}, 0.5, 2), 0, 1);
  if (shape.size() == 2 && draft.is("non_contiguous"))
    return views::slice(draft.between({shape[0], 2 * shape[1]}, 0.5, 2), 1, {}, {}, 2);
  return draft.between(shape, 0.5, 2);
}

Tensor listed_tensor(Draft& draft, IntList shape, bool is_positive) {
  return is_positive ? positive(draft, shape) : draft.tensor(shape);
}

// Of several shapes; by several tiles, one that kernels cut into pieces as well.
std::vector<Dims> listed_shapes(Draft& draft) {
  std::vector<Dims> shapes{draft.shape()};
  if (draft.is("one")) return shapes;
  shapes.push_back({4});
  shapes.push_back({});
  if (draft.is("several_tiles")) shapes.push_back({66'001});
  if (draft.is("many"))
    for (std::int64_t size = 1; size < 15; ++size) shapes.push_back({size, 2});
  return shapes;
}

std::vector<Tensor> tensors_of(Draft& draft, const std::vector<Dims>& shapes, bool is_positive) {
  std::vector<Tensor> tensors;
  for (const Dims& shape : shapes) tensors.push_back(listed_tensor(draft, shape, is_positive));
  if (draft.is("repeated")) tensors.push_back(tensors.front());
  return tensors;
}

}  // namespace

void draft_foreach(Draft& draft) {
  const std::string_view name = draft.op().name();
  const auto& arguments = draft.op().schema->arguments;
  const bool is_number = draft.is("by_number"), is_scaled = draft.is("scaled");
  const std::vector<Dims> shapes = listed_shapes(draft);
  const std::vector<Dims> beside =
      draft.is("by_scalars") ? std::vector<Dims>(shapes.size()) : shapes;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const bool is_list = arguments[i].type == ArgumentType::tensor_list;
    const bool is_last_list = is_list && (draft.op().scalar_ok >> i & 1u);
    if (is_last_list && is_number)
      draft.add_value(std::int64_t{2});
    else if (is_list)
      draft.add(tensors_of(draft, i == 0 ? shapes : beside, takes_positive(name, i == 0)));
  }
  if (is_scaled) draft.add_value(0.5);
  if (draft.is("absolute")) draft.add_value(1.0);
  if (draft.is("largest")) draft.add_value(std::numeric_limits<double>::infinity());
}

}  // namespace bp

// From a call's arguments to the functions of tensor/views.hpp.
#include <backplane/dispatcher/transfer.hpp>
#include <backplane/tensor/views.hpp>

#include "arguments.hpp"
#include "rules.hpp"

namespace bp::rules {
namespace {

Tensor shown_copy(const Tensor& input, IntList shape) {
  Tensor result = views::view(make_contiguous(input), shape);
  forget_lone_base(*result.impl());
  return result;
}

}  // namespace

Tensor view_view(const Call& call) {
  return views::view(tensor_arg(call, 0), list_arg(call, 1));
}

Tensor reshape_view(const Call& call) {
  const BorrowedTensor input = tensor_arg(call, 0);
  std::optional<Tensor> view = views::reshape(input, list_arg(call, 1));
  if (view) return std::move(*view);
  return shown_copy(input, list_arg(call, 1));
}

Tensor flatten_view(const Call& call) {
  const BorrowedTensor input = tensor_arg(call, 0);
  std::optional<Tensor> view = views::flatten(input, int_arg(call, 1), int_arg(call, 2));
  if (view) return std::move(*view);
  return shown_copy(input,
                    views::flattened_shape(input->shape(), int_arg(call, 1), int_arg(call, 2)));
}

Tensor transpose_view(const Call& call) {
  return views::transpose(tensor_arg(call, 0), int_arg(call, 1), int_arg(call, 2));
}

Tensor permute_view(const Call& call) {
  return views::permute(tensor_arg(call, 0), list_arg(call, 1));
}

Tensor slice_view(const Call& call) {
  return views::slice(tensor_arg(call, 0), int_arg(call, 1), optional_int_arg(call, 2),
                      optional_int_arg(call, 3), int_arg(call, 4));
}

Tensor select_view(const Call& call) {
  return views::select(tensor_arg(call, 0), int_arg(call, 1), int_arg(call, 2));
}

Tensor narrow_view(const Call& call) {
  return views::narrow(tensor_arg(call, 0), int_arg(call, 1), int_arg(call, 2), int_arg(call, 3));
}

Tensor expand_view(const Call& call) {
  return views::expand(tensor_arg(call, 0), list_arg(call, 1));
}

Tensor squeeze_view(const Call& call) {
  if (is_none(call, 1)) return views::squeeze(tensor_arg(call, 0));
  return views::squeeze(tensor_arg(call, 0), list_arg(call, 1));
}

Tensor unsqueeze_view(const Call& call) {
  return views::unsqueeze(tensor_arg(call, 0), int_arg(call, 1));
}

Tensor as_strided_view(const Call& call) {
  return views::as_strided(tensor_arg(call, 0), list_arg(call, 1), list_arg(call, 2),
                           optional_int_arg(call, 3));
}

Tensor view_as_real_view(const Call& call) {
  return views::view_as_real(tensor_arg(call, 0));
}

Tensor view_as_complex_view(const Call& call) {
  return views::view_as_complex(tensor_arg(call, 0));
}

Tensor unfold_view(const Call& call) {
  return views::unfold(tensor_arg(call, 0), int_arg(call, 1), int_arg(call, 2), int_arg(call, 3));
}

Tensor diagonal_view(const Call& call) {
  return views::diagonal(tensor_arg(call, 0), int_arg(call, 1), int_arg(call, 2), int_arg(call, 3));
}

}  // namespace bp::rules

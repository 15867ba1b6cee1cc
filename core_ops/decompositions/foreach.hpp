// One operator for each tensor of a list and what stands at its place in others: what rows over lists are made with.
#pragma once

#include <vector>

#include <backplane/core_ops/creation.hpp>

#include "rules/arguments.hpp"

namespace bp {

// Throws unless the lists are of one length, and tensors at the same place of one dtype and device.
void check_beside(TensorList first, TensorList other);

// The same, and unless each of the first list has the shape of what would be written into it.
void check_fits(TensorList first, TensorList other);

// f(tensor, those beside it), place by place, which writes into the tensor. None is written unless all can be.
template <class F, class... Lists> void write_each(F f, TensorList first, Lists... others) {
  (check_fits(first, others), ...);
  for (std::size_t i = 0; i < first.span().size(); ++i) f(first.span()[i], others.span()[i]...);
}

template <class F, class... Lists>
std::vector<Tensor> each_of(F f, TensorList first, Lists... others) {
  (check_beside(first, others), ...);
  std::vector<Tensor> results;
  results.reserve(first.span().size());
  for (std::size_t i = 0; i < first.span().size(); ++i)
    results.push_back(f(first.span()[i], others.span()[i]...));
  return results;
}

// The same, where `last` is a further list, or a number that stands for each of its tensors.
template <class F, class... Lists>
void write_each_with(F f, const ListOrNumber& last, Lists... lists) {
  if (last.is_number())
    write_each([&](const auto&... tensors) { f(tensors..., last.number()); }, lists...);
  else
    write_each(f, lists..., last.tensors());
}

template <class F, class... Lists>
std::vector<Tensor> each_with(F f, const ListOrNumber& last, Lists... lists) {
  if (last.is_number())
    return each_of([&](const auto&... tensors) { return f(tensors..., last.number()); }, lists...);
  return each_of(f, lists..., last.tensors());
}

}  // namespace bp

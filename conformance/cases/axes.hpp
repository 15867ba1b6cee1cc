// The axes of a row: what shapes, layouts, values and forms its calls may have; and covering arrays: few combinations of
// axes in which all pairs, or triples, of their values come up.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <backplane/dispatcher/operator.hpp>
#include <backplane/samples/row_facts.hpp>

#include "cases/derive.hpp"
#include "inputs/values.hpp"

namespace bp::conform {

struct Axes {
  std::vector<Dtype> dtypes;        // crossed with all layouts and values
  std::vector<Dtype> minor_dtypes;  // crossed with the classes of layouts alone
  std::vector<std::string> shapes, layouts, values, forms;

  std::vector<Dtype> all_dtypes() const;
};
Axes axes_of(const Operator& op, Profile profile);

// A case of the core's lane; and the one at these places of the axes, which have so many each: dtype, shape, layouts, values, form.
Case case_of(const Operator& op, Dtype dtype, std::string shape, std::string layouts,
             std::string values, std::string form);
Case case_at(const Operator& op, const Axes& axes, const std::vector<int>& places);
std::vector<int> sizes_of(const Axes& axes);

// A row's cases in the making, behind those of others.
struct RowCases {
  const Operator& op;
  const Axes& axes;
  const Profile profile;
  std::vector<Case>& all;

  bool is(Trait trait) const { return has_trait(op.name(), trait); }
  // Samples lie as they do, and have their own values.
  bool takes_samples() const {
    return !axes.shapes.empty() && axes.shapes[0].starts_with("sample:");
  }
  // Another number for each row, of what rows do in turn.
  std::size_t turn() const { return static_cast<std::size_t>(hash_text(op.name()) % 1024); }
  void add(Dtype dtype, std::string shape, std::string layouts, std::string values,
           std::string form) const {
    all.push_back(case_of(op, dtype, std::move(shape), std::move(layouts), std::move(values),
                          std::move(form)));
  }
};

// Is the call one that makes sense: else a plainer one takes its place.
void make_sensible(const Operator& op, Case& one);
// Numbers that the dtype holds: others are refused. Fractions in a range of whole numbers are a matter of taste.
void keep_numbers_held(const Operator& op, Case& one);

// Values of which any result would be right are others instead.
void choose_telling_values(const Operator& op, Case& one);

bool writes_where_told(const Operator& op);  // has a shape rule of its own: out= and in place
// Not a condition, say, in whose place no result can be.
bool takes_result_first(const Operator& op);
// Not of calls that write into an argument, draw numbers, or leave elements as they were.
bool gives_the_same_again(const Operator& op);
// Several elements in one place: other values than those of the shape.
bool repeats_elements(std::string_view layouts);
// How many tensors the row takes; lists count as two.
int tensor_arguments(const Operator& op);
inline bool is_one_of(std::string_view text, std::initializer_list<std::string_view> list) {
  return std::ranges::find(list, text) != list.end();
}
// Does it give what its arguments hold in another dtype that it is told?
bool converts(const Operator& op);

// Each group names the axes of which all combinations of values shall be there. The result is a list of positions,
// one for each axis; the same for the same arguments. `seed` decides what is free.
std::vector<std::vector<int>> cover(const std::vector<int>& sizes,
                                    const std::vector<std::vector<int>>& groups,
                                    std::uint64_t seed);

// All groups of `strength` out of so many axes.
std::vector<std::vector<int>> groups_of(int axes, int strength);

}  // namespace bp::conform

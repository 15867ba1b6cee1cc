// How far normalizations are shifted by the rounding of the mean that they take off: that moves a whole group, which steps
// of the inputs do not show where the group has two elements, say.
#include <algorithm>
#include <cmath>

#include "judge/bounds.hpp"

namespace bp::conform {
namespace {

struct NormGroups {
  std::int64_t size = 1;                 // elements of a group, which lie in a row
  std::int64_t channels = 1, plane = 1;  // element i has the weight i / plane % channels
  bool across_batch = false;             // a group is a channel of all images

  std::size_t channel_of(std::size_t i) const {
    return i / static_cast<std::size_t>(plane) % static_cast<std::size_t>(channels);
  }
  std::size_t group_of(std::size_t i) const {
    return across_batch ? channel_of(i) : i / static_cast<std::size_t>(size);
  }
};

// False for rows that take off no mean.
bool find_groups(const Evaluation& all, const ExpectedTensor& out, NormGroups& groups) {
  if (!all.is(Trait::takes_mean_off) || all.inputs.empty() || all.inputs[0].numel() == 0)
    return false;
  if (out.shape != all.inputs[0].shape().to_vector()) return false;
  if (const bp_value shape = argument_value(all.problem, "normalized_shape");
      shape.tag == BP_INT_LIST) {
    for (std::uint32_t d = 0; d < shape.aux; ++d)
      groups.size *= static_cast<const std::int64_t*>(shape.u.ptr)[d];
    groups.channels = groups.size;
    return true;
  }
  if (out.shape.size() < 2) return false;
  groups.channels = out.shape[1];
  groups.plane = all.inputs[0].numel() / (out.shape[0] * groups.channels);
  groups.size = groups.plane;
  groups.across_batch = all.is(Trait::across_batch);
  if (const bp_value count = argument_value(all.problem, "num_groups"); count.tag == BP_INT)
    groups.size *= groups.channels / count.u.i;
  return true;
}

std::vector<double> weights_of(const Evaluation& all, std::int64_t count) {
  const auto place = static_cast<std::size_t>(all.op().schema->find("weight"));
  const std::vector<Argument>& given = all.problem.arguments;
  if (place >= given.size() || !given[place].is_tensor())
    return std::vector<double>(static_cast<std::size_t>(count), 1);
  return doubles_of(all.inputs[static_cast<std::size_t>(given[place].tensors[0])]);
}

struct GroupSums {
  double count = 0, sum = 0, squares = 0, largest = 0;
  double mean() const { return sum / count; }
};

std::vector<GroupSums> sums_of(const std::vector<double>& x, const NormGroups& groups) {
  std::vector<GroupSums> sums;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (groups.group_of(i) >= sums.size()) sums.resize(groups.group_of(i) + 1);
    GroupSums& each = sums[groups.group_of(i)];
    ++each.count;
    each.sum += x[i];
    each.largest = std::max(each.largest, std::fabs(x[i]));
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    GroupSums& each = sums[groups.group_of(i)];
    each.squares += (x[i] - each.mean()) * (x[i] - each.mean());
  }
  return sums;
}

}  // namespace

std::vector<double> shifts_by_mean(const Evaluation& all, const ExpectedTensor& out) {
  NormGroups groups;
  if (!find_groups(all, out, groups)) return {};
  const std::vector<double> x = doubles_of(all.inputs[0]);
  const std::vector<double> weight = weights_of(all, groups.channels);
  const double eps = Scalar::from_value(argument_value(all.problem, "eps")).to_double();
  const std::vector<GroupSums> sums = sums_of(x, groups);
  std::vector<double> shifts;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const GroupSums& each = sums[groups.group_of(i)];
    shifts.push_back(each.largest / std::sqrt(each.squares / each.count + eps) *
                     std::fabs(weight[groups.channel_of(i)]));
  }
  return shifts;
}

}  // namespace bp::conform

#include "cases/cover.hpp"

#include <algorithm>

#include "inputs/values.hpp"

namespace bp::conform {
namespace {

// Which combinations of one group are still wanted.
class Wanted {
 public:
  Wanted(const std::vector<int>& sizes, const std::vector<int>& group)
      : sizes_(sizes), group_(group) {
    std::size_t count = 1;
    for (const int axis : group)
      count *= static_cast<std::size_t>(sizes[static_cast<std::size_t>(axis)]);
    wanted_.assign(count, true);
    left_ = count;
  }
  std::size_t left() const { return left_; }

  // The position of the row's combination; false while one of the axes is open (-1).
  bool place_of(const std::vector<int>& row, std::size_t& place) const {
    place = 0;
    for (const int axis : group_) {
      const int value = row[static_cast<std::size_t>(axis)];
      if (value < 0) return false;
      place = place * static_cast<std::size_t>(sizes_[static_cast<std::size_t>(axis)]) +
              static_cast<std::size_t>(value);
    }
    return true;
  }
  bool gains(const std::vector<int>& row) const {
    std::size_t place = 0;
    return left_ != 0 && place_of(row, place) && wanted_[place];
  }
  void take(const std::vector<int>& row) {
    std::size_t place = 0;
    if (!place_of(row, place) || !wanted_[place]) return;
    wanted_[place] = false;
    --left_;
  }
  // Puts the first combination that is still wanted into the row.
  void begin(std::vector<int>& row) {
    while (!wanted_[next_]) ++next_;
    std::size_t rest = next_;
    for (std::size_t i = group_.size(); i-- > 0;) {
      const auto axis = static_cast<std::size_t>(group_[i]);
      row[axis] = static_cast<int>(rest % static_cast<std::size_t>(sizes_[axis]));
      rest /= static_cast<std::size_t>(sizes_[axis]);
    }
  }
  bool has(int axis) const { return std::find(group_.begin(), group_.end(), axis) != group_.end(); }

 private:
  const std::vector<int>& sizes_;
  const std::vector<int> group_;
  std::vector<bool> wanted_;
  std::size_t left_ = 0, next_ = 0;
};

// The value for the open axis that settles most; among equals a different one each time.
void settle_axis(std::vector<int>& row, int axis, int size, const std::vector<Wanted>& all,
                 std::uint64_t turn) {
  int best = 0, best_gain = -1;
  const int first = static_cast<int>(mix(turn, static_cast<std::uint64_t>(axis)) %
                                     static_cast<std::uint64_t>(size));
  for (int i = 0; i < size; ++i) {
    const int value = (first + i) % size;
    row[static_cast<std::size_t>(axis)] = value;
    int gain = 0;
    for (const Wanted& wanted : all)
      if (wanted.has(axis)) gain += wanted.gains(row);
    if (gain <= best_gain) continue;
    best = value;
    best_gain = gain;
  }
  row[static_cast<std::size_t>(axis)] = best;
}

}  // namespace

std::vector<std::vector<int>> groups_of(int axes, int strength) {
  std::vector<std::vector<int>> groups;
  for (int bits = 0; bits < 1 << axes; ++bits) {
    std::vector<int> group;
    for (int axis = 0; axis < axes; ++axis)
      if (bits >> axis & 1) group.push_back(axis);
    if (static_cast<int>(group.size()) == strength) groups.push_back(group);
  }
  return groups;
}

std::vector<std::vector<int>> cover(const std::vector<int>& sizes,
                                    const std::vector<std::vector<int>>& groups,
                                    std::uint64_t seed) {
  std::vector<Wanted> all;
  for (const std::vector<int>& group : groups) all.emplace_back(sizes, group);
  std::vector<std::vector<int>> rows;
  for (;;) {
    const auto most =
        std::max_element(all.begin(), all.end(),
                         [](const Wanted& a, const Wanted& b) { return a.left() < b.left(); });
    if (most == all.end() || most->left() == 0) return rows;
    std::vector<int> row(sizes.size(), -1);
    most->begin(row);
    for (std::size_t axis = 0; axis < sizes.size(); ++axis)
      if (row[axis] < 0)
        settle_axis(row, static_cast<int>(axis), sizes[axis], all, seed + rows.size());
    for (Wanted& wanted : all) wanted.take(row);
    rows.push_back(std::move(row));
  }
}

}  // namespace bp::conform

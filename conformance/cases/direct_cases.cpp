// What the direct lane asks: for each declared kernel, each dtype and layout that it takes, and its row's axes; of several
// kernels for one row also those that the core would not choose.

#include <backplane/tensor/error.hpp>

#include "cases/cover.hpp"
#include "cases/kernels.hpp"
#include "cases/special_cases.hpp"
#include "inputs/values.hpp"

namespace bp::conform {
namespace {

// Does some kernel take the case? What makes no problem at all is taken by none.
bool is_taken(const Case& one, const Subject& subject) {
  try {
    DirectProblem call;
    return make_direct_call(one, make_problem(one), subject, call);
  } catch (const Error&) {
    return false;
  }
}

class DirectAxes {
 public:
  DirectAxes(const Operator& op, const Axes& axes, Profile profile, const Subject& subject)
      : op_(op), subject_(subject), axes_(axes) {
    usual_ = case_of(op, f32, axes.shapes[0], axes.layouts[0], axes.values[0], "call");
    usual_.lane = Lane::direct;
    axes_.dtypes.insert(axes_.dtypes.end(), axes.minor_dtypes.begin(), axes.minor_dtypes.end());
    if (profile != Profile::full) {
      const std::size_t most_shapes = op.kind == BP_KIND_MATMUL    ? 26
                                      : profile == Profile::normal ? 6
                                                                   : 3;
      if (axes_.shapes.size() > most_shapes) axes_.shapes.resize(most_shapes);
      if (axes_.layouts.size() > 5) axes_.layouts.resize(5);
    }
    axes_.forms = {"call", "out", "recycled", "stream"};
    if (op.kind == BP_KIND_POINTWISE) axes_.forms.push_back("in_place");
    keep_taken();
  }

  bool is_empty() const { return axes_.dtypes.empty(); }

  void add(Profile profile, std::vector<Case>& out) {
    std::vector<std::vector<int>> groups = {{0, 2}, {1, 2}, {3}, {2, 4}};
    if (profile == Profile::quick) groups = groups_of(5, 1);
    if (profile == Profile::full) groups = {{0, 2, 3}, {0, 1}, {1, 2}, {1, 3}, {2, 4}, {3, 4}};
    for (const std::vector<int>& row : cover(sizes_of(axes_), groups, 17)) {
      Case one = case_at(op_, axes_, row);
      one.lane = Lane::direct;
      keep_numbers_held(op_, one);
      choose_telling_values(op_, one);
      if (is_taken(one, subject_) ||
          (one.form != "call" && (one.form = "call", is_taken(one, subject_))))
        out.push_back(one);
    }
  }

 private:
  // Takes out of each axis what no kernel takes when all else is as usual.
  void keep_taken() {
    std::erase_if(axes_.dtypes, [&](Dtype dtype) {
      Case one = usual_;
      one.dtype = dtype;
      return !is_taken(one, subject_);
    });
    if (axes_.dtypes.empty()) return;
    usual_.dtype = axes_.dtypes[0];
    keep(axes_.shapes, &Case::shape);
    const std::string shape = usual_.shape;
    keep(axes_.layouts, &Case::layouts);
    keep(axes_.forms, &Case::form);
  }
  void keep(std::vector<std::string>& axis, std::string Case::*part) {
    std::erase_if(axis, [&](const std::string& value) {
      Case one = usual_;
      one.*part = value;
      return !is_taken(one, subject_);
    });
  }

  const Operator& op_;
  const Subject& subject_;
  Axes axes_;
  Case usual_;
};

// Kernels that another one of the row shadows, by its priority: each is called for itself where that one would be.
void add_shadowed_kernels(const Operator& op, const Axes& axes, Profile profile,
                          const Subject& subject, std::vector<Case>& out) {
  const std::vector<const DeclaredKernel*> all = subject.kernels_of(op.name());
  for (std::size_t i = 0; i < all.size() && all.size() > 1; ++i) {
    Subject alone, preferred;
    alone.kernels = {*all[i]};
    for (std::size_t k = 0; k < all.size(); ++k)
      if (all[k]->priority > all[i]->priority || (all[k]->priority == all[i]->priority && k < i))
        preferred.kernels.push_back(*all[k]);
    std::vector<Case> taken;
    DirectAxes direct(op, axes, profile, alone);
    if (preferred.kernels.empty() || direct.is_empty()) continue;
    direct.add(profile, taken);
    for (Case& one : taken) {
      if (one.form != "call" || !is_taken(one, preferred)) continue;
      one.form = std::string(form_of_kernel) + std::to_string(i + 1);
      out.push_back(one);
    }
  }
}

}  // namespace

void add_direct_cases(const Operator& op, const Axes& axes, Profile profile, const Subject& subject,
                      std::vector<Case>& out) {
  if (subject.kernels_of(op.name()).empty() || axes.shapes.empty() || op.view || !op.infer) return;
  DirectAxes direct(op, axes, profile, subject);
  if (!direct.is_empty()) direct.add(profile, out);
  add_shadowed_kernels(op, axes, profile, subject, out);
  const std::size_t first_large = out.size();
  const Takes takes = [&](const Case& one) {
    Case asked = one;
    asked.lane = Lane::direct;
    return is_taken(asked, subject);
  };
  // Otherwise the core's calls reach the same kernels.
  if (profile == Profile::full)
    add_large_cases(op, axes, profile, Thoroughness::little, takes, out);
  for (std::size_t i = first_large; i < out.size(); ++i) out[i].lane = Lane::direct;
  std::vector<Case> special;
  add_special_cases(op, axes, profile, special);
  for (Case& one : special) {
    const bool is_index = one.form == "error" && holds_bad_index(one.values);
    if (!is_index && one.values != "every16" && one.layouts != "far") continue;
    one.lane = Lane::direct;
    Case asked = one;
    asked.form = "call";
    if (is_taken(asked, subject)) out.push_back(one);
  }
}

}  // namespace bp::conform

#include "trials/small_calls.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>

#include <backplane/dispatcher/operator_source.hpp>
#include <backplane/dispatcher/registry.hpp>
#include <backplane/tensor/error.hpp>

#include "cases/axes.hpp"
#include "inputs/values.hpp"
#include "refuse.hpp"

namespace bp::conform {
namespace {

constexpr std::size_t largest_small =
    64 << 10;  // bytes of all tensors: thousands of repetitions are to be cheap
constexpr int first_output = 100;

bool is_small(const DirectProblem& call) {
  std::size_t bytes = 0;
  for (const auto* tensors : {&call.problem.tensors, &call.outputs})
    for (const Laid& each : *tensors) {
      if (each.sparse_bytes) return false;
      bytes += each.storage.size();
    }
  return bytes <= largest_small && call.in_place_of < 0;
}

// The first of the row's shapes that a kernel takes in this dtype, counted from that whose turn it is.
bool find_call(const Operator& op, const Axes& axes, Dtype dtype, const Subject& subject,
               std::size_t turn, DirectProblem& out) {
  for (std::size_t i = 0; i < axes.shapes.size(); ++i) {
    const std::string& shape = axes.shapes[(turn + i) % axes.shapes.size()];
    Case one;
    one.seed = 1 + turn;
    one.lane = Lane::direct;
    one.op = op.name();
    one.dtype = dtype;
    one.shape = shape;
    one.layouts = axes.layouts.at(0);
    one.values = axes.values.at(0);
    one.form = "call";
    try {
      if (make_direct_call(one, make_problem(one), subject, out) && is_small(out)) return true;
    } catch (const Error&) {
      continue;  // a shape that this dtype does not go with
    }
  }
  return false;
}

// f32 and i64 first: what most rows are used in.
std::vector<Dtype> dtypes_in_turn(const Axes& axes) {
  std::vector<Dtype> all = axes.dtypes;
  all.insert(all.end(), axes.minor_dtypes.begin(), axes.minor_dtypes.end());
  const auto rank = [](Dtype dtype) { return dtype == f32 ? 0 : dtype == i64 ? 1 : 2; };
  std::stable_sort(all.begin(), all.end(), [&](Dtype a, Dtype b) { return rank(a) < rank(b); });
  return all;
}

}  // namespace

std::vector<std::string> small_calls(const Subject& subject, int profile) {
  ensure_operators();
  std::set<std::string> rows;
  for (const DeclaredKernel& kernel : subject.kernels) rows.insert(kernel.op);
  const std::size_t most = profile == 0 ? 1 : profile == 1 ? 2 : 100;
  std::vector<std::string> names;
  for (const std::string& row : rows) {
    const Operator* op = find_operator(row);
    if (!op || op->view || !op->infer) continue;
    const Axes axes = axes_of(*op, Profile::quick);
    if (axes.shapes.empty()) continue;
    std::size_t found = 0;
    for (const Dtype dtype : dtypes_in_turn(axes)) {
      DirectProblem call;
      if (found == most || !find_call(*op, axes, dtype, subject, 0, call)) continue;
      names.push_back(fmt::format("{}[{}]", row, short_name(dtype)));
      ++found;
    }
  }
  return names;
}

SmallCall small_call(const std::string& name, const Subject& subject, std::size_t turn,
                     int first_object) {
  ensure_operators();
  SmallCall made;
  const std::size_t bracket = name.find('[');
  made.op = name.substr(0, bracket);
  const Operator* op = find_operator(made.op);
  Dtype dtype = f32;
  DirectProblem call;
  const Axes axes = op ? axes_of(*op, Profile::quick) : Axes();
  if (!op || bracket == std::string::npos ||
      !dtype_of_short_name(name.substr(bracket + 1, name.size() - bracket - 2), dtype) ||
      !find_call(*op, axes, dtype, subject, turn, call))
    refuse("'{}' is not a row and dtype that a declared kernel takes", name);
  made.num_shapes = axes.shapes.size();
  for (std::size_t i = 0; i < call.problem.tensors.size(); ++i)
    add_memory(made.setup, call.problem.tensors[i], first_object + static_cast<int>(i), true);
  for (const Laid& laid : call.outputs) {
    made.outputs.push_back(first_object + first_output + static_cast<int>(made.outputs.size()));
    if (!(op->flags & BP_OP_SHAPE_DATA)) add_memory(made.setup, laid, made.outputs.back(), false);
  }
  made.call = call_step(call.problem, call.outputs, made.outputs, first_object);
  return made;
}

}  // namespace bp::conform

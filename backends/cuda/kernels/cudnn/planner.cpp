#include "kernels/cudnn/planner.hpp"

#include <algorithm>
#include <string>

#include "constants.hpp"
#include "kernels/fastest_way.hpp"

namespace cuda_backend::cudnn {
namespace {}  // namespace

uint64_t Key::hash() const {
  uint64_t hash = count_;
  for (const int64_t word : words_)
    hash = (hash ^ static_cast<uint64_t>(word)) * 0x9E3779B97F4A7C15u + (hash >> 29);
  return hash;
}

std::string Key::text() const {
  std::string text;
  for (size_t i = 0; i < std::min(count_, words_.size()); ++i)
    text += ' ' + std::to_string(words_[i]);
  return text;
}

Planner::Planner(const Library& library) : library_(library) {
  const OutsideCapture outside;
  const cudnnStatus_t status = library_.create(&handle_);
  if (status == CUDNN_STATUS_SUCCESS) return;
  if (status == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED)
    throw bp::Failure{bp::out_of_memory("cuDNN found no memory for itself")};
  throw bp::Failure{bp::internal("cuDNN: a handle: %s", library_.error_string(status))};
}

Planner::~Planner() {
  plans_.clear();
  library_.destroy(handle_);
}

Planner::Plan& Planner::plan_for(const Problem& problem) {
  if (const auto found = plans_.find(problem.key); found != plans_.end()) return found->second;
  if (plans_.size() >= constants::graph_plans)
    plans_.erase(std::min_element(plans_.begin(), plans_.end(), [](const auto& a, const auto& b) {
      return a.second.used < b.second.used;
    }));
  Ways ways = problem.plan({handle_, nullptr});
  ways.prepare(1);
  Plan& made = plans_.emplace(problem.key, std::move(ways)).first->second;
  made.settled = !problem.measured;
  return made;
}

cudnnStatus_t Planner::give(const OnCard& card, const Plan& plan, size_t way,
                            std::span<const Ways::Binding> bindings, void* workspace) {
  const cudnnStatus_t status = library_.set_stream(handle_, card.stream());
  if (status != CUDNN_STATUS_SUCCESS) return status;
  return plan.ways.run(handle_, way, bindings, workspace);
}

void Planner::settle(const bp::Call& call, const OnCard& card, const Problem& problem,
                     std::span<const Ways::Binding> bindings, Plan& plan) {
  const size_t num_ways = plan.ways.prepare(constants::most_ways);
  if (const auto found = choices_.find(problem.key); found != choices_.end()) {
    plan.choice = std::min(found->second, num_ways - 1);
    plan.settled = true;
    return;
  }
  if (choices_.size() >= constants::graph_choices || num_ways == 1) plan.settled = true;
  if (plan.settled || !can_measure_on(card.stream())) return;
  uint64_t bytes = 0;
  for (size_t way = 0; way < num_ways; ++way)
    bytes = std::max(bytes, plan.ways.workspace_bytes(way));
  void* workspace = nullptr;
  if (!allocate_workspace(call, bytes, workspace).is_ok()) return;
  if (cudaStreamSynchronize(card.stream()) != cudaSuccess) return;
  const Comparison comparison{
      "cuDNN " + std::to_string(library_.version()) + " " + problem.name + problem.key.text(),
      num_ways, constants::graph_gain};
  const auto run_once = [&](size_t way) {
    return give(card, plan, way, bindings, workspace) == CUDNN_STATUS_SUCCESS;
  };
  plan.choice =
      kept_fastest_way(card.stream(), comparison, run_once, [&](const FastestWay& fastest) {
        bp::log(bp::LogLevel::debug,
                "%s: measured: of %zu ways number %zu was the fastest, %.1f us, and the first took "
                "%.1f us; %.1f ms were spent",
                problem.name, fastest.num_measured, fastest.way, fastest.us, fastest.us_of_first,
                fastest.spent_ms);
      });
  choices_.emplace(problem.key, plan.choice);
  plan.settled = true;
}

bp::Status Planner::run(const bp::Call& call, const OnCard& card, const Problem& problem,
                        std::span<const Ways::Binding> bindings) {
  const OutsideCapture outside;  // the library allocates and loads
  const Lock lock(mutex_);
  try {
    Plan& plan = plan_for(problem);
    plan.used = ++now_;
    if (plan.ways.count() == 0) return bp::Status::from_host(BP_UNSUPPORTED);
    if (!plan.settled) [[unlikely]]
      settle(call, card, problem, bindings, plan);
    void* workspace = nullptr;
    bp::Status allocated =
        allocate_workspace(call, plan.ways.workspace_bytes(plan.choice), workspace);
    if (!allocated.is_ok()) return allocated;
    const cudnnStatus_t status = give(card, plan, plan.choice, bindings, workspace);
    if (status == CUDNN_STATUS_SUCCESS) return bp::ok;
    if (CUDNN_STATUS_CATEGORY(status) == CUDNN_STATUS_NOT_SUPPORTED)
      return bp::Status::from_host(BP_UNSUPPORTED);
    // What the card says is the better reason.
    if (bp::Status failed = card.check_launches(); !failed.is_ok()) return failed;
    return bp::internal("%s: cuDNN: %s", problem.name, library_.error_string(status));
  } catch (const Refused& refused) {
    bp::log(bp::LogLevel::debug, "%s: cuDNN refuses %s: %s", problem.name, refused.what,
            library_.error_string(refused.status));
    return bp::Status::from_host(BP_UNSUPPORTED);
  }
}

Planner* planner_of(const OnCard& card) {
  return kept_for<Planner>(card, library());
}

}  // namespace cuda_backend::cudnn

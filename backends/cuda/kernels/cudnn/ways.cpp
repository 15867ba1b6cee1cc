#include "kernels/cudnn/ways.hpp"

#include <algorithm>
#include <iterator>

#include "constants.hpp"

namespace cuda_backend::cudnn {
namespace {

// Whether the list that a descriptor keeps under this name holds `note`.
template <class Note>
bool has_note(const Descriptor& engine, Descriptor::Name name, cudnnBackendAttributeType_t type,
              Note note) {
  std::array<Note, 16> notes{};
  const int64_t count = engine.read(name, type, notes.size(), notes.data());
  return std::find(notes.begin(), notes.begin() + count, note) != notes.begin() + count;
}

bool fits(const Descriptor& engine, const Wishes& wishes) {
  const auto has = [&](cudnnBackendNumericalNote_t note) {
    return has_note(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, note);
  };
  if (wishes.deterministic && has(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC)) return false;
  if (wishes.full_precision &&
      (has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE) || has(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS)))
    return false;
  return !wishes.local || (!has(CUDNN_NUMERICAL_NOTE_FFT) && !has(CUDNN_NUMERICAL_NOTE_WINOGRAD));
}

// Memory that runs out is not a refusal.
void end_unless_refused(const Library& library, const Refused& refused, const char* name) {
  char detail[256] = "";
  library.last_error_string(detail, sizeof detail);
  const char* const text = library.error_string(refused.status);
  if (refused.status == CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED ||
      refused.status == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED)
    throw bp::Failure{bp::out_of_memory("%s: cuDNN: %s: %s", name, refused.what, text)};
  bp::log(bp::LogLevel::debug, "%s: cuDNN refuses %s: %s (%s)", name, refused.what, text, detail);
}

}  // namespace

Ways::Ways(Graph& graph, const Target& target, const Wishes& wishes, const char* name)
    : library_(graph.library()), target_(target), wishes_(wishes), name_(name) {
  try {
    Descriptor described = graph.finish(target);
    find_candidates(described, CUDNN_HEUR_MODE_A);
    find_candidates(described, CUDNN_HEUR_MODE_FALLBACK);
  } catch (const Refused& refused) {
    end_unless_refused(library_, refused, name_);
  }
}

void Ways::find_candidates(Descriptor& graph, cudnnBackendHeurMode_t mode) {
  Descriptor heuristic(library_, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
  if (target_.card != nullptr) heuristic.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *target_.card);
  if (library_.finalize(heuristic.get()) != CUDNN_STATUS_SUCCESS) return;  // this mode knows none
  const auto type = CUDNN_TYPE_BACKEND_DESCRIPTOR;
  const int64_t known = heuristic.read(CUDNN_ATTR_ENGINEHEUR_RESULTS, type, 0, nullptr);
  std::vector<Descriptor> found;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (int64_t i = 0; i < known; ++i)
    raw.push_back(found.emplace_back(library_, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR).get());
  const int64_t count = heuristic.read(CUDNN_ATTR_ENGINEHEUR_RESULTS, type, known, raw.data());
  std::move(found.begin(), found.begin() + count, std::back_inserter(candidates_));
}

bool Ways::is_wanted(const Descriptor& candidate) const {
  Descriptor engine(library_, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t its = engine.get();
  candidate.read(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &its);
  return fits(engine, wishes_);
}

size_t Ways::prepare(size_t count) {
  while (ready_.size() < count && next_ < candidates_.size()) {
    const Descriptor& engine = candidates_[next_++];
    try {
      if (!is_wanted(engine)) continue;
      Descriptor plan(library_, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
      plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, engine);
      if (target_.handle != nullptr)
        plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &target_.handle);
      if (target_.card != nullptr) plan.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, *target_.card);
      plan.finalize("a plan");
      int64_t bytes = 0;
      plan.read(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &bytes);
      const auto needed = static_cast<uint64_t>(bytes);
      (needed <= constants::graph_workspace ? ready_ : put_off_)
          .push_back({std::move(plan), needed});
    } catch (const Refused& refused) {
      end_unless_refused(library_, refused, name_);
    }
  }
  if (ready_.empty() && !put_off_.empty()) ready_.push_back(std::move(put_off_.front()));
  return ready_.size();
}

cudnnStatus_t Ways::run(cudnnHandle_t handle, size_t way, std::span<const Binding> bindings,
                        void* workspace) const {
  std::array<Id, 24> ids;
  std::array<const void*, 24> addresses;
  const size_t count = std::min(bindings.size(), ids.size());
  for (size_t i = 0; i < count; ++i) {
    ids[i] = bindings[i].id;
    addresses[i] = bindings[i].address;
  }
  try {
    Descriptor pack(library_, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, std::span<const int64_t>(ids.data(), count));
    pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
             static_cast<int64_t>(count), addresses.data());
    pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
    pack.finalize("addresses");
    return library_.execute(handle, ready_[way].plan.get(), pack.get());
  } catch (const Refused& refused) {
    return refused.status;
  }
}

}  // namespace cuda_backend::cudnn

// What a capture has recorded; the thread's recorder while that goes on.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <variant>
#include <vector>

#include <backplane/dispatcher/chain.hpp>
#include <backplane/dispatcher/submit.hpp>
#include <backplane/extensions/capture.h>

namespace bp {

// A call as the kernel was to get it, with copies of all that its values point to.
struct RecordedKernel {
  const Candidate* candidate = nullptr;
  Operator* op = nullptr;
  Chain chain;  // if it is a joined one
  bool reports_faults = false;
  bool may_ask_host = false;  // the kernel: then it gets more than `call`
  std::vector<bp_value> args;
  std::vector<Tensor> tensors, results;
  std::vector<std::vector<const bp_tensor*>> lists;
  std::vector<std::unique_ptr<char[]>> bytes;
  std::vector<bp_tensor*> outputs;
  PlanRef plan;
  bp_call call{};  // of what is above; without a stream
};
struct RecordedCopy {
  Tensor target, source;  // contiguous, of one size
};
struct RecordedFill {
  Tensor target;  // of one element
  alignas(16) unsigned char element[16];
};
using RecordedCall = std::variant<RecordedKernel, RecordedCopy, RecordedFill>;

struct RecordedWork final : Recorder {
  explicit RecordedWork(StreamImpl& captured_stream);
  ~RecordedWork();
  RecordedWork(const RecordedWork&) = delete;
  RecordedWork& operator=(const RecordedWork&) = delete;

  bp_code kernel(const Candidate& candidate, Frame& frame, Launch& launch, bp_call& call,
                 bool reports_faults) override;
  void copy(const Tensor& target, const Tensor& source) override;
  void fill(const Tensor& target, const void* element) override;
  void hold(const Tensor& scratch) override { hold(*scratch.impl()->storage); }
  [[noreturn]] void refuse_host(const Frame& frame) override;

  DeviceRecord& record() const { return *stream.record; }
  // A copy of the tensor for as long as the recording lives: of its metadata, while it shares the memory.
  Tensor keep(const TensorImpl& impl);
  // Keeps the memory alone.
  void hold(Storage& storage);

  GraphMemory own_memory;
  // Memory of the graph's own pool under names that last: the storages of the capture come and go there.
  std::map<std::tuple<bp_handle, std::uint64_t, std::uint64_t>, std::unique_ptr<Storage>> names;
  std::set<Storage*> held;
  std::size_t num_calls = 0;
  std::optional<Stream> last_stream;  // of the last replay

  std::vector<RecordedCall> calls;  // unless by_device
  std::vector<Chain> chains;        // if by_device: the joined operators among the graph's
  bp_capture api{};
  bp_graph* graph = nullptr;                 // if by_device
  std::vector<const char*> fault_operators;  // of the graph
  std::vector<PlanRef> plans;                // that the graph's kernels have used
};

// Gives a recorded call to the stream again.
void replay_call(RecordedWork& work, RecordedCall& call, StreamImpl& stream);

}  // namespace bp

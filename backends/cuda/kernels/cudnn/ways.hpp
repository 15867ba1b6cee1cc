// The ways that cuDNN has to run a graph.
#pragma once

#include <span>
#include <vector>

#include "kernels/cudnn/graph.hpp"

namespace cuda_backend::cudnn {

// Which of the library's ways may be taken.
struct Wishes {
  bool deterministic;   // the same bits each time
  bool full_precision;  // no rounding of factors to fewer bits
  // Each element of the result depends on its own factors alone: NaN and infinity stay in place.
  bool local;
};

// The ways to run a graph, best guess first, each made when it is first asked for. Threads: one at a time.
class Ways {
 public:
  // Nothing if the library refuses the graph, which it says at level debug. Throws bp::Failure.
  Ways(Graph& graph, const Target& target, const Wishes& wishes, const char* name);

  // Makes up to `count` of them; how many there are.
  size_t prepare(size_t count);
  size_t count() const { return ready_.size(); }
  uint64_t workspace_bytes(size_t way) const { return ready_[way].workspace_bytes; }

  struct Binding {
    Id id;
    const void* address;  // of a number: on the host
  };
  // Asynchronous on the handle's stream.
  cudnnStatus_t run(cudnnHandle_t handle, size_t way, std::span<const Binding> bindings,
                    void* workspace) const;

 private:
  struct Ready {
    Descriptor plan;
    uint64_t workspace_bytes;
  };

  void find_candidates(Descriptor& graph, cudnnBackendHeurMode_t mode);
  bool is_wanted(const Descriptor& candidate) const;

  const Library& library_;
  Target target_;
  Wishes wishes_;
  const char* name_;
  std::vector<Descriptor> candidates_;  // engines with their settings, not tried yet
  size_t next_ = 0;
  std::vector<Ready> ready_, put_off_;
};

}  // namespace cuda_backend::cudnn

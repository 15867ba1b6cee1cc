// What runs graphs on a card: the library's handle, the plans of the problems that came last, and which of several ways
// was the fastest.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "constants.hpp"
#include "kernels/cudnn/ways.hpp"
#include "kernels/on_card.hpp"

namespace cuda_backend::cudnn {

// What all calls have in common that can share a plan, as words.
class Key {
 public:
  Key& add(int64_t word) {
    words_[count_++ % words_.size()] = word;
    return *this;
  }
  Key& add(std::span<const int64_t> words) {
    for (const int64_t word : words) add(word);
    return *this;
  }
  bool operator==(const Key&) const = default;
  uint64_t hash() const;
  // All words, each behind a space.
  std::string text() const;

 private:
  std::array<int64_t, 64> words_{};
  size_t count_ = 0;
};

struct Problem {
  const char* name;  // for messages; lives as long as the process
  Key key;
  bool measured;  // the fastest of several ways is wanted, not always the same one
  // Called where no plan is kept for the key. Throws Refused.
  std::function<Ways(const Target& target)> plan;
};

// One for each card. Threads: any.
class Planner {
  using Lock = std::unique_lock<std::mutex>;

 public:
  // Of the card that is current on this thread. Throws bp::Failure.
  explicit Planner(const Library& library);
  ~Planner();
  Planner(const Planner&) = delete;
  Planner& operator=(const Planner&) = delete;

  const Library& library() const { return library_; }

  // Calls work(handle), whose stream is the card's; no other thread uses the handle meanwhile.
  template <class Work> auto with_handle(const OnCard& card, Work work) {
    const OutsideCapture outside;  // the library allocates and loads
    const Lock lock(mutex_);
    library_.set_stream(handle_, card.stream());
    return work(handle_);
  }

  // BP_UNSUPPORTED, without a message, where the library knows no way. The ways may be tried with the call's own results,
  // which must not be inputs.
  bp::Status run(const bp::Call& call, const OnCard& card, const Problem& problem,
                 std::span<const Ways::Binding> bindings);

 private:
  struct Hash {
    size_t operator()(const Key& key) const { return key.hash(); }
  };
  struct Plan {
    explicit Plan(Ways made) : ways(std::move(made)) {}
    Ways ways;
    bool settled = false;
    size_t choice = 0;
    uint64_t used = 0;
  };
  Plan& plan_for(const Problem& problem);
  void settle(const bp::Call& call, const OnCard& card, const Problem& problem,
              std::span<const Ways::Binding> bindings, Plan& plan);
  cudnnStatus_t give(const OnCard& card, const Plan& plan, size_t way,
                     std::span<const Ways::Binding> bindings, void* workspace);

  const Library& library_;
  cudnnHandle_t handle_ = nullptr;
  // One call at a time on a card: neither a handle nor all of the library's plans may be used by two threads. What is
  // done under it does not wait for the card, but for measuring.
  std::mutex mutex_;
  uint64_t now_ = 0;
  std::unordered_map<Key, Plan, Hash> plans_;
  // Outlive the plans: a plan that is made again must not change the bits.
  std::unordered_map<Key, size_t, Hash> choices_;
};

// That of the card, made when first asked for; null where cuDNN is not installed. Throws bp::Failure.
Planner* planner_of(const OnCard& card);

}  // namespace cuda_backend::cudnn

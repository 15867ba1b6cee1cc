// Which of several ways to do a call is the fastest on this machine, by the host's tuner: measured when a person asks for it
// (`backplane tune`), way 0 until then.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <backplane/plugin/tuner.hpp>

#include "host.hpp"

namespace bp::cpu {

// Memory of the call, which the host counts; during a trial, of the trial.
bp_code take_workspace(const bp_call* call, uint64_t bytes, char*& out);

// While it lives, this thread does a call for the sake of its time alone: what take_workspace gives then is let go with it.
// The call's own memory would stay until the call ends, once for each trial.
class Trial {
 public:
  Trial();
  ~Trial();
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

 private:
  friend bp_code take_workspace(const bp_call* call, uint64_t bytes, char*& out);
  bp_code take(uint64_t bytes, char*& out);

  std::vector<std::unique_ptr<char, void (*)(void*)>> blocks_;
  Trial* const outer_;
};

// Whether questions are asked at all: not where the same bits are wanted each time.
bool choices_are_free();

// The processor, its instruction set as oneDNN sees it, oneDNN's version, and how many threads.
std::string machine();

// The number of a size's class: the nearest power of two.
int size_class(int64_t size);

// The number of the way to take, of `num_ways`. `run(way)` does the call that way and returns a bp_code; its results may be
// overwritten afterwards. Within a trial: 0.
template <class Run> uint32_t fastest_of(const std::string& what, uint32_t num_ways, Run run) {
  const Choice choice{what, machine(), num_ways, 0, 0, BP_TUNER_ON_REQUEST};
  return fastest_way(choice, [&](uint32_t way, double& seconds) {
    const Trial trial;
    const auto start = std::chrono::steady_clock::now();
    const bp_code code = run(way);
    seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return Status::from_host(code);
  });
}

}  // namespace bp::cpu

// Scripts of the direct lane: functions of the ABI, called one by one.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string_view>
#include <vector>

#include <backplane/extensions/semaphores.h>

#include "protocol/script.hpp"
#include "refuse.hpp"
#include "worker/direct_plugin.hpp"
#include "worker/scope.hpp"
#include "worker/watched_memory.hpp"

namespace bp::conform {

// A function that a stream calls, which counts its calls; with a gate it returns once the gate was opened, or after that long.
struct HostCall {
  HostCall(std::atomic<int>& all_places, std::chrono::milliseconds how_long)
      : places(all_places), gate(how_long) {}
  // What bp_host_calls.call is given, with a HostCall.
  static void run(void* context);
  // True if the gate's time had passed.
  bool open();

  std::atomic<int>& places;  // taken by all calls of the script
  const std::chrono::milliseconds gate;
  std::atomic<int> calls{0}, place{0};
  std::mutex mutex{};
  std::condition_variable opened{};
  bool is_open = false, is_over = false;
};

// A number of the host's, taken by the plugin.
struct Semaphore {
  bp_semaphore* raw = nullptr;
  alignas(8) std::uint64_t number = 0;
};
// Does the plugin take numbers of the host as semaphores?
bool takes_timelines(const DirectPlugin& plugin);

struct DirectCall;

class DirectScope : public Scope {
 public:
  DirectScope(DirectPlugin& on, std::uint8_t with_poison, DirectScope* inside = nullptr)
      : plugin(on), poison(with_poison), within(inside) {}
  ~DirectScope() override;

  Json step(const Json& step) override;
  std::uint64_t hash(int object) override;
  void finish() override;

  // What steps share.

  struct KeptPlan {
    const DirectKernel* kernel = nullptr;
    bp_plan said{};
  };
  // Host memory that a copy uses: it stays until the end, so that work that comes late hits nothing else.
  struct HostBuffer {
    Bytes bytes;
    std::uint64_t place = 0;  // of the first byte, behind a multiple of 16
    bool is_target = false;   // of a copy to the host: what came must stay as it is
    std::uint64_t hash = 0;   // of what came
    bp_region region() const { return at_host(bytes.data() + place, bytes.size() - place); }
  };

  // Of this scope alone; null: none, or to be allocated by the kernel, or without elements.
  GuardedBlock* own_block(int object);
  // Of this scope or the one around it.
  GuardedBlock* find_block(int object);
  GuardedBlock& block(const Json& step, const char* key = "object");
  bp_stream* stream_of(const Json& step);
  // Waits for all work of this scope.
  void settle();
  // The work was given to the stream of the step: waits for it unless told not to. The code of the work.
  bp_code settle_step(const Json& step, bool wait_by_default);
  // Waits for the stream of the step.
  bp_code wait_for(const Json& step);
  // The answer of a function of memory that failed, which may have changed nothing.
  Json refused(bp_code code);
  HostCall& add_call(int object, std::chrono::milliseconds gate);
  void look_at_all(const char* kind = nullptr);
  void look_if_idle();
  // All work is done: what calls asked for meanwhile goes, once its zones were looked at.
  void end_workspaces();
  void end_streams();  // and events

  DirectPlugin& plugin;
  const std::uint8_t poison;
  DirectScope* const within;  // where objects are looked for that are not here
  std::map<int, std::unique_ptr<GuardedBlock>> blocks;
  std::vector<std::unique_ptr<GuardedBlock>> workspaces;
  std::map<int, bp_stream*> streams;
  std::map<int, bp_event*> events;
  std::set<int> lost;  // streams that are not to be synchronized any more
  std::set<int> busy;  // streams with work that nobody has waited for; 0 is the default one
  std::vector<std::unique_ptr<HostBuffer>> buffers;
  std::unique_ptr<GuardedBlock> fault;
  std::map<std::string, std::shared_ptr<DirectCall>> prepared;  // of a repeated call: by its text
  std::map<int, KeptPlan> plans;
  std::vector<KeptPlan> fresh_plans;  // of calls that may be under way
  std::map<int, HostCall> calls;
  std::map<int, Semaphore> semaphores;

 private:
  // Nothing that the script has given may wait any more.
  void let_all_go();
  // Of calls and semaphores, all work being done.
  void end_order();
  void release_plans(const std::vector<KeptPlan>& gone);

  std::atomic<int> places_{0};
  bool finished_ = false;
};

// What a step does, by the word behind "do".
using DirectSteps = std::map<std::string_view, Json (*)(DirectScope& scope, const Json& step)>;
extern const DirectSteps memory_steps, order_steps, call_steps;

// The result of a plugin's answer, and `more` of it.
Json answer(bp_code code, const Json& more = Json::object());

// What a script calls by this number.
template <class Object> Object& find(std::map<int, Object>& all, int object, const char* what) {
  const auto found = all.find(object);
  if (found == all.end()) refuse("script: no {} {}", what, object);
  return found->second;
}

}  // namespace bp::conform

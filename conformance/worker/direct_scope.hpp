// Scripts of the direct lane: functions of the ABI, called one by one.
//
// What they give to streams besides work of the device: functions of the host, and semaphores.
//
//     {"do":"host_call", "object":H, "stream":S?, "gate":MS?}  a function that counts its calls; with a gate it returns once
//        "open" was asked for, or after so many milliseconds
//     {"do":"host_calls", "object":H} -> "calls", "place" of the last one among all of the script
//     {"do":"open", "object":H} -> "over": had its time passed before?
//     {"do":"semaphore", "object":M}  a number of the host's, taken by the plugin
//     {"do":"semaphore_wait"|"semaphore_signal", "object":M, "value":V, "stream":S?}
//     {"do":"semaphore_raise", "object":M, "value":V}  by the host
//     {"do":"semaphore_value", "object":M} -> "value"
//     {"do":"pause", "milliseconds":T}
//     {"do":"work", "to":N, "from":M, "stream":S, "milliseconds":T}  copies that take the device so long
//     {"do":"destroy", "event":E} {"do":"destroy", "stream":S}
//     {"do":"inject", "kind":"given"|"work"|"memory", "error":CODE}  of the device's next piece of work, or allocation
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include <backplane/dispatcher/operator.hpp>
#include <backplane/extensions/semaphores.h>

#include "protocol/script.hpp"
#include "worker/direct_plugin.hpp"
#include "worker/scope.hpp"
#include "worker/watched_memory.hpp"

namespace bp::conform {

// Does the plugin take numbers of the host as semaphores?
bool takes_timelines(const DirectPlugin& plugin);

class OrderObjects {
 public:
  struct HostCall {
    OrderObjects* all = nullptr;
    std::chrono::milliseconds gate{0};  // 0: none
    bool is_open = false, is_over = false;
    std::atomic<int> calls{0}, place{0};
  };
  struct Semaphore {
    DirectPlugin* plugin = nullptr;
    bp_semaphore* raw = nullptr;
    alignas(8) std::uint64_t number = 0;
  };

  HostCall& add_call(int object, std::chrono::milliseconds gate);
  HostCall& call(int object);
  Semaphore& add_semaphore(int object, DirectPlugin& plugin);
  Semaphore& semaphore(int object);
  // True if the gate's time had passed.
  bool open(HostCall& call);
  // Nothing that the script has given may wait any more.
  void let_all_go();
  // All work is done.
  void end();
  // What bp_host_calls.call is given, with a HostCall.
  static void run(void* context);

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  std::atomic<int> places_{0};
  std::map<int, std::unique_ptr<HostCall>> calls_;
  std::map<int, std::unique_ptr<Semaphore>> semaphores_;
};

// A tensor of a call, and the object behind it.
struct DirectTensor {
  TensorImpl impl{};  // its first member is what the plugin sees
  int object = 0;
  std::uint64_t offset = 0;  // bytes from the object's first byte
};

// Where an object lies.
struct ObjectPlace {
  bp_handle handle = 0;
  std::uint64_t front = 0;
};

// Arguments and outputs point into the other members: it stays where it is.
struct DirectCall {
  Operator* op = nullptr;
  std::deque<DirectTensor> tensors;
  std::vector<bp_value> args;
  std::vector<DirectTensor*> outputs;
  std::vector<DirectTensor*> inputs;
  ArgumentLists lists;

  DirectCall() = default;
  DirectCall(const DirectCall&) = delete;
  DirectCall& operator=(const DirectCall&) = delete;
};

// From {"op", "args", "outputs"}; `place_of` says where objects lie. Missing arguments take their defaults.
std::unique_ptr<DirectCall> read_call(const Json& step, const DirectPlugin& plugin,
                                      const std::function<ObjectPlace(int object)>& place_of);

// The bytes of the tensor's elements, as spans from the object's first byte, in the order of memory where it is dense.
void for_each_span(const DirectTensor& tensor,
                   const std::function<void(std::uint64_t offset, std::uint64_t bytes)>& f);

class DirectScope : public Scope {
 public:
  DirectScope(DirectPlugin& plugin, std::uint8_t poison, DirectScope* within = nullptr)
      : plugin_(plugin), poison_(poison), within_(within) {}
  ~DirectScope() override;

  Json step(const Json& step) override;
  std::uint64_t hash(int object) override;
  void settle() override;
  void finish() override;

  // Of a call that is under way: blocks that the plugin asked for.
  bp_code add_workspace(std::uint64_t bytes, std::uint64_t alignment, bp_region& out);
  bp_code add_output(DirectTensor& tensor, std::uint32_t ndim, const std::int64_t* shape);

 private:
  struct KeptPlan {
    const DirectKernel* kernel = nullptr;
    bp_plan said{};
  };
  // Host memory that a copy uses: it stays until the end, so that work that comes late hits nothing else.
  struct HostBuffer {
    Bytes bytes;
    std::uint64_t place = 0;  // of the first byte, behind a multiple of 16
    std::uint8_t* data() { return bytes.data() + place; }
    bool is_target = false;  // of a copy to the host: what came must stay as it is
    std::uint64_t hash = 0;
  };

  Json allocate(const Json& step);
  Json release(const Json& step);
  Json write(const Json& step);
  Json write_poison(const Json& step);
  Json read(const Json& step);
  Json copy(const Json& step);
  Json fill(const Json& step);
  Json make_stream(const Json& step);
  Json make_event(const Json& step);
  Json queue_step(const std::string& what, const Json& step);
  Json call(const Json& step);
  Json raw_memory(const Json& step);
  Json host_sees(const Json& step);
  Json host_memory(const Json& step);
  // From host memory that holds the pattern to the block and back: does the same arrive?
  bool there_and_back(GuardedBlock& there, void* memory, const Bytes& pattern);
  Json set_host(const Json& step);
  // Host calls and semaphores; null for other steps.
  Json order_step(const std::string& what, const Json& step);
  Json alive();

  GuardedBlock& block(const Json& step, const char* key);
  ObjectPlace place_of(int object);
  bp_stream* stream_of(const Json& step);
  // The work was given to the stream of the step: waits for it unless told not to. The code of the work.
  bp_code settle_step(const Json& step, bool wait_by_default);
  void look_at_all(const char* kind = nullptr);
  void look_if_idle();
  void end_workspaces();
  void end_streams();  // and events
  void check_targets();
  void expect(const Json& step, GuardedBlock& to, std::uint64_t offset, const std::uint8_t* data,
              std::uint64_t count);
  Json work(const Json& step);
  Json destroy(const Json& step);
  Json inject(const Json& step);
  // Lets everything of the script go, and opens the device again.
  Json reopen();
  // The answer of a function of memory that failed, which may have changed nothing.
  Json refused(bp_code code);

  void release_plans(std::vector<KeptPlan> plans);

  // Of calls, in direct_call.cpp.
  void note_roles(const DirectCall& call);
  void expect_outputs(const DirectCall& call);
  bp_code run_kernel(const DirectKernel& kernel, DirectCall& call, const Json& step, Json& result);
  // Gives the call its plan and workspace: a fresh plan, or that of the step's number, made where it is new. `ask` gives
  // the call as the plugin is to see it.
  using Ask = std::function<bp_code(const std::function<bp_code(const bp_call*)>& function)>;
  bp_code plan_call(const DirectKernel& kernel, const Json& step, const Ask& ask, bp_call& call);
  void report_faults(Json& result);

  DirectPlugin& plugin_;
  const std::uint8_t poison_;
  DirectScope* const within_;  // where objects are looked for that are not here
  std::map<int, std::unique_ptr<GuardedBlock>> blocks_;
  std::vector<std::unique_ptr<GuardedBlock>> workspaces_;
  std::map<int, bp_stream*> streams_;
  std::map<int, bp_event*> events_;
  std::set<int> lost_;  // streams that are not to be synchronized any more
  std::set<int> busy_;  // streams with work that nobody has waited for; 0 is the default one
  std::vector<std::unique_ptr<HostBuffer>> buffers_;
  std::unique_ptr<GuardedBlock> fault_;
  std::map<std::string, std::unique_ptr<DirectCall>> prepared_;  // of a repeated call: by its text
  std::map<int, KeptPlan> plans_;
  std::vector<KeptPlan> fresh_plans_;  // of calls that may be under way
  OrderObjects order_;
  bool finished_ = false;
};

// The result of a plugin's answer, and `more` of it.
Json answer(bp_code code, const Json& more = Json::object());

// Steps that need the plugin alone.

// The extension bp.peer with a `link`, or null.
const bp_header* find_links(const DirectPlugin& plugin);

// {"do":"describe_space", "space":1}: what the plugin says of it; "ends": is its name terminated?
Json describe_space(DirectPlugin& plugin, const Json& step);

// {"do":"fill_up", "space":1}: allocates until the plugin refuses, and gives all back. "code" and "message" are the refusal's,
// "given" the bytes that there were; "after" says how an allocation went afterwards.
Json fill_up(DirectPlugin& plugin, const Json& step);

// Does the plugin say that the host may use the handles of this memory as addresses?
bool is_host_visible(DirectPlugin& plugin, std::uint32_t space);

// {"do":"stream_memory", "what":W, "bytes":N}, each by itself, with streams of its own:
//   "order"  a block is given back while its stream still works on it, and others ask for such blocks meanwhile ->
//            "earlier", "others", "next": does each hold what its own work wrote?
//   "waits"  -> "waited": what did not return before a stream that was held was let go, as a sentence's subject; else ""
//   "ends"   bp_memory.release ends such blocks too, and blocks come and go more often than fit at once -> "same"
Json stream_memory(DirectPlugin& plugin, const Json& step);

}  // namespace bp::conform

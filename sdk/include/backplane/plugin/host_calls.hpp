// For drivers whose streams wait for events but cannot call functions: a thread that calls functions between the work of a stream, as
// "bp.host_calls" asks, and the table of that extension. Not part of plugin.hpp: include it where it is needed.
#ifndef BACKPLANE_PLUGIN_HOST_CALLS_HPP
#define BACKPLANE_PLUGIN_HOST_CALLS_HPP

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include <backplane/extensions/host_calls.h>
#include <backplane/plugin/process.hpp>
#include <backplane/plugin/values.hpp>

namespace BP_SDK BP_HIDDEN {

// One for each stream, since a function may wait for that of another one. Threads: any.
class StreamCaller {
 public:
  struct Call {
    std::function<void()> wait;  // returns when the function's turn has come, or never will
    void (*function)(void*);
    void* context;
    std::function<void()> done;  // lets the stream go on
  };

  StreamCaller() : shared_(std::make_shared<Shared>()) {}
  // Once all functions have been called: the stream was synchronized, or lost.
  ~StreamCaller() {
    // A forked child has no copy of the thread, and its mutex may be locked forever.
    if (!check_process(born_).is_ok()) {
      if (thread_.joinable()) thread_.detach();
      return;
    }
    {
      std::lock_guard<std::mutex> lock(shared_->mutex);
      shared_->stop = true;
    }
    shared_->changed.notify_all();
    if (thread_.joinable()) thread_.join();
  }
  StreamCaller(const StreamCaller&) = delete;
  StreamCaller& operator=(const StreamCaller&) = delete;

  // Held while a call's place in the stream is made and the call is given, so that calls of several threads stand in one
  // order in both.
  std::mutex& order() { return order_; }

  // In the order of the stream. Throws if there is no memory, or no thread.
  void give(Call call) {
    {
      std::lock_guard<std::mutex> lock(shared_->mutex);
      if (!thread_.joinable()) thread_ = std::thread([shared = shared_] { shared->work(); });
      shared_->calls.push_back(std::move(call));
    }
    shared_->changed.notify_all();
  }

 private:
  struct Shared {
    std::mutex mutex;  // of what follows
    std::condition_variable changed;
    std::deque<Call> calls;
    bool stop = false;

    void work() {
      std::unique_lock<std::mutex> lock(mutex);
      for (;;) {
        changed.wait(lock, [this] { return stop || !calls.empty(); });
        if (calls.empty()) return;
        const Call next = std::move(calls.front());
        calls.pop_front();
        lock.unlock();
        next.wait();
        next.function(next.context);
        next.done();
        lock.lock();
      }
    }
  };

  std::mutex order_;
  const uint32_t born_ = process_generation();
  std::shared_ptr<Shared> shared_;
  std::thread thread_;  // begins with the first function
};

// `call(Queue&, void (*function)(void*), void* context) -> Status` gives the function to the stream; what it throws becomes
// a code. Device: static of(bp_device*) -> Device&; queue_of(bp_stream*) -> Queue&.
template <class Device, auto call> constexpr bp_host_calls host_calls_of() {
  bp_host_calls table{};
  table.h = {sizeof table, BP_TYPE_EXTENSION, nullptr};
  table.call = [](bp_device* device, bp_stream* stream, void (*function)(void*), void* context) {
    return guarded([=] { return call(Device::of(device).queue_of(stream), function, context); });
  };
  return table;
}

}  // namespace BP_HIDDEN

#endif  // BACKPLANE_PLUGIN_HOST_CALLS_HPP

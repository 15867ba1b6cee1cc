#include "queue.hpp"

#include <chrono>
#include <unistd.h>

namespace reference {

Queue::Queue() : process_(getpid()) {}

Queue::~Queue() {
  // A forked child has no copy of the thread, and its mutex may be locked forever.
  if (!check_process().is_ok()) {
    if (thread_.joinable()) thread_.detach();
    return;
  }
  std::deque<Given> dropped;
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
    dropped.swap(waiting_);
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
  for (Given& each : dropped)
    if (each.is_certain) (void)each.work();
}

bp::Status Queue::submit(Work work, uint64_t call_number) {
  return submit({std::move(work), call_number, false});
}
bp::Status Queue::submit_for_certain(Work work) {
  return submit({std::move(work), 0, true});
}

bp::Status Queue::submit(Given given) {
  if (bp::Status status = check_process(); !status.is_ok()) return status;
  {
    std::unique_lock lock(mutex_);
    // The cause, to the first who meets it; who marks a place or gives memory back looks at no cause.
    if (lost_ && failure_.code != BP_OK && !given.is_certain) return report(lock);
    if (lost_) return bp::error(BP_STREAM_LOST, "the stream was lost by work that failed");
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
    waiting_.push_back(std::move(given));
    ++given_;
  }
  wake_.notify_one();
  return bp::ok;
}

bp::Status Queue::synchronize() {
  if (bp::Status status = check_process(); !status.is_ok()) return status;
  std::unique_lock lock(mutex_);
  progress_.wait(lock, [this, place = given_] { return done_ >= place; });
  return report(lock);
}

bp::Status Queue::query() {
  if (bp::Status status = check_process(); !status.is_ok()) return status;
  std::unique_lock lock(mutex_);
  if (failure_.code == BP_OK && done_ < given_) return bp::Status::from_host(BP_RETRY);
  return report(lock);
}

void Queue::hold() {
  std::lock_guard lock(mutex_);
  held_ = true;
}

void Queue::release() {
  {
    std::lock_guard lock(mutex_);
    held_ = false;
  }
  wake_.notify_one();
}

uint64_t Queue::pending() {
  std::lock_guard lock(mutex_);
  return given_ - done_;
}

bp::Status Queue::check_process() const {
  if (getpid() == process_) return bp::ok;
  return bp::device_lost("the device was opened before fork() and cannot follow into the child");
}

bp::Status Queue::report(std::unique_lock<std::mutex>& lock) {
  const Outcome failure = std::exchange(failure_, Outcome{});
  const uint64_t failed_call = failed_call_;
  lock.unlock();
  if (failure.code == BP_OK) return bp::ok;
  return bp::late_error(failed_call, failure.code, "%s", failure.text);
}

void Queue::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stop_ || (!held_ && !waiting_.empty()); });
    if (stop_) return;
    Given next = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    const bool runs = !lost_ || next.is_certain;  // only this thread writes it
    const Outcome outcome = runs ? next.work() : Outcome{};
    next.work = nullptr;  // lets go of its event
    lock.lock();
    lost_ = lost_ || outcome.code == BP_STREAM_LOST;
    if (failure_.code == BP_OK) {
      failure_ = outcome;
      failed_call_ = next.call_number;
    }
    ++done_;
    progress_.notify_all();
  }
}

struct Event::Recording {
  void reach() {
    {
      std::lock_guard lock(mutex);
      const auto now = std::chrono::steady_clock::now().time_since_epoch();
      ns = std::chrono::duration<double, std::nano>(now).count();
    }
    changed.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return ns >= 0; });
  }
  double reached_ns() {
    std::lock_guard lock(mutex);
    return ns;
  }

  std::mutex mutex;
  std::condition_variable changed;
  double ns = -1;  // when it was reached
};

std::shared_ptr<Event::Recording> Event::last() {
  std::lock_guard lock(mutex_);
  return last_;
}

bp::Status Event::record(Queue& queue) {
  auto made = std::make_shared<Recording>();
  {
    std::lock_guard lock(mutex_);
    last_ = made;
  }
  // Work that fails keeps nobody waiting, nor does a queue that takes none.
  bp::Status given = queue.submit_for_certain([made] {
    made->reach();
    return Outcome{};
  });
  if (!given.is_ok()) made->reach();
  return given;
}

bp::Status Event::make_wait(Queue& queue) {
  const std::shared_ptr<Recording> awaited = last();
  if (!awaited || awaited->reached_ns() >= 0) return bp::ok;
  return queue.submit([awaited] {
    awaited->wait();
    return Outcome{};
  });
}

bp::Status Event::query() {
  const std::shared_ptr<Recording> asked = last();
  return !asked || asked->reached_ns() >= 0 ? bp::ok : bp::Status::from_host(BP_RETRY);
}

bp::Status Event::synchronize() {
  if (const std::shared_ptr<Recording> awaited = last()) awaited->wait();
  return bp::ok;
}

double Event::reached_ns() {
  const std::shared_ptr<Recording> asked = last();
  return asked ? asked->reached_ns() : -1;
}

}  // namespace reference

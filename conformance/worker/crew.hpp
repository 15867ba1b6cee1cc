// Threads that stay between the scripts of a worker, as an application's do. Intel's OpenCL runtime keeps 2.7 KB for each
// thread that ever called it (measured with plain OpenCL), which is not a leak of the call that is watched.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

namespace bp::conform {

class Crew {
 public:
  // work(0) to work(count - 1), each on a thread of its own, all begun at once. Returns when all are done; `work` does not
  // throw.
  void run(int count, const std::function<void(int)>& work) {
    std::unique_lock lock(mutex_);
    work_ = &work;
    wanted_ = waiting_ = running_ = count;
    ++order_;
    while (static_cast<int>(threads_.size()) < count)
      threads_.emplace_back([this, place = static_cast<int>(threads_.size())](
                                const std::stop_token& end) { serve(place, end); });
    changed_.notify_all();
    changed_.wait(lock, [&] { return running_ == 0; });
    work_ = nullptr;
  }

 private:
  void serve(int place, const std::stop_token& end) {
    std::uint64_t done = 0;
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, end, [&] { return order_ != done && place < wanted_; })) {
      done = order_;
      const std::function<void(int)>& work = *work_;
      if (--waiting_ == 0) changed_.notify_all();
      changed_.wait(lock, [&] { return waiting_ == 0; });
      lock.unlock();
      work(place);
      lock.lock();
      if (--running_ == 0) changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable_any changed_;
  const std::function<void(int)>* work_ = nullptr;
  int wanted_ = 0;   // of the present work
  int waiting_ = 0;  // threads of it that have not begun
  int running_ = 0;  // that have not ended
  std::uint64_t order_ = 0;
  std::vector<std::jthread> threads_;  // end first
};

}  // namespace bp::conform

#include "worker/crew.hpp"

namespace bp::conform {

Crew::~Crew() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Crew::run(int count, const std::function<void(int)>& work) {
  std::unique_lock lock(mutex_);
  work_ = &work;
  wanted_ = waiting_ = running_ = count;
  ++order_;
  while (static_cast<int>(threads_.size()) < count)
    threads_.emplace_back([this, place = static_cast<int>(threads_.size())] { serve(place); });
  changed_.notify_all();
  changed_.wait(lock, [&] { return running_ == 0; });
  work_ = nullptr;
}

void Crew::serve(int place) {
  std::uint64_t done = 0;
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return ends_ || (order_ != done && place < wanted_); });
    if (ends_) return;
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

}  // namespace bp::conform

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <unistd.h>

#include <backplane/dispatcher/host_device.hpp>
#include <backplane/runtime/settings.hpp>
#include <backplane/tensor/check.hpp>

#include "loader/pinned.hpp"
#include "loader/pool.hpp"

namespace bp::data {
namespace {

class InlinePool : public Pool {
 public:
  explicit InlinePool(std::shared_ptr<const FetchPlan> plan)
      : plan_(std::move(plan)), fetcher_(plan_, -1) {}

  void begin(std::uint64_t) override { tasks_.clear(); }
  void submit(int, Task task) override { tasks_[task.batch] = std::move(task); }
  std::optional<Fetched> wait(int, std::int64_t batch, std::optional<Clock::time_point>) override {
    const Task task = std::move(tasks_.at(batch));
    tasks_.erase(batch);
    Fetched result = fetcher_.run(task);
    pin_fetched(result, plan_->options);
    return result;
  }

 private:
  std::shared_ptr<const FetchPlan> plan_;
  Fetcher fetcher_;
  std::map<std::int64_t, Task> tasks_;
};

class WorkerThreads {
 public:
  explicit WorkerThreads(std::shared_ptr<const FetchPlan> plan) : plan_(std::move(plan)) {
    host_device();  // an error of it is the caller's
    tasks_.resize(static_cast<std::size_t>(plan_->options.num_workers));
    try {
      for (int worker = 0; worker < plan_->options.num_workers; ++worker)
        threads_.emplace_back([this, worker] { work(worker); });
    } catch (const std::system_error& error) {
      const std::size_t worker = threads_.size();
      stop();
      throw_error(
          ErrorClass::out_of_memory,
          fmt::format("DataLoader: cannot start a thread for worker {}: {}; use fewer workers",
                      worker, error.what()));
    }
  }
  ~WorkerThreads() { stop(); }
  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;

  void begin(std::uint64_t generation) {
    const std::lock_guard lock(mutex_);
    generation_ = generation;
    for (auto& each : tasks_) each.clear();
    results_.clear();
  }

  void submit(int worker, Task task) {
    {
      const std::lock_guard lock(mutex_);
      tasks_[static_cast<std::size_t>(worker)].push_back(std::move(task));
    }
    has_task_.notify_all();
  }

  std::optional<Fetched> wait(std::int64_t batch, std::optional<Clock::time_point> until) {
    std::unique_lock lock(mutex_);
    const auto is_there = [&] { return results_.contains(batch); };
    if (!until)
      has_result_.wait(lock, is_there);
    else if (!has_result_.wait_until(lock, *until, is_there))
      return std::nullopt;
    return std::move(results_.extract(batch).mapped());
  }

 private:
  void work(int worker) {
    const DeviceGuard on_host(host_device());
    Fetcher fetcher(plan_, worker);
    std::deque<Task>& mine = tasks_[static_cast<std::size_t>(worker)];
    for (;;) {
      std::unique_lock lock(mutex_);
      has_task_.wait(lock, [&] { return stopped_ || !mine.empty(); });
      if (stopped_) return;
      const Task task = std::move(mine.front());
      mine.pop_front();
      lock.unlock();
      Fetched result = fetcher.run(task);
      pin_fetched(result, plan_->options);
      lock.lock();
      // The result of an epoch that was left is dropped outside of the lock, since that may free much.
      if (result.generation == generation_) {
        results_.insert_or_assign(result.batch, std::move(result));
        lock.unlock();
        has_result_.notify_one();
      } else {
        lock.unlock();
      }
    }
  }

  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    has_task_.notify_all();
    for (std::thread& each : threads_) each.join();
  }

  std::shared_ptr<const FetchPlan> plan_;
  std::mutex mutex_;
  std::condition_variable has_task_, has_result_;
  std::uint64_t generation_ = 0;
  bool stopped_ = false;
  std::vector<std::deque<Task>> tasks_;
  std::map<std::int64_t, Fetched> results_;
  std::vector<std::thread> threads_;
};

class ThreadPool : public Pool {
 public:
  explicit ThreadPool(std::shared_ptr<const FetchPlan> plan)
      : threads_(std::make_unique<WorkerThreads>(std::move(plan))) {}
  ~ThreadPool() override {
    // A process that was forked from the threads' own has them not, and its locks may be taken forever.
    if (getpid() != owner_) static_cast<void>(threads_.release());
  }

  bool is_whole() const override { return getpid() == owner_; }
  void begin(std::uint64_t generation) override { threads_->begin(generation); }
  void submit(int worker, Task task) override {
    check_process(owner_);
    threads_->submit(worker, std::move(task));
  }
  std::optional<Fetched> wait(int, std::int64_t batch,
                              std::optional<Clock::time_point> until) override {
    check_process(owner_);
    return threads_->wait(batch, until);
  }

 private:
  const pid_t owner_ = getpid();
  std::unique_ptr<WorkerThreads> threads_;
};

}  // namespace

void check_process(pid_t owner) {
  BP_CHECK(getpid() == owner,
           "DataLoader: the workers of this epoch are those of process {}, and this is process {}, "
           "forked from it; begin another epoch here",
           owner, getpid());
}

std::unique_ptr<Pool> make_inline_pool(std::shared_ptr<const FetchPlan> plan) {
  return std::make_unique<InlinePool>(std::move(plan));
}
std::unique_ptr<Pool> make_thread_pool(std::shared_ptr<const FetchPlan> plan) {
  return std::make_unique<ThreadPool>(std::move(plan));
}

}  // namespace bp::data

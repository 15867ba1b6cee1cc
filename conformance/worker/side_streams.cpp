// A tensor is written on one stream, read and written again on another one after an event, and dropped while that work is
// still to come: the next tensor on the first stream gets the memory as soon as the core thinks that it may. What a device
// says too early of an event or a stream, or does in another order, shows in the values. Threads, whose values differ, give
// each other tensors that are still to be written, so that one thread drops what another one made; where the backend has a
// second device, every other thread works there.
#include <algorithm>
#include <deque>
#include <memory>
#include <mutex>
#include <random>
#include <thread>

#include <backplane/core_ops/generated/pointwise.hpp>
#include <backplane/dispatcher/transfer.hpp>
#include <backplane/runtime/allocator.hpp>
#include <backplane/runtime/stream.hpp>
#include <backplane/tensor/error.hpp>

#include "worker/scope.hpp"

namespace bp::conform {
namespace {

constexpr int num_values = 8;
constexpr std::int64_t sizes[] = {250, 25'000, 100'000};
constexpr std::size_t num_sizes = std::size(sizes);

// A tensor whose elements are all `value` once the event is reached.
struct Handed {
  Tensor tensor;
  float value;
  Event written;
};

// What the threads of one device give each other.
class Box {
 public:
  // Mine for one that lay there; mine stays there if it is empty.
  std::unique_ptr<Handed> exchange(std::unique_ptr<Handed> mine) {
    const std::lock_guard lock(mutex_);
    handed_.push_back(std::move(mine));
    if (handed_.size() < room) return nullptr;
    std::unique_ptr<Handed> other = std::move(handed_.front());
    handed_.pop_front();
    return other;
  }
  std::unique_ptr<Handed> take() {
    const std::lock_guard lock(mutex_);
    if (handed_.empty()) return nullptr;
    std::unique_ptr<Handed> last = std::move(handed_.back());
    handed_.pop_back();
    return last;
  }

 private:
  static constexpr std::size_t room = 4;
  std::mutex mutex_;
  std::deque<std::unique_ptr<Handed>> handed_;
};

struct Findings {
  std::int64_t checked = 0, wrong = 0;
  std::string message;
};

class Hands {
 public:
  Hands(Device device, bool calls, unsigned thread, Box& box, Findings& findings)
      : device_(device), calls_(calls), first_value_(static_cast<float>(num_values * thread)),
        random_(thread), box_(box),
        findings_(findings), streams_{Stream::default_of(device), Stream(device), Stream(device)} {
    for (const std::int64_t size : sizes)
      for (int value = 0; value < num_values; ++value) {
        const std::vector<float> values(static_cast<std::size_t>(size), value_at(value));
        sources_.push_back(empty_tensor({size}, f32, device));
        copy_from_host_memory(sources_.back(), values.data());
      }
  }

  void run(std::int64_t rounds) {
    for (std::int64_t i = 0; i < rounds; ++i) {
      hand_over();
      if (kept_.size() > 12) check_one();
    }
    while (!kept_.empty()) check_one();
    while (std::unique_ptr<Handed> left = box_.take()) check(*left);
  }

 private:
  std::size_t pick(std::size_t count) { return random_() % count; }
  float value_at(std::size_t value) const { return first_value_ + static_cast<float>(value); }
  const Tensor& source(std::size_t size, std::size_t value) const {
    return sources_[size * num_values + value];
  }

  void hand_over() {
    const std::size_t size = pick(num_sizes), value = pick(num_values), from = pick(3);
    const Stream &first = streams_[from], &second = streams_[(from + 1 + pick(2)) % 3];
    Tensor given = written_on(first, size, value);
    Event written(device_);
    written.record(first);
    written.wait(second);
    const StreamGuard guard(second);
    Tensor kept = empty_tensor({sizes[size]}, f32, device_);
    copy_into(kept, given);
    float expected = value_at(value);
    if (calls_) {
      kept = add(given, kept);
      expected += expected;
    }
    // Its next owner would find this, if it came too late.
    if (pick(2)) copy_into(given, source(size, (value + 1) % num_values));
    given = {};
    Event done(device_);
    done.record(second);
    kept_.push_back(std::make_unique<Handed>(Handed{std::move(kept), expected, std::move(done)}));
  }

  Tensor written_on(const Stream& stream, std::size_t size, std::size_t value) {
    const StreamGuard guard(stream);
    Tensor made = empty_tensor({sizes[size]}, f32, device_);
    copy_into(made, source(size, value));
    return made;
  }

  void check_one() {
    std::swap(kept_[pick(kept_.size())], kept_.back());
    std::unique_ptr<Handed> one = std::move(kept_.back());
    kept_.pop_back();
    if (pick(2)) one = box_.exchange(std::move(one));
    if (one) check(*one);
  }

  void check(const Handed& one) {
    const Stream& stream = streams_[pick(3)];
    one.written.wait(stream);
    std::vector<float> values(static_cast<std::size_t>(one.tensor.numel()));
    {
      const StreamGuard guard(stream);
      copy_to_host_memory(one.tensor, values.data());
    }
    ++findings_.checked;
    findings_.wrong += std::ranges::count(values, one.value) != std::ssize(values);
  }

  const Device device_;
  const bool calls_;
  const float first_value_;  // of this thread's
  std::mt19937 random_;
  Box& box_;
  Findings& findings_;
  const Stream streams_[3];
  std::vector<Tensor> sources_;
  std::vector<std::unique_ptr<Handed>> kept_;
};

// The device, and the next one of its backend if there is one.
std::vector<Device> devices_beside(const DeviceRecord& record) {
  std::vector<Device> devices = {record.device};
  for (const DeviceRecord* other : registered_devices())
    if (devices.size() < 2 && other != &record && other->backend == record.backend)
      devices.push_back(other->device);
  return devices;
}

}  // namespace

Json run_side_streams(DeviceRecord& record, const Json& step) {
  const std::vector<Device> devices = devices_beside(record);
  std::vector<Box> boxes(devices.size());
  std::vector<Findings> found(step.at("threads").get<std::size_t>());
  const auto work = [&](unsigned thread) {
    const std::size_t place = thread % devices.size();
    try {
      Hands(devices[place], step.value("calls", false), thread, boxes[place], found[thread])
          .run(step.at("rounds").get<std::int64_t>());
    } catch (const Error& error) {
      found[thread].message = error.what();
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < found.size(); ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
  Findings all;
  for (const Findings& each : found) {
    all.checked += each.checked;
    all.wrong += each.wrong;
    if (all.message.empty()) all.message = each.message;
  }
  return {{"checked", all.checked}, {"wrong", all.wrong}, {"message", all.message}};
}

}  // namespace bp::conform

#include "marks.hpp"

#include <algorithm>

#include "constants.hpp"
#include "device.hpp"

namespace level_zero {

Marks::~Marks() {
  if (!device_.is_of_this_process()) return;
  for (ze_event_handle_t event : events_) loader.zeEventDestroy(event);
  for (ze_event_pool_handle_t pool : pools_) loader.zeEventPoolDestroy(pool);
}

bp::Result<Mark> Marks::take() {
  std::lock_guard lock(mutex_);
  ze_event_handle_t event = reuse();
  if (event == nullptr) {
    bp::Status status = device_.check("an event", "zeEventCreate", make(event));
    if (!status.is_ok()) return status;
  }
  return Mark(event, [this](ze_event_handle_t given_back) { give_back(given_back); });
}

ze_event_handle_t Marks::reuse() {
  for (size_t looks = std::min(retired_.size(), constants::looked_at_events); looks > 0; --looks) {
    ze_event_handle_t event = retired_.front();
    retired_.pop_front();
    if (loader.zeEventQueryStatus(event) == ZE_RESULT_SUCCESS &&
        loader.zeEventHostReset(event) == ZE_RESULT_SUCCESS)
      return event;
    retired_.push_back(event);
  }
  return nullptr;
}

ze_result_t Marks::make(ze_event_handle_t& event) {
  const auto index = static_cast<uint32_t>(events_.size() % constants::events_of_pool);
  if (index == 0 && pools_.size() * constants::events_of_pool == events_.size()) {
    auto wanted = describe<ze_event_pool_desc_t>(ZE_STRUCTURE_TYPE_EVENT_POOL_DESC);
    wanted.flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE | ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP;
    wanted.count = constants::events_of_pool;
    ze_event_pool_handle_t pool = nullptr;
    const ze_result_t result =
        loader.zeEventPoolCreate(device_.context(), &wanted, 0, nullptr, &pool);
    if (result != ZE_RESULT_SUCCESS) return result;
    pools_.push_back(pool);
  }
  auto wanted = describe<ze_event_desc_t>(ZE_STRUCTURE_TYPE_EVENT_DESC);
  wanted.index = index;
  wanted.signal = wanted.wait = ZE_EVENT_SCOPE_FLAG_HOST;
  const ze_result_t result = loader.zeEventCreate(pools_.back(), &wanted, &event);
  if (result == ZE_RESULT_SUCCESS) events_.push_back(event);
  return result;
}

void Marks::give_back(ze_event_handle_t event) {
  std::lock_guard lock(mutex_);
  retired_.push_back(event);
}

}  // namespace level_zero

#include "lists.hpp"

#include <atomic>
#include <cstdlib>
#include <string_view>

#include "constants.hpp"
#include "device.hpp"

namespace level_zero {
namespace {

bool wants_immediate() {
  const char* asked = std::getenv("BACKPLANE_LEVEL_ZERO_LISTS");
  return asked == nullptr || std::string_view(asked) != "regular";
}

// Streams go round the queues that the device has.
uint32_t next_queue(const FoundDevice& found) {
  static std::atomic<uint32_t> given{0};
  return given.fetch_add(1, std::memory_order_relaxed) % found.num_queues;
}

ze_command_queue_desc_t describe_queue(const FoundDevice& found, int32_t priority) {
  auto wanted = describe<ze_command_queue_desc_t>(ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC);
  wanted.ordinal = found.queue_ordinal;
  wanted.index = next_queue(found);
  wanted.mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS;
  if (priority < 0) wanted.priority = ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_HIGH;
  if (priority > 0) wanted.priority = ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_LOW;
  return wanted;
}

}  // namespace

ze_result_t make_list(Device& device, ze_command_list_handle_t& list, bool& keeps_order) {
  auto wanted = describe<ze_command_list_desc_t>(ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC);
  wanted.commandQueueGroupOrdinal = device.found().queue_ordinal;
  keeps_order = device.found().keeps_order;
  if (keeps_order) wanted.flags = list_in_order;
  const auto create = [&] {
    return loader.zeCommandListCreate(device.context(), device.found().id, &wanted, &list);
  };
  ze_result_t result = create();
  // The loader's own validation knows only what its version does.
  if (keeps_order && result == ZE_RESULT_ERROR_INVALID_ENUMERATION) {
    keeps_order = false;
    wanted.flags = 0;
    result = create();
  }
  return result;
}

Lists::Lists(Device& device, int32_t priority)
    : device_(device), description_(describe_queue(device.found(), priority)) {
  if (wants_immediate() && make_immediate()) return;
  bp::Status status = device.check("creating a stream", "zeCommandQueueCreate", make_queue());
  if (!status.is_ok()) throw bp::Failure{status};
}

Lists::~Lists() {
  if (!device_.is_of_this_process()) return;
  for (const auto& regular : regular_) {
    if (regular->is_running) loader.zeFenceHostSynchronize(regular->over, UINT64_MAX);
    loader.zeFenceDestroy(regular->over);
    loader.zeCommandListDestroy(regular->list);
  }
  if (immediate_) loader.zeCommandListDestroy(immediate_->get());
  if (queue_ != nullptr) loader.zeCommandQueueDestroy(queue_);
}

// False: the driver has none. Throws bp::Failure if it has and fails.
bool Lists::make_immediate() {
  ze_command_list_handle_t list = nullptr;
  const auto create = [&](ze_command_queue_desc_t wanted, ze_command_queue_flags_t flags) {
    wanted.flags |= flags;
    return loader.zeCommandListCreateImmediate(device_.context(), device_.found().id, &wanted,
                                               &list);
  };
  bool keeps_order = device_.found().keeps_order;
  ze_result_t result = create(description_, keeps_order ? queue_in_order : 0);
  if (keeps_order && result == ZE_RESULT_ERROR_INVALID_ENUMERATION) {
    keeps_order = false;
    result = create(description_, 0);
  }
  if (result == ZE_RESULT_ERROR_UNSUPPORTED_FEATURE) return false;
  bp::Status status = device_.check("creating a stream", "zeCommandListCreateImmediate", result);
  if (!status.is_ok()) throw bp::Failure{status};
  immediate_ = std::make_unique<OrderedList>(list, keeps_order, false);
  return true;
}

ze_result_t Lists::make_queue() {
  if (queue_ != nullptr) return ZE_RESULT_SUCCESS;
  return loader.zeCommandQueueCreate(device_.context(), device_.found().id, &description_, &queue_);
}

// Any that is not running, from the one used longest ago on.
ze_result_t Lists::open(Regular*& regular) {
  for (size_t i = 0; i < regular_.size(); ++i) {
    Regular& each = *regular_[next_];
    const bool is_last = regular_.size() >= constants::most_lists;
    next_ = (next_ + 1) % regular_.size();
    if (each.is_running) {
      const ze_result_t result = loader.zeFenceHostSynchronize(each.over, is_last ? UINT64_MAX : 0);
      if (result == ZE_RESULT_NOT_READY) break;  // and those after it were given later
      if (result != ZE_RESULT_SUCCESS) return result;
      each.is_running = false;
    }
    ze_result_t result = loader.zeFenceReset(each.over);
    if (result == ZE_RESULT_SUCCESS) result = loader.zeCommandListReset(each.list);
    regular = &each;
    return result;
  }
  return add(regular);
}

ze_result_t Lists::add(Regular*& regular) {
  auto made = std::make_unique<Regular>();
  bool keeps_order = false;
  ze_result_t result = make_list(device_, made->list, keeps_order);
  if (result != ZE_RESULT_SUCCESS) return result;
  const auto wanted = describe<ze_fence_desc_t>(ZE_STRUCTURE_TYPE_FENCE_DESC);
  result = loader.zeFenceCreate(queue_, &wanted, &made->over);
  if (result != ZE_RESULT_SUCCESS) {
    loader.zeCommandListDestroy(made->list);
    return result;
  }
  // Behind the one given last, so that the order of the row is that of the queue.
  regular = made.get();
  regular_.insert(regular_.begin() + static_cast<ptrdiff_t>(next_), std::move(made));
  next_ = (next_ + 1) % regular_.size();
  return ZE_RESULT_SUCCESS;
}

ze_result_t Lists::close(Regular& regular, ze_result_t appended) {
  if (appended != ZE_RESULT_SUCCESS) return appended;
  ze_result_t result = loader.zeCommandListClose(regular.list);
  if (result != ZE_RESULT_SUCCESS) return result;
  result = loader.zeCommandQueueExecuteCommandLists(queue_, 1, &regular.list, regular.over);
  regular.is_running = result == ZE_RESULT_SUCCESS;
  return result;
}

// A closed list runs on a command queue, which knows nothing of an immediate list: the list itself waits for `start` and
// signals `done`. Both are reset again, by the list and by the stream.
ze_result_t Lists::run(ze_command_list_handle_t closed, ze_event_handle_t start,
                       ze_event_handle_t done) {
  ze_result_t result = make_queue();
  if (result != ZE_RESULT_SUCCESS) return result;
  result = give([&](OrderedList& list) { return list.mark(start); });
  if (result != ZE_RESULT_SUCCESS) return result;
  result = loader.zeCommandQueueExecuteCommandLists(queue_, 1, &closed, nullptr);
  if (result != ZE_RESULT_SUCCESS) return result;
  return give([&](OrderedList& list) {
    const ze_result_t waited = list.wait(done);
    return waited == ZE_RESULT_SUCCESS ? list.reset(done) : waited;
  });
}

}  // namespace level_zero

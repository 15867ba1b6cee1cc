#include "command_list.hpp"

#include "tables.hpp"

namespace over_opencl {

CommandList::CommandList(Device& device, const ze_command_queue_desc_t& description)
    : device_(device), group_(description.ordinal),
      queue_(std::make_unique<Queue>(device, description)) {}

void CommandList::close() {
  check(!is_immediate(), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  is_closed_ = true;
}

void CommandList::reset() {
  check(!is_immediate(), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  commands_.clear();
  is_closed_ = false;
}

namespace {

struct Shape {
  cl_uint dimensions = 1;
  size_t global[3] = {}, local[3] = {};
};

Shape shape_of(const Kernel& kernel, const ze_group_count_t& groups) {
  const uint32_t counts[3] = {groups.groupCountX, groups.groupCountY, groups.groupCountZ};
  Shape shape;
  for (cl_uint i = 0; i < 3; ++i) {
    check(counts[i] != 0, ZE_RESULT_ERROR_INVALID_ARGUMENT);
    shape.local[i] = kernel.group_size()[i];
    shape.global[i] = shape.local[i] * counts[i];
    if (shape.global[i] > 1) shape.dimensions = i + 1;
  }
  return shape;
}

}  // namespace

// The launch that loses the device is taken and never runs, as when a card hangs.
template <class Work>
void CommandList::launch(Queue& queue, const Work& enqueue, const Order& order) {
  if (!is_losing_launch()) return queue.submit(enqueue, order);
  queue.device().check_not_lost();
  queue.device().lose();
  if (order.signal != nullptr) order.signal->signal.abandon();
}

template <class Work> void CommandList::launch_at_once(const Work& enqueue, const Order& order) {
  std::lock_guard lock(queue_->mutex());
  launch(*queue_, enqueue, order);
  if (!device_.is_lost()) queue_->flush();
}

void CommandList::append_launch(Kernel& kernel, const ze_group_count_t& groups, Order order) {
  check(!is_closed_ && &kernel.device() == &device_, ZE_RESULT_ERROR_INVALID_ARGUMENT);
  check(group_ == compute_group, ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE);
  const Shape shape = shape_of(kernel, groups);
  const auto enqueue_with = [shape](cl_kernel with, cl_command_queue queue, cl_uint count,
                                    const cl_event* events, cl_event* own) {
    return clEnqueueNDRangeKernel(queue, with, shape.dimensions, nullptr, shape.global, shape.local,
                                  count, events, own);
  };
  if (is_immediate() && !queue_->is_loose()) {
    launch_at_once([&](auto... given) { return enqueue_with(kernel.get(), given...); }, order);
    return;
  }
  const std::shared_ptr<_cl_kernel> copy = kernel.copy();
  const auto later = [copy, enqueue_with](auto... given) {
    return enqueue_with(copy.get(), given...);
  };
  if (is_immediate()) {
    launch_at_once(later, order);
  } else {
    commands_.push_back({Kind::launch, later, std::move(order)});
  }
}

void CommandList::append_barrier(Order order) {
  check(!is_closed_, ZE_RESULT_ERROR_INVALID_ARGUMENT);
  if (!is_immediate()) {
    commands_.push_back({Kind::barrier, nullptr, std::move(order)});
    return;
  }
  device_.check_not_lost();
  std::lock_guard lock(queue_->mutex());
  queue_->submit_barrier(order);
  queue_->flush();
}

void CommandList::append_event_reset(Event& event) {
  check(!is_closed_, ZE_RESULT_ERROR_INVALID_ARGUMENT);
  device_.check_not_lost();
  if (is_immediate()) return event.signal.reset();
  commands_.push_back({Kind::event_reset, nullptr, {&event, {}}});
}

void CommandList::execute(Queue& queue) {
  for (const Command& command : commands_) {
    Event* signal = command.order.signal;
    check(signal == nullptr || signal->is_alive(), ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
    switch (command.kind) {
      case Kind::work: queue.submit(command.enqueue, command.order); break;
      case Kind::launch: launch(queue, command.enqueue, command.order); break;
      case Kind::barrier: queue.submit_barrier(command.order); break;
      case Kind::event_reset:
        if (signal != nullptr) signal->signal.reset();
        break;
    }
    if (queue.device().is_lost()) return;  // seen by the next query
  }
}

namespace {

ze_result_t ZE_APICALL list_create(ze_context_handle_t context, ze_device_handle_t device,
                                   const ze_command_list_desc_t* description,
                                   ze_command_list_handle_t* to) {
  return guarded([&] {
    Device& on = device_of(*from<Context>(context), device);
    const uint32_t group = required(description).commandQueueGroupOrdinal;
    check(group < num_queue_groups, ZE_RESULT_ERROR_INVALID_ARGUMENT);
    on.check_not_lost();
    required(to) = to_handle<ze_command_list_handle_t>(new CommandList(on, group));
  });
}

ze_result_t ZE_APICALL list_create_immediate(ze_context_handle_t context, ze_device_handle_t device,
                                             const ze_command_queue_desc_t* description,
                                             ze_command_list_handle_t* to) {
  return guarded([&] {
    Device& on = device_of(*from<Context>(context), device);
    required(description);
    required(to) = to_handle<ze_command_list_handle_t>(new CommandList(on, *description));
  });
}

ze_result_t ZE_APICALL list_destroy(ze_command_list_handle_t list) {
  return guarded([&] { delete from<CommandList>(list); });
}

ze_result_t ZE_APICALL list_close(ze_command_list_handle_t list) {
  return guarded([&] { from<CommandList>(list)->close(); });
}

ze_result_t ZE_APICALL list_reset(ze_command_list_handle_t list) {
  return guarded([&] { from<CommandList>(list)->reset(); });
}

}  // namespace

void fill_appends(ze_command_list_dditable_t& table);

void fill(ze_command_list_dditable_t& table) {
  table.pfnCreate = list_create;
  table.pfnCreateImmediate = list_create_immediate;
  table.pfnDestroy = list_destroy;
  table.pfnClose = list_close;
  table.pfnReset = list_reset;
  fill_appends(table);
}

}  // namespace over_opencl

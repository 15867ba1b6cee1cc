#include "order.hpp"

#include <chrono>
#include <cstring>
#include <thread>

#include <backplane/extensions/host_calls.h>
#include <backplane/extensions/semaphores.h>

#include "device.hpp"
#include "variant.hpp"

namespace exam {
namespace {

using reference::Device;
using reference::Outcome;
using reference::Queue;

Queue& queue_of(bp_device* device, bp_stream* stream) {
  return reinterpret_cast<Device*>(device)->queue_of(reinterpret_cast<Queue*>(stream));
}

bp_code call(bp_device* device, bp_stream* stream, void (*function)(void*), void* context) {
  if (fault_is("host_call_too_early")) return function(context), BP_OK;
  return bp::guarded([=] {
    return queue_of(device, stream).submit_for_certain([=] {
      function(context);
      return Outcome{};
    });
  });
}

// A semaphore is the address of its number.
uint64_t* number_of(bp_semaphore* semaphore) {
  return reinterpret_cast<uint64_t*>(semaphore);
}

bp_code take(bp_device*, const bp_native* native, bp_semaphore** out) {
  if (std::strcmp(native->kind, BP_SEMAPHORE_HOST) != 0)
    return bp::unsupported("there is no kind '%s'", native->kind).code();
  *out = reinterpret_cast<bp_semaphore*>(static_cast<uintptr_t>(native->value));
  return BP_OK;
}

bp_code wait(bp_device* device, bp_stream* stream, bp_semaphore* semaphore, uint64_t value) {
  if (fault_is("semaphore_forgotten")) return BP_OK;
  return bp::guarded([=] {
    return queue_of(device, stream).submit([=] {
      while (__atomic_load_n(number_of(semaphore), __ATOMIC_ACQUIRE) < value)
        std::this_thread::sleep_for(std::chrono::microseconds(20));
      return Outcome{};
    });
  });
}

bp_code signal(bp_device* device, bp_stream* stream, bp_semaphore* semaphore, uint64_t value) {
  const auto raise = [=] {
    if (__atomic_load_n(number_of(semaphore), __ATOMIC_ACQUIRE) < value)
      __atomic_store_n(number_of(semaphore), value, __ATOMIC_RELEASE);
    return Outcome{};
  };
  if (fault_is("signal_too_early")) return raise(), BP_OK;
  return bp::guarded([=] { return queue_of(device, stream).submit_for_certain(raise); });
}

constexpr const char* kinds[] = {BP_SEMAPHORE_HOST, nullptr};
const bp_host_calls host_calls = {{sizeof(bp_host_calls), BP_TYPE_EXTENSION, nullptr}, call};
const bp_semaphores semaphores = {{sizeof(bp_semaphores), BP_TYPE_EXTENSION, nullptr},
                                  kinds,
                                  take,
                                  [](bp_device*, bp_semaphore*) {},
                                  wait,
                                  signal,
                                  nullptr,
                                  nullptr};

}  // namespace

const bp_header* order_extension(const char* name, uint32_t min_version) {
  if (min_version > 1 || !reference::is_asynchronous()) return nullptr;
  if (std::strcmp(name, BP_HOST_CALLS) == 0) return &host_calls.h;
  if (std::strcmp(name, BP_SEMAPHORES) == 0) return &semaphores.h;
  return nullptr;
}

}  // namespace exam

#include "host_calls.hpp"

#include "device.hpp"

namespace reference {
namespace {

bp_code call(bp_device* device, bp_stream* stream, void (*function)(void*), void* context) {
  return bp::guarded([=] {
    Queue& queue = Device::of(device).queue_of(reinterpret_cast<Queue*>(stream));
    return queue.submit_for_certain([=] {
      function(context);
      return Outcome{};
    });
  });
}

}  // namespace

const bp_host_calls host_call_functions = {{sizeof(bp_host_calls), BP_TYPE_EXTENSION, nullptr},
                                           call};

}  // namespace reference

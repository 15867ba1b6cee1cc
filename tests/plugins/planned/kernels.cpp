// Kernels of contiguous f32: `neg` plans, and goes through its workspace; another `neg` takes what that one leaves; `abs`
// asks for its workspace when it runs.
#include "kernels.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <thread>

#include <backplane/plugin.hpp>

#include "device.hpp"

namespace planned {
namespace {

using reference::Device;
using reference::Outcome;

Witness nobody;
std::atomic<Witness*> witness{&nobody};

constexpr uint64_t alive = 0x600D, released = 0xDEAD;

// What is alike in all calls of a class.
struct Plan {
  std::atomic<uint64_t> state{alive};
  int64_t numel = 0;
  int64_t rank = 0;
  ~Plan() {
    state = released;
    ++witness.load()->num_released;
  }
};

bp::Result<bp::Planned<Plan>> plan_neg(bp::Stream, bp::In a, bp::Out) {
  Witness& w = *witness.load();
  ++w.num_asked;
  std::this_thread::sleep_for(std::chrono::milliseconds(w.milliseconds.load()));
  if (w.answer != BP_OK) return bp::error(w.answer, "no plan today");
  auto made = std::make_unique<Plan>();
  made->numel = a.numel();
  made->rank = a.ndim();
  ++w.num_made;
  return bp::Planned<Plan>{std::move(made), w.workspace, w.alignment};
}

bool fits(const Plan& plan, bp::In a) {
  return plan.state == alive && plan.numel == a.numel() && plan.rank == a.ndim();
}

uint8_t* bytes_of(Device& device, bp::Region region) {
  return device.bytes_of(region, "a kernel").value();
}
bp::Region region_of(const bp::AnyTensor& tensor) {
  return {tensor.handle(), tensor.byte_offset(),
          static_cast<uint64_t>(tensor.numel()) * tensor.itemsize()};
}

// Elements as they are stored, masked.
template <class F> void map(uint8_t* to, const uint8_t* from, int64_t numel, F f) {
  for (int64_t i = 0; i < numel; ++i) {
    float value;
    reference::copy_masked(reinterpret_cast<uint8_t*>(&value), from + 4 * i, 4);
    value = f(value);
    reference::copy_masked(to + 4 * i, reinterpret_cast<const uint8_t*>(&value), 4);
  }
}

bp::Status neg(bp::Call call, bp::In a, bp::Out out) {
  Device& device = call.device<Device>();
  const Plan& plan = call.plan<Plan>();
  const bp::Region scratch = call.workspace();
  Witness& w = *witness.load();
  ++w.num_planned_runs;
  w.last_offset = scratch.offset;
  w.last_bytes = scratch.bytes;
  if (!fits(plan, a)) ++w.num_wrong;
  const uint64_t room = std::min<uint64_t>(scratch.bytes, region_of(a).bytes) / 4 * 4;
  return device.submit(
      call.native<reference::Queue>(),
      [=, &plan, numel = a.numel(), from = bytes_of(device, region_of(a)),
       to = bytes_of(device, region_of(out)),
       between = room ? bytes_of(device, scratch) : nullptr] {
        if (plan.state != alive || plan.numel != numel) ++witness.load()->num_wrong;
        const auto in_scratch = static_cast<int64_t>(room / 4);
        if (room) std::memcpy(between, from, room);
        map(to, between, in_scratch, [](float x) { return -x; });
        map(to + room, from + room, numel - in_scratch, [](float x) { return -x; });
        return Outcome{};
      },
      call.call_number());
}

template <class F> bp::Status run(bp::Stream stream, bp::In a, bp::Out out, F f) {
  Device& device = stream.device<Device>();
  return device.submit(stream.native<reference::Queue>(),
                       [=, numel = a.numel(), from = bytes_of(device, region_of(a)),
                        to = bytes_of(device, region_of(out))] {
                         map(to, from, numel, f);
                         return Outcome{};
                       });
}

bp::Status plain_neg(bp::Stream stream, bp::In a, bp::Out out) {
  ++witness.load()->num_plain_runs;
  return run(stream, a, out, [](float x) { return -x; });
}

bp::Status abs(bp::Call call, bp::In a, bp::Out out) {
  Witness& w = *witness.load();
  bp::Result<bp::Region> scratch = call.workspace(w.workspace, w.alignment);
  if (!scratch.is_ok()) return scratch.status();
  w.last_offset = scratch.value().offset;
  w.last_bytes = scratch.value().bytes;
  return run(call, a, out, [](float x) { return std::fabs(x); });
}

}  // namespace

const WitnessStand stand = {
    {sizeof(WitnessStand), BP_TYPE_EXTENSION, nullptr},
    [](Witness* listening) { witness = listening != nullptr ? listening : &nobody; }};

}  // namespace planned

BP_KERNELS(planned) {
  k.add<bp::op::neg>(planned::neg)
      .plan(planned::plan_neg)
      .dtypes(bp::f32)
      .priority(1)
      .deterministic()
      .capturable();
  k.add<bp::op::neg>(planned::plain_neg).dtypes(bp::f32).deterministic();
  k.add<bp::op::abs>(planned::abs).dtypes(bp::f32).scratch();
}

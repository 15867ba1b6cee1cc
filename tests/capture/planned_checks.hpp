// A kernel with a plan in a recording, on a device that records by itself: its workspace is the recording's, and its plan
// lives as long. The kernel is the test's, made of the plugin's copies, so that any device will do.
#pragma once

#include <atomic>
#include <gtest/gtest.h>
#include <vector>

#include <backplane/capture/capture.hpp>
#include <backplane/dispatcher/operator_source.hpp>
#include <backplane/dispatcher/registry.hpp>
#include <backplane/dispatcher/transfer.hpp>
#include <backplane/tensors.hpp>

namespace bp::test {

// `test::pass`, which gives its argument through a workspace.
class PassKernel {
 public:
  std::atomic<int> num_plans{0}, num_released{0}, num_runs{0};
  bp_region workspace{};  // of the last run

  explicit PassKernel(Backend& backend) : backend_(backend) {
    Operator* op = find_operator("test::pass");
    if (!op) op = &register_custom_operator("test::pass(Tensor input) -> Tensor", {});
    for (bp_arg& place : places_) {
      place.dtypes = bp_dtype_set{1} << BP_F32;
      place.layouts = BP_LAYOUT_CONTIGUOUS;
    }
    kernel_.h = {sizeof kernel_, BP_TYPE_KERNEL, nullptr};
    kernel_.op = op->name();
    kernel_.schema_hash = op->schema->hash;
    kernel_.args = places_;
    kernel_.num_args = 1;
    kernel_.flags = BP_KERNEL_CAPTURABLE | BP_KERNEL_DETERMINISTIC;
    kernel_.self = this;
    kernel_.run = run;
    kernel_.plan = plan;
    kernel_.release_plan = [](void* self, const void*) { ++of(self).num_released; };
    const bp_kernel* declared = &kernel_;
    register_kernels(backend, &declared, 1);
  }
  PassKernel(const PassKernel&) = delete;
  PassKernel& operator=(const PassKernel&) = delete;

  static Tensor call(const Tensor& input) { return call_boxed("test::pass", {value_of(input)})[0]; }

 private:
  static PassKernel& of(void* self) { return *static_cast<PassKernel*>(self); }
  static bp_code plan(void* self, const bp_call* call, bp_plan* out) {
    ++of(self).num_plans;
    out->own = self;
    out->workspace = bytes_of(*call->args[0].u.tensor);
    return BP_OK;
  }
  static std::uint64_t bytes_of(const bp_tensor& tensor) {
    return static_cast<std::uint64_t>(tensor.numel) * tensor.itemsize;
  }
  static bp_region region_of(const bp_tensor& tensor) {
    return {reinterpret_cast<bp_handle>(tensor.dl.data), tensor.dl.byte_offset, bytes_of(tensor)};
  }
  static bp_code run(void* self, const bp_call* call) {
    ++of(self).num_runs;
    EXPECT_EQ(call->plan, self);
    const bp_region from = region_of(*call->args[0].u.tensor), to = region_of(*call->outputs[0]);
    const bp_region between = of(self).workspace = call->workspace;
    EXPECT_EQ(between.bytes, from.bytes);
    const bp_memory& memory = *of(self).backend_.plugin->memory;
    const bp_code code = memory.copy(call->device, &between, &from, BP_COPY_WITHIN, call->stream);
    if (code != BP_OK) return code;
    return memory.copy(call->device, &to, &between, BP_COPY_WITHIN, call->stream);
  }

  Backend& backend_;
  bp_arg places_[2]{};
  bp_kernel kernel_{};
};

inline Tensor given_to(Device device, std::size_t count, float first) {
  std::vector<float> numbers(count);
  for (std::size_t i = 0; i < count; ++i) numbers[i] = first + static_cast<float>(i);
  const Tensor tensor = empty_tensor({static_cast<std::int64_t>(count)}, f32, device);
  copy_from_host_memory(tensor, numbers.data());
  synchronize(device);
  return tensor;
}
inline bool begins_with(const Tensor& tensor, float first) {
  std::vector<float> found(static_cast<std::size_t>(tensor.numel()));
  copy_to_host_memory(tensor, found.data());
  for (std::size_t i = 0; i < found.size(); ++i)
    if (found[i] != first + static_cast<float>(i)) return false;
  return true;
}

// The kernel stays, as its backend does.
inline void expect_a_planned_kernel_is_recorded(Device device) {
  PassKernel& kernel = *new PassKernel(*device_record(device).backend);
  constexpr std::size_t count = 30000;
  const Tensor x = given_to(device, count, 0);
  Tensor result;
  {
    Recording recording = capture(device, [&] { result = PassKernel::call(x); });
    EXPECT_TRUE(recording.is_of_device());
    EXPECT_EQ(kernel.num_runs, 1);
    EXPECT_EQ(kernel.num_plans, 1);
    recording.replay();
    EXPECT_TRUE(begins_with(result, 0));
    // Whoever gets memory now does not get the workspace.
    std::vector<Tensor> others;
    for (int i = 0; i < 6; ++i)
      others.push_back(given_to(device, count, 1000 * static_cast<float>(i)));
    copy_into(x, given_to(device, count, 7));
    recording.replay();
    EXPECT_TRUE(begins_with(result, 7));
    for (int i = 0; i < 6; ++i)
      EXPECT_TRUE(begins_with(others[static_cast<std::size_t>(i)], 1000 * static_cast<float>(i)));
    EXPECT_EQ(kernel.num_runs, 1) << "a replay is the device's";
    EXPECT_EQ(kernel.num_released, 0);
    // The same class outside: the same plan, and another workspace.
    const bp_region recorded = kernel.workspace;
    EXPECT_TRUE(begins_with(PassKernel::call(x), 7));
    EXPECT_EQ(kernel.num_plans, 1);
    const bp_region other = kernel.workspace;
    EXPECT_TRUE(other.handle != recorded.handle || other.offset != recorded.offset);
  }
  synchronize(device);
  EXPECT_TRUE(begins_with(result, 7)) << "results outlive their recording";
}

}  // namespace bp::test

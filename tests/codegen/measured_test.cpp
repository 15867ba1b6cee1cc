// needs: cpu reference_compiler
// Kernels that say BP_KERNEL_MEASURED beside another that takes the same calls: which of the two runs.
#include <chrono>
#include <thread>

#include <backplane/capture/capture.hpp>
#include <backplane/dispatcher/policy.hpp>
#include <backplane/runtime/settings.hpp>

#include "dispatcher/calls.hpp"

namespace {

using namespace bp::test;
using bp::Rung;
using bp::Tensor;

// A kernel of `twice(a)` on cpu that takes its time.
struct Twice {
  int milliseconds = 0;
  bp_code answer = BP_OK;
  int num_runs = 0;
  bp_kernel kernel{};

  static float* elements(const bp_tensor& tensor) {
    return reinterpret_cast<float*>(static_cast<char*>(tensor.dl.data) + tensor.dl.byte_offset);
  }
  static bp_code run(void* self, const bp_call* call) {
    auto& twice = *static_cast<Twice*>(self);
    ++twice.num_runs;
    if (twice.answer != BP_OK) return twice.answer;
    std::this_thread::sleep_for(std::chrono::milliseconds(twice.milliseconds));
    const bp_tensor &from = *call->args[0].u.tensor, &to = *call->outputs[0];
    const float* x = elements(from);
    float* y = elements(to);
    for (std::int64_t i = 0; i < to.numel; ++i) y[i] = 2 * x[i];
    return BP_OK;
  }
};

// Each with an operator of its own, since what was decided stays.
class Measured : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    setenv("BACKPLANE_CACHE_BYTES", "0", 1);
    bp::device("reference_compiler:0");  // brings what keeps the decisions
  }
  static void TearDownTestSuite() { unsetenv("BACKPLANE_CACHE_BYTES"); }

  Measured() {
    static int number = 0;
    name_ = "test::twice" + std::to_string(++number);
    op = &bp::register_custom_operator(name_ + "(Tensor input) -> Tensor");
    arg_.layouts = BP_LAYOUT_CONTIGUOUS;
  }

  // Registers the two, once their times are set.
  void offer() {
    declare(measured, BP_KERNEL_MEASURED, Rung::native);
    declare(other, 0, Rung::generated);
  }
  void declare(Twice& twice, std::uint32_t flags, Rung rung) {
    bp_kernel& kernel = twice.kernel;
    kernel.h = {sizeof kernel, BP_TYPE_KERNEL, nullptr};
    kernel.op = op->name();
    kernel.schema_hash = op->schema->hash;
    kernel.args = &arg_;
    kernel.num_args = 1;
    kernel.flags = flags | BP_KERNEL_DETERMINISTIC | BP_KERNEL_CAPTURABLE;
    kernel.self = &twice;
    kernel.run = Twice::run;
    const bp_kernel* list[] = {&kernel};
    bp::register_kernels(*bp::device_record(bp::host_device()).backend, list, 1, rung);
  }

  Tensor call(const Tensor& a) {
    bp_value args[] = {bp::value_of(a)};
    return bp::call_one(*op, args, 1);
  }
  // Both candidates outlive the tests, as kernels do.
  Twice& measured = *new Twice;
  Twice& other = *new Twice;
  bp::Operator* op;
  Tensor large = counted({1 << 16}), small = counted({16});

 private:
  std::string name_;
  bp_arg& arg_ = *new bp_arg{};
};

TEST_F(Measured, gives_way_to_a_faster_one) {
  measured.milliseconds = 20;
  offer();
  const Served served(op->name(), "cpu");
  EXPECT_EQ(values(call(large))[3], 6);
  EXPECT_GT(measured.num_runs, 1);
  const int before = measured.num_runs;
  for (int i = 0; i < 3; ++i) call(large);
  EXPECT_EQ(measured.num_runs, before);
  EXPECT_EQ(served.since(), "generated 4");
}

TEST_F(Measured, runs_where_it_is_the_faster_one) {
  other.milliseconds = 20;
  offer();
  const Served served(op->name(), "cpu");
  EXPECT_EQ(values(call(large))[3], 6);
  const int before = other.num_runs;
  for (int i = 0; i < 3; ++i) call(large);
  EXPECT_EQ(other.num_runs, before);
  EXPECT_EQ(served.since(), "native 4");
}

TEST_F(Measured, is_decided_for_each_class_of_shapes) {
  measured.milliseconds = 20;
  offer();
  call(large);
  measured.milliseconds = 0;
  other.milliseconds = 20;
  call(counted({1 << 18}));
  const int before = other.num_runs;
  call(counted({(1 << 18) + 100}));
  EXPECT_EQ(other.num_runs, before);
}

TEST_F(Measured, is_not_tried_on_a_small_call) {
  offer();
  EXPECT_EQ(values(call(small))[3], 6);
  EXPECT_EQ(measured.num_runs, 0);
  EXPECT_EQ(other.num_runs, 1);
}

TEST_F(Measured, is_not_tried_where_the_result_is_given) {
  offer();
  Tensor out = counted({1 << 16});
  bp_value args[] = {bp::value_of(large)};
  bp::call_one_into(*op, args, 1, out);
  EXPECT_EQ(values(out)[3], 6);
  EXPECT_EQ(measured.num_runs, 0);
  EXPECT_EQ(other.num_runs, 1);
}

TEST_F(Measured, is_not_tried_in_a_capture_and_decided_later) {
  other.milliseconds = 20;
  offer();
  Tensor result;
  bp::Recording graph = bp::capture(bp::host_device(), [&] { result = call(large); });
  EXPECT_EQ(measured.num_runs + other.num_runs, 0);
  graph.replay();
  EXPECT_EQ(values(result)[3], 6);
  EXPECT_EQ(measured.num_runs, 0);
  call(large);
  const int before = other.num_runs;
  graph = bp::capture(bp::host_device(), [&] { result = call(large); });
  graph.replay();
  EXPECT_EQ(other.num_runs, before);
}

TEST_F(Measured, is_not_tried_when_results_must_repeat) {
  other.milliseconds = 20;
  offer();
  bp::set_deterministic(true);
  call(large);
  bp::set_deterministic(false);
  EXPECT_EQ(measured.num_runs, 0);
  EXPECT_EQ(other.num_runs, 1);
}

TEST_F(Measured, runs_where_the_other_one_fails) {
  other.answer = BP_INTERNAL;
  offer();
  EXPECT_EQ(values(call(large))[3], 6);
  EXPECT_GT(other.num_runs, 0);
}

TEST_F(Measured, is_left_out_where_it_fails) {
  measured.answer = BP_INTERNAL;
  offer();
  EXPECT_EQ(values(call(large))[3], 6);
  const int before = measured.num_runs;
  EXPECT_GT(before, 0);
  EXPECT_EQ(values(call(large))[3], 6);
  EXPECT_EQ(measured.num_runs, before);
}

TEST_F(Measured, runs_where_generated_kernels_are_forbidden) {
  measured.milliseconds = 20;
  offer();
  const bp::PolicyScope scope(Rung::generated, bp::Policy::forbid);
  EXPECT_EQ(values(call(large))[3], 6);
  EXPECT_EQ(other.num_runs, 0);
}

}  // namespace

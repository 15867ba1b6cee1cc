// needs: cpu
// Plans of kernels, on the plugin `planned`: an asynchronous device whose `neg` plans, and tells what became of it.
#include <gtest/gtest.h>
#include <thread>

#include <backplane/capture/capture.hpp>

#include "dispatcher/calls.hpp"
#include "dispatcher/reference_hooks.hpp"
#include "plugins/planned/witness.hpp"

namespace {

using namespace bp::test;
using bp::Device;
using bp::ErrorClass;
using bp::Tensor;

class PlanTest : public ::testing::Test {
 protected:
  PlanTest() : backend_(&bp::load_plugin(test_plugin("planned"))) {
    device_ = backend_->devices.front()->device;
    const bp_header* found =
        backend_->plugin->extension(backend_->plugin->self, "planned.witness", 1);
    reinterpret_cast<const planned::WitnessStand*>(found)->listen(&witness_);
  }

  // What was made is given back, once, before the plugin goes.
  ~PlanTest() override {
    unload();
    EXPECT_EQ(witness_.num_released, witness_.num_made);
    EXPECT_EQ(witness_.num_wrong, 0);
  }

  void unload() {
    if (backend_) bp::unload_plugin(*std::exchange(backend_, nullptr));
  }

  Tensor counted(const std::vector<std::int64_t>& shape) const {
    return bp::test::counted(shape, device_);
  }
  void expect_negated(const Tensor& a, const Tensor& result) const {
    const std::vector<float> from = values(a), to = values(result);
    ASSERT_EQ(from.size(), to.size());
    for (std::size_t i = 0; i < from.size(); ++i) EXPECT_EQ(to[i], -from[i]);
  }

  planned::Witness witness_;
  bp::Backend* backend_;
  Device device_;
};

TEST_F(PlanTest, equal_calls_share_one_plan) {
  const Tensor a = counted({3, 5});
  for (int i = 0; i < 5; ++i) expect_negated(a, bp::neg(a));
  EXPECT_EQ(witness_.num_asked, 1);
  EXPECT_EQ(witness_.num_planned_runs, 5);
  EXPECT_EQ(witness_.num_released, 0);
}

TEST_F(PlanTest, other_values_in_other_memory_need_no_new_plan) {
  expect_negated(counted({6}), bp::neg(counted({6})));
  const Tensor b = given({1, 2, 3, 4, 5, 6}, device_);
  expect_negated(b, bp::neg(b));
  EXPECT_EQ(witness_.num_asked, 1);
}

TEST_F(PlanTest, another_shape_is_another_class) {
  for (const auto& shape : {std::vector<std::int64_t>{12}, {3, 4}, {4, 3}, {2, 2, 3}})
    for (int i = 0; i < 2; ++i) expect_negated(counted(shape), bp::neg(counted(shape)));
  EXPECT_EQ(witness_.num_asked, 4);
  EXPECT_EQ(witness_.num_planned_runs, 8);
}

TEST_F(PlanTest, another_alignment_of_the_first_element_is_another_class) {
  const Tensor all = counted({64});
  for (const std::int64_t start : {0, 16, 1, 3, 2, 6})  // in steps of 64, 4, 4, 8 and 8 bytes
    expect_negated(bp::slice(all, 0, start, start + 8, 1),
                   bp::neg(bp::slice(all, 0, start, start + 8, 1)));
  EXPECT_EQ(witness_.num_asked, 3);
}

TEST_F(PlanTest, the_workspace_is_as_the_plan_says) {
  witness_.workspace = 40;
  witness_.alignment = 4096;
  const Tensor a = counted({30});
  for (int i = 0; i < 3; ++i) {
    expect_negated(a, bp::neg(a));
    EXPECT_EQ(witness_.last_bytes, 40u);
    EXPECT_EQ(witness_.last_offset % 4096, 0u);
  }
}

TEST_F(PlanTest, a_workspace_asked_for_in_a_run_is_aligned_too) {
  witness_.workspace = 100;
  witness_.alignment = 8192;
  for (int i = 0; i < 3; ++i) {
    bp::abs(counted({7}));
    EXPECT_EQ(witness_.last_bytes, 100u);
    EXPECT_EQ(witness_.last_offset % 8192, 0u);
  }
}

TEST_F(PlanTest, a_plan_that_is_refused_sends_the_class_to_the_next_candidate) {
  witness_.answer = BP_UNSUPPORTED;
  const Tensor a = counted({9});
  for (int i = 0; i < 3; ++i) expect_negated(a, bp::neg(a));
  EXPECT_EQ(witness_.num_asked, 1);  // for the class, not for each call
  EXPECT_EQ(witness_.num_plain_runs, 3);
  EXPECT_EQ(witness_.num_planned_runs, 0);
}

TEST_F(PlanTest, other_errors_are_the_callers_and_the_next_call_asks_again) {
  const Tensor a = counted({9});
  witness_.answer = BP_INTERNAL;
  EXPECT_EQ(error_of([&] { bp::neg(a); }),
            "neg: plan: no plan today (plugin planned, device planned:0)");
  witness_.answer = BP_OK;
  expect_negated(a, bp::neg(a));
  EXPECT_EQ(witness_.num_asked, 2);
}

TEST_F(PlanTest, a_plan_that_finds_no_memory_is_asked_for_once_more) {
  const Tensor a = counted({9});
  witness_.answer = BP_OUT_OF_MEMORY;
  EXPECT_EQ(class_of_error([&] { bp::neg(a); }), ErrorClass::out_of_memory);
  EXPECT_EQ(witness_.num_asked, 2);
}

TEST_F(PlanTest, a_workspace_without_a_possible_alignment_is_refused) {
  witness_.workspace = 8;
  witness_.alignment = 48;
  EXPECT_EQ(error_of([&] { bp::neg(counted({9})); }),
            "neg: the plan asks for a workspace aligned to 48, which is not a power of 2 (plugin "
            "planned, device planned:0)");
  EXPECT_EQ(witness_.num_released, 1);
}

TEST_F(PlanTest, a_workspace_that_no_device_has_is_an_error) {
  witness_.workspace = ~std::uint64_t{0};
  EXPECT_EQ(class_of_error([&] { bp::neg(counted({9})); }), ErrorClass::out_of_memory);
}

TEST_F(PlanTest, what_is_unused_for_longest_goes_once_its_work_is_done) {
  // More classes than are kept, all of them given to a stream that does nothing yet.
  const auto& hooks = reference_hooks("planned");
  const Tensor all = counted({1000});
  bp::synchronize(device_);
  ASSERT_EQ(hooks.hold(0), BP_OK);
  constexpr int num_classes = 600;
  std::vector<Tensor> results;
  for (std::int64_t i = 0; i < num_classes; ++i)
    results.push_back(bp::neg(bp::slice(all, 0, 0, i + 1, 1)));
  EXPECT_EQ(witness_.num_released, 0);
  ASSERT_EQ(hooks.release(0), BP_OK);
  bp::synchronize(device_);
  for (std::int64_t i = 0; i < num_classes; i += 97)
    expect_negated(bp::slice(all, 0, 0, i + 1, 1), results[static_cast<std::size_t>(i)]);
  bp::synchronize(device_);
  EXPECT_EQ(witness_.num_asked, num_classes);
  EXPECT_GT(witness_.num_released, 0);
  const int released = witness_.num_released;
  // The last ones are still there; the first is asked for again.
  bp::neg(bp::slice(all, 0, 0, num_classes, 1));
  EXPECT_EQ(witness_.num_asked, num_classes);
  bp::neg(bp::slice(all, 0, 0, 1, 1));
  EXPECT_EQ(witness_.num_asked, num_classes + 1);
  bp::synchronize(device_);
  EXPECT_EQ(witness_.num_released, released + 1);
}

TEST_F(PlanTest, threads_that_come_at_once_share_one_plan) {
  witness_.milliseconds = 30;
  const Tensor a = counted({3, 5});
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) expect_negated(a, bp::neg(a));
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(witness_.num_asked, 1);
  EXPECT_EQ(witness_.num_planned_runs, 120);
}

TEST_F(PlanTest, threads_with_many_classes_get_their_own_plans) {
  const Tensor all = counted({600});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      const bp::StreamGuard guard{bp::Stream(device_)};
      for (std::int64_t i = 0; i < 400; ++i) {
        const Tensor part = bp::slice(all, 0, 0, (i * 7 + t) % 590 + 1, 1);
        const Tensor result = bp::neg(part);
        if (i % 50 == 0) expect_negated(part, result);
      }
      bp::Stream::current(device_).synchronize();
    });
  for (std::thread& thread : threads) thread.join();
}

TEST_F(PlanTest, a_recording_keeps_its_plan_and_its_workspace) {
  witness_.workspace = 16;
  const Tensor a = counted({12});
  bp::synchronize(device_);
  Tensor result;
  bp::Recording recording = bp::capture(device_, [&] { result = bp::neg(a); });
  EXPECT_EQ(witness_.num_asked, 1);
  EXPECT_EQ(witness_.num_planned_runs, 0);
  const Tensor all = counted({1000});
  for (std::int64_t i = 0; i < 600; ++i) bp::neg(bp::slice(all, 0, 0, i + 1, 1));
  const int asked = witness_.num_asked;
  for (int i = 0; i < 3; ++i) {
    bp::copy_into(a, given(std::vector<float>(12, static_cast<float>(i)), device_));
    recording.replay();
    const auto place = witness_.last_offset.load();
    EXPECT_EQ(witness_.last_bytes, 16u);
    expect_negated(a, result);
    recording.replay();
    EXPECT_EQ(witness_.last_offset, place);
  }
  EXPECT_EQ(witness_.num_asked, asked);
  bp::synchronize(device_);
}

TEST_F(PlanTest, plans_go_before_their_device_and_are_made_anew_with_it) {
  {
    const Tensor a = counted({5});
    bp::neg(a);
  }
  bp::synchronize(device_);
  bp::reset_device(device_);
  EXPECT_EQ(witness_.num_released, 1);
  const Tensor a = counted({5});
  expect_negated(a, bp::neg(a));
  EXPECT_EQ(witness_.num_asked, 2);
}

TEST_F(PlanTest, another_device_has_plans_of_its_own) {
  const Device second = backend_->devices[1]->device;
  const Tensor a = bp::test::counted({5}, second);
  bp::neg(counted({5}));
  expect_negated(a, bp::neg(a));
  EXPECT_EQ(witness_.num_asked, 2);
}

TEST_F(PlanTest, unloading_gives_all_plans_back) {
  bp::neg(counted({5}));
  bp::neg(counted({6}));
  bp::synchronize(device_);
  unload();
  EXPECT_EQ(witness_.num_made, 2);
  EXPECT_EQ(witness_.num_released, 2);
}

}  // namespace

// needs: cpu reference
// Memory that ends: on the device, on the host, and at the n-th allocation for every n of a training step.
#include <gtest/gtest.h>
#include <map>
#include <new>

#include "dispatcher/allocations.hpp"
#include "dispatcher/calls.hpp"
#include "dispatcher/reference_hooks.hpp"

namespace {

using namespace bp::test;
using bp::Tensor;

// Softmax regression with its gradient by hand.
struct Regression {
  static constexpr std::int64_t columns = 16, classes = 72;
  static constexpr std::int64_t enough_for_segments = 1 << 15;  // the scores get some of their own

  explicit Regression(bp::Device device, std::int64_t rows = enough_for_segments) {
    x = bp::full({rows, columns}, 0.01, bp::f32, device);
    one_hot = bp::full({rows, classes}, 0.025, bp::f32, device);
    weights = bp::full({columns, classes}, 0.5, bp::f32, device);
    bp::mul_(select(weights, 1, 0), 2);
  }
  // Changes the weights in its last call, or not at all.
  void step() {
    const Tensor error = sub(softmax(matmul(x, weights), 1), one_hot);
    const Tensor gradient = matmul(transpose(x, 0, 1), error);
    bp::sub_(weights, gradient, 1e-4);
  }
  Tensor x, one_hot, weights;
};

// A device's own memory with one allocation, and all after it, failing on demand.
struct Failing {
  explicit Failing(bp::Device device) : record(bp::device_record(device)) {
    bp::CustomAllocator custom;
    custom.context = this;
    custom.allocate = [](void* self, std::uint64_t bytes, std::uint64_t alignment, bp_handle* out) {
      Failing& failing = *static_cast<Failing*>(self);
      ++failing.count;
      if (failing.from != 0 && failing.count >= failing.from) {
        failing.failed = true;
        return bp_code{BP_OUT_OF_MEMORY};
      }
      return failing.record.memory->allocate(failing.record.handle, bytes, alignment, out);
    };
    custom.release = [](void* self, bp_handle handle) {
      Failing& failing = *static_cast<Failing*>(self);
      failing.record.memory->release(failing.record.handle, handle);
    };
    bp::set_custom_allocator(device, custom);
  }
  void fail_from(std::uint64_t n) {
    count = 0;
    from = n;
    failed = false;
  }
  bp::DeviceRecord& record;
  std::uint64_t count = 0, from = 0;
  bool failed = false;
};
// They live as long as the memory that they gave.
Failing& failing(bp::Device device) {
  static std::map<std::uint32_t, Failing*> all;
  Failing*& one = all[device.number];
  if (!one) one = new Failing(device);
  return *one;
}

class Oom : public testing::TestWithParam<const char*> {
 protected:
  ~Oom() override { expect_cpu_works(); }
  static bp::Device device_of(const std::string& name) {
    return name == "memonly" || name == "partial" ? test_device(name) : bp::device(name);
  }
  bp::Device device = device_of(GetParam()), host = bp::device("cpu");
};

// Runs the step with the n-th allocation of `where` failing, for every n, and looks at what is left.
void fail_everywhere(bp::Device device, bp::Device where) {
  Failing& allocator = failing(where);
  allocator.fail_from(0);
  bp::empty_cache(device);  // or what is left over by others serves the step
  bp::empty_cache(where);
  Regression regression(device);
  regression.step();
  bp::synchronize(device);
  const std::int64_t living = bp::num_live_storages(device);
  const std::int64_t on_host = bp::num_live_storages(bp::host_device());
  int failures = 0;
  for (std::uint64_t n = 1; n < 100; ++n) {
    SCOPED_TRACE(testing::Message() << "allocation " << n);
    const std::vector<float> before = values(regression.weights);
    bp::empty_cache(where);
    allocator.fail_from(n);
    const std::string error = error_of([&] { regression.step(); });
    const bool failed = allocator.failed;
    allocator.fail_from(0);
    bp::synchronize(device);
    if (error == "no error") {  // it came through, if need be with what the cache held
      EXPECT_NE(values(regression.weights), before);
      if (!failed) break;
      continue;
    }
    ++failures;
    EXPECT_NE(error.find("out of memory"), std::string::npos) << error;
    EXPECT_TRUE(failed);
    ASSERT_EQ(values(regression.weights), before);
    ASSERT_EQ(bp::num_live_storages(device), living);
    ASSERT_EQ(bp::num_live_storages(bp::host_device()), on_host);
    EXPECT_EQ(error_of([&] { regression.step(); }), "no error");
    EXPECT_NE(values(regression.weights), before);
  }
  EXPECT_GE(failures, 2);
}

TEST_P(Oom, at_every_allocation_of_the_device_a_step_fails_whole_and_the_next_works) {
  fail_everywhere(device, device);
}

TEST_P(Oom, at_every_allocation_of_the_host_as_well) {
  if (device == host) GTEST_SKIP() << "the same as above";
  fail_everywhere(device, host);
}

// Errors other than out of memory are not expected of a heap that has failed once; the same step must work at once.
TEST_P(Oom, at_every_allocation_from_the_heap_as_well) {
  Regression regression(device, 1 << 11);  // what the heap gives does not depend on it
  regression.step();
  bp::synchronize(device);
  const std::int64_t living = bp::num_live_storages(device);
  const std::int64_t on_host = bp::num_live_storages(host);
  for (std::uint64_t n = 1; n < 500; ++n) {
    SCOPED_TRACE(testing::Message() << "allocation " << n);
    const std::vector<float> before = values(regression.weights);
    bp::empty_cache(device);
    bool threw = false;
    fail_heap_allocation(n);
    try {
      regression.step();
    } catch (const bp::Error& error) {
      threw = true;
      EXPECT_EQ(error.error_class(), bp::ErrorClass::out_of_memory) << error.what();
    } catch (const std::bad_alloc&) {
      threw = true;
    }
    const bool failed = heap_allocation_failed();
    fail_heap_allocation(0);
    bp::synchronize(device);
    if (!failed) break;
    if (threw) {
      ASSERT_EQ(values(regression.weights), before);
    }
    ASSERT_EQ(bp::num_live_storages(device), living);
    ASSERT_EQ(bp::num_live_storages(host), on_host);
    EXPECT_EQ(error_of([&] { regression.step(); }), "no error");
  }
}

TEST_P(Oom, an_impossible_size_says_how_much_is_held) {
  const Tensor held = counted({1000}, device);
  const std::string error = error_of([&] { bp::empty_tensor({1ll << 45}, bp::f64, device); });
  EXPECT_NE(error.find("out of memory"), std::string::npos) << error;
  EXPECT_NE(error.find("256"), std::string::npos) << error;  // TiB
  EXPECT_EQ(class_of_error([&] { bp::empty_tensor({1ll << 45}, bp::f64, device); }),
            bp::ErrorClass::out_of_memory);
  EXPECT_EQ(class_of_error([&] {
              bp::empty_tensor({1ll << 40, 1ll << 40}, bp::f64, device);
            }),
            bp::ErrorClass::bad_argument);
  EXPECT_EQ(values(add(held, held))[999], 1998);
}

TEST_P(Oom, says_which_operator_asked) {
  const Tensor row = counted({1, 1 << 20}, device), column = counted({1 << 20, 1}, device);
  const std::string error = error_of([&] { add(row, column); });  // 4 TiB
  EXPECT_EQ(error.find("add: "), 0u)
      << error;  // then whose memory it is: the device's, or the host's
  EXPECT_NE(error.find("out of memory: asked 4.00 TiB"), std::string::npos) << error;
  EXPECT_EQ(values(add(row, row))[5], 10);
}

TEST_P(Oom, a_limit_of_the_application_is_kept) {
  Regression regression(device);
  bp::synchronize(device);
  bp::empty_cache(device);
  const std::uint64_t reserved = bp::memory_statistics(device).reserved_bytes;
  bp::set_memory_limit(device, reserved + (1 << 20));
  const std::vector<float> before = values(regression.weights);
  EXPECT_EQ(class_of_error([&] { regression.step(); }), bp::ErrorClass::out_of_memory);
  EXPECT_EQ(values(regression.weights), before);
  EXPECT_LE(bp::memory_statistics(device).reserved_bytes, reserved + (1 << 20));
  bp::set_memory_limit(device, 0);
  EXPECT_EQ(error_of([&] { regression.step(); }), "no error");
}

TEST_P(Oom, nothing_is_kept_when_all_is_dropped) {
  bp::synchronize(device);
  const bp::MemoryStatistics base = bp::memory_statistics(device);
  {
    Regression regression(device);
    regression.step();
  }
  bp::synchronize(device);
  bp::empty_cache(device);
  const bp::MemoryStatistics after = bp::memory_statistics(device);
  EXPECT_EQ(after.allocated_bytes, base.allocated_bytes);
  EXPECT_EQ(after.num_allocations - base.num_allocations, after.num_releases - base.num_releases);
  EXPECT_LE(after.reserved_bytes, base.reserved_bytes);
}

INSTANTIATE_TEST_SUITE_P(On, Oom, testing::Values("cpu", "memonly", "partial", "reference"),
                         [](const auto& device) { return std::string(device.param); });

TEST(OomOfTheDevice, says_what_the_device_says_and_recovers) {
  const bp::Device device = bp::device("reference");
  const bp_reference_hooks& hooks = reference_hooks();
  bp::synchronize(device);
  bp::empty_cache(device);
  std::uint64_t pending = 0, allocations = 0, bytes = 0;
  hooks.usage(0, &pending, &allocations, &bytes);
  hooks.set_limit(0, bytes + (4 << 20));
  const Tensor fits = counted({1000}, device);
  EXPECT_EQ(class_of_error([&] { bp::empty_tensor({16 << 20}, bp::f32, device); }),
            bp::ErrorClass::out_of_memory);
  EXPECT_EQ(values(fits)[999], 999);
  hooks.set_limit(0, 0);
  EXPECT_EQ(error_of([&] { bp::empty_tensor({16 << 20}, bp::f32, device); }), "no error");
}

TEST(OomOfTheDevice, the_cache_is_given_back_before_anything_fails) {
  const bp::Device device = bp::device("reference");
  const bp_reference_hooks& hooks = reference_hooks();
  bp::synchronize(device);
  bp::empty_cache(device);
  std::uint64_t pending = 0, allocations = 0, bytes = 0;
  hooks.usage(0, &pending, &allocations, &bytes);
  hooks.set_limit(0, bytes + (64 << 20));
  for (std::int64_t mib : {40, 50, 60})
    EXPECT_EQ(error_of([&] { bp::empty_tensor({mib << 18}, bp::f32, device); }), "no error");
  hooks.set_limit(0, 0);
}

}  // namespace

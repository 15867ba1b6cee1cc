// needs: cpu
// The fallback ladder, rung by rung, on the plugin `partial`: f32 kernels for contiguous tensors, few operators.
#include <cstring>
#include <gtest/gtest.h>
#include <numeric>
#include <thread>

#include <backplane/core_ops/generated/rows.hpp>
#include <backplane/dispatcher/policy.hpp>
#include <backplane/tensor/float_formats.hpp>

#include "dispatcher/calls.hpp"
#include "text/golden.hpp"

namespace {

using namespace bp::test;
using bp::Rung;

// A vendor's `copy` and `cast`, without which nothing can be legalized on a device. They are the application's
// kernels here, so that they can come after the first call.
char* address(const bp_tensor& tensor) {
  return static_cast<char*>(tensor.dl.data) + tensor.dl.byte_offset;
}

// Calls `f` with the address of each element in row-major order.
template <class F> void for_each_element(const bp_tensor& tensor, F&& f) {
  for (std::int64_t i = 0; i < tensor.numel; ++i) {
    std::int64_t rest = i, offset = 0;
    for (std::int32_t d = tensor.dl.ndim - 1; d >= 0; --d) {
      offset += rest % tensor.dl.shape[d] * tensor.dl.strides[d];
      rest /= tensor.dl.shape[d];
    }
    f(i, address(tensor) + offset * tensor.itemsize);
  }
}

void copy_on_partial(const bp::Call& call) {
  const bp_tensor& from = *call.args[0].u.tensor;
  const bp_tensor& to = call.results[0].impl()->abi;
  std::vector<char> bytes(static_cast<std::size_t>(from.numel) * from.itemsize);
  for_each_element(from, [&](std::int64_t i, char* at) {
    std::memcpy(bytes.data() + i * from.itemsize, at, from.itemsize);
  });
  for_each_element(to, [&](std::int64_t i, char* at) {
    std::memcpy(at, bytes.data() + i * to.itemsize, to.itemsize);
  });
}

double load(const bp_tensor& tensor, const char* at) {
  switch (tensor.dtype) {
    case BP_F16: {
      std::uint16_t bits;
      std::memcpy(&bits, at, 2);
      return bp::f16_to_float(bits);
    }
    case BP_F32: {
      float value;
      std::memcpy(&value, at, 4);
      return value;
    }
    case BP_I64: {
      std::int64_t value;
      std::memcpy(&value, at, 8);
      return static_cast<double>(value);  // loses bits: nobody may come this way
    }
    default: {
      double value;
      std::memcpy(&value, at, 8);
      return value;
    }
  }
}

void store(const bp_tensor& tensor, char* at, double value) {
  const auto put = [at](auto typed) { std::memcpy(at, &typed, sizeof typed); };
  switch (tensor.dtype) {
    case BP_F16: return put(bp::float_to_f16(static_cast<float>(value)));
    case BP_F32: return put(static_cast<float>(value));
    case BP_I64: return put(static_cast<std::int64_t>(value));
    default: return put(value);
  }
}

void cast_on_partial(const bp::Call& call) {
  const bp_tensor& from = *call.args[0].u.tensor;
  const bp_tensor& to = call.results[0].impl()->abi;
  std::vector<double> numbers(static_cast<std::size_t>(from.numel));
  for_each_element(from, [&](std::int64_t i, char* at) {
    numbers[static_cast<std::size_t>(i)] = load(from, at);
  });
  for_each_element(
      to, [&](std::int64_t i, char* at) { store(to, at, numbers[static_cast<std::size_t>(i)]); });
}

// An error as it reads where `partial` and the cpu alone are loaded; other tests of this process may have loaded more.
std::string of_these_two(std::string text) {
  constexpr std::string_view before = "backends with kernels for it: ";
  const std::size_t at = text.find(before);
  if (at == std::string::npos) return text;
  const std::size_t begin = at + before.size(), end = text.find(';', begin);
  const std::string all = ", " + text.substr(begin, end - begin) + ",";
  std::string kept;
  for (const std::string name : {"cpu", "partial"})
    if (all.find(", " + name + ",") != std::string::npos) kept += (kept.empty() ? "" : ", ") + name;
  return text.replace(begin, end - begin, kept);
}

constexpr bp::DtypeSet castable = bp::set_of(bp::f16, bp::f32, bp::f64, bp::i64);

// `partial` as its maker made it; unloaded at the end, and what a test registered for it goes with it.
class Ladder : public testing::Test {
 protected:
  ~Ladder() override {
    x = row = {};
    bp::unload_plugin(*backend_);
    expect_cpu_works();
  }

  void give_it_copy_and_cast() {
    bp::register_application_kernel(bp::ops::copy, *backend_, copy_on_partial, bp::dtypes::all,
                                    BP_LAYOUT_STRIDED);
    bp::register_application_kernel(bp::ops::cast, *backend_, cast_on_partial, castable,
                                    BP_LAYOUT_STRIDED);
  }

  bp::Backend* backend_ = &bp::load_plugin(test_plugin("partial"));
  bp::Device device = backend_->devices.front()->device;
  bp::Tensor x = counted({2, 3}, device), row = counted({3}, device);
};

TEST_F(Ladder, a_kernel_that_fits_is_native) {
  const Served served("add", "partial");
  EXPECT_EQ(values(add(x, x)), (std::vector<float>{0, 2, 4, 6, 8, 10}));
  bp::add_(x, x);
  EXPECT_EQ(served.since(), "native 2");
  EXPECT_EQ(values(x), (std::vector<float>{0, 2, 4, 6, 8, 10}));
}

// `partial` declares only add so.
TEST_F(Ladder, counts_calls_of_kernels_that_do_not_declare_to_repeat_their_bits) {
  const auto varying = [](const auto& call) {
    const std::uint64_t before = bp::varying_calls();
    call();
    return bp::varying_calls() - before;
  };
  EXPECT_EQ(varying([&] { add(x, x), bp::add_(x, x); }), 0u);
  EXPECT_EQ(varying([&] { mul(x, x), bp::mul_(x, x); }), 2u);
  EXPECT_EQ(varying([&] { bp::sum(x); }), 1u);
  EXPECT_EQ(varying([&] { neg(row); }), 1u) << "the first of two refuses it";
  EXPECT_EQ(varying([&] { bp::square(x); }), 1u) << "made of mul, which is counted inside";
  EXPECT_EQ(varying([&] { std::thread([&] { mul(x, x); }).join(); }), 1u);
}

TEST_F(Ladder, a_second_candidate_takes_what_the_first_refuses) {
  const Served served("neg", "partial");
  EXPECT_EQ(values(neg(x)), (std::vector<float>{-0.0f, -1, -2, -3, -4, -5}));
  EXPECT_EQ(values(neg(row)), (std::vector<float>{-0.0f, -1, -2}));
  EXPECT_EQ(served.since(), "native 2");
}

TEST_F(Ladder, a_kernel_that_says_unsupported_while_running_leaves_the_call_to_the_next) {
  static int asked;
  asked = 0;
  bp::register_application_kernel(
      bp::ops::exp, *backend_,
      [](const bp::Call&) {
        ++asked;
        bp::throw_error(bp::ErrorClass::unsupported, "not this one");
      },
      bp::set_of(bp::f32), BP_LAYOUT_CONTIGUOUS);
  const Served served("exp", "partial");
  EXPECT_NEAR(values(exp(row))[2], 7.389056f, 1e-5f);
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(served.since(), "native 1");
}

// The same from the short path, on which a kernel without conditions is called directly.
bp_code run_nothing(void* calls, const bp_call*) {
  ++*static_cast<int*>(calls);
  return BP_UNSUPPORTED;
}
TEST_F(Ladder, a_refusal_on_the_short_path_goes_on_as_well) {
  static int asked;
  asked = 0;
  static bp_arg args[4];
  for (int place : {0, 1, 3}) args[place].dtypes = bp::set_of(bp::f32);
  static bp_kernel kernel;
  kernel.h = {sizeof kernel, BP_TYPE_KERNEL, nullptr};
  kernel.op = "add";
  kernel.schema_hash = bp::schema_hash(bp::ops::add.schema_text);
  kernel.args = args;
  kernel.num_args = 4;
  kernel.flags = BP_KERNEL_DETERMINISTIC;
  kernel.priority = 7;
  kernel.self = &asked;
  kernel.run = run_nothing;
  const bp_kernel* offered = &kernel;
  bp::register_kernels(*backend_, &offered, 1);
  const Served served("add", "partial");
  EXPECT_EQ(values(add(row, row)), (std::vector<float>{0, 2, 4}));
  bp::add_(row, row);
  EXPECT_EQ(values(row), (std::vector<float>{0, 2, 4}));
  EXPECT_GE(asked, 2);
  EXPECT_EQ(served.since(), "native 2");
}

TEST_F(Ladder, without_copy_and_cast_on_the_device_nothing_is_legalized) {
  const Served served("mul", "partial");
  EXPECT_EQ(values(mul(transpose(x, 0, 1), transpose(x, 0, 1))),
            (std::vector<float>{0, 9, 1, 16, 4, 25}));
  EXPECT_EQ(served.since(), "host 1");
}

TEST_F(Ladder, a_layout_is_legalized) {
  give_it_copy_and_cast();
  const Served served("mul", "partial");
  const bp::Tensor turned = transpose(x, 0, 1);
  EXPECT_EQ(values(mul(turned, turned)), (std::vector<float>{0, 9, 1, 16, 4, 25}));
  EXPECT_EQ(values(mul(x, row)), (std::vector<float>{0, 1, 4, 0, 4, 10}));  // an expanded row
  EXPECT_EQ(served.since(), "legalized 2");
}

TEST_F(Ladder, a_number_is_legalized_into_a_tensor) {
  give_it_copy_and_cast();
  const Served served("mul", "partial");
  EXPECT_EQ(values(mul(row, 2.5)), (std::vector<float>{0, 2.5, 5}));
  EXPECT_EQ(served.since(), "legalized 1");
}

TEST_F(Ladder, half_precision_goes_up_to_f32_and_back) {
  give_it_copy_and_cast();
  const bp::Tensor a = empty_tensor({4}, bp::f16, device);
  const std::uint16_t halves[] = {0x3c00, 0x3c01, 0x0001,
                                  0x7bff};  // 1, its successor, the least, the largest
  copy_from_host_memory(a, halves);
  const bp::Tensor one = empty_tensor({4}, bp::f16, device);
  const std::uint16_t ones[] = {0x3c00, 0x3c00, 0x3c00, 0x3c00};
  copy_from_host_memory(one, ones);
  const Served served("mul", "partial");
  const bp::Tensor same = mul(a, one);
  EXPECT_EQ(served.since(), "legalized 1");
  EXPECT_EQ(same.dtype(), bp::f16);
  expect_same(same, a);
}

TEST_F(Ladder, integers_never_pass_through_floats) {
  give_it_copy_and_cast();
  bp::register_application_kernel(
      bp::ops::add, *backend_, [](const bp::Call&) { FAIL() << "an f64 kernel for integers"; },
      bp::set_of(bp::f64), BP_LAYOUT_STRIDED);
  const std::vector<std::int64_t> large = {(1ll << 53) + 1, -(1ll << 62) - 3};
  const bp::Tensor a = given<std::int64_t>(large, {2}, device);
  const Served served("add", "partial");
  EXPECT_EQ(values<std::int64_t>(add(a, a, -2)), (std::vector<std::int64_t>{-large[0], -large[1]}));
  EXPECT_EQ(served.since(), "host 1");
}

TEST_F(Ladder, softmax_is_decomposed_on_the_device) {
  give_it_copy_and_cast();
  const bp::PolicyScope nothing_on_the_host(Rung::host, bp::Policy::forbid);
  const Served served("softmax", "partial");
  const bp::Tensor p = softmax(x, 1);
  EXPECT_EQ(served.since(), "decomposed 1");
  EXPECT_EQ(p.device(), device);
  const std::vector<float> expected = values(softmax(to_device(x, bp::host_device()), 1));
  for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(values(p)[i], expected[i], 1e-6f);
}

TEST_F(Ladder, a_decomposition_that_would_need_the_host_goes_there_whole) {
  const Served softmaxes("softmax", "partial"), exps("exp", "partial");
  const bp::Tensor p = softmax(x, 1);  // its `sub` gets an expanded column, and nothing here copies
  EXPECT_EQ(softmaxes.since(), "host 1");
  expect_same(p, softmax(to_device(x, bp::host_device()), 1));
  EXPECT_EQ(exps.since(), "not at all");
}

TEST_F(Ladder, what_a_fallback_calls_inside_is_not_counted) {
  give_it_copy_and_cast();
  const Served subs("sub", "partial"), copies("copy", "partial"), on_cpu("cat", "cpu");
  softmax(x, 1);
  bp::cat({x, x});
  EXPECT_EQ(subs.since(), "not at all");
  EXPECT_EQ(copies.since(), "not at all");
  EXPECT_EQ(on_cpu.since(), "not at all");
}

TEST_F(Ladder, what_it_lacks_runs_on_the_host_and_lands_on_the_device) {
  const Served served("cat", "partial");
  const bp::Tensor both = bp::cat({x, x});
  EXPECT_EQ(both.device(), device);
  EXPECT_EQ(to_string(both.shape()), "[4, 3]");
  EXPECT_EQ(values(both)[9], 3);
  EXPECT_EQ(served.since(), "host 1");
}

TEST_F(Ladder, views_are_metadata_on_any_device) {
  const Served served("transpose", "partial");
  const bp::Tensor turned = transpose(x, 0, 1);
  EXPECT_TRUE(turned.shares_storage(x));
  EXPECT_EQ(served.since(), "view 1");
}

TEST_F(Ladder, the_host_writes_into_strided_targets_and_leaves_the_rest) {
  const Served served("tanh", "partial");
  const bp::Tensor column = select(x, 1, 1);  // 1, 4
  bp::tanh_(column);
  EXPECT_EQ(served.since(), "host 1");
  const std::vector<float> after = values(x);
  EXPECT_EQ(after[0], 0);
  EXPECT_NEAR(after[1], 0.7615942f, 1e-6f);
  EXPECT_EQ(after[2], 2);
  EXPECT_EQ(after[3], 3);
  EXPECT_NEAR(after[4], 0.9993293f, 1e-6f);
  EXPECT_EQ(after[5], 5);
}

TEST_F(Ladder, the_host_writes_into_given_outputs) {
  const bp::Tensor out = empty_tensor({3, 2}, bp::f32, device);
  bp::sqrt_out(transpose(out, 0, 1), mul(x, x));
  EXPECT_EQ(values(out), (std::vector<float>{0, 3, 1, 4, 2, 5}));
  bp::softmax_out(out, bp::ones({3, 2}, bp::f32, device), 0);
  EXPECT_NEAR(values(out)[5], 1.0f / 3, 1e-6f);
}

TEST_F(Ladder, a_kernel_of_the_device_writes_into_strided_targets_through_a_temporary) {
  give_it_copy_and_cast();
  const bp::PolicyScope nothing_on_the_host(Rung::host, bp::Policy::forbid);
  const bp::Tensor out = bp::to_device(bp::zeros({3, 2}), device);
  bp::mul_out(select(out, 1, 1), row, row);
  EXPECT_EQ(values(out), (std::vector<float>{0, 0, 0, 1, 0, 4}));
}

TEST_F(Ladder, a_kernel_registered_after_the_first_call_serves_the_next) {
  const Served served("tanh", "partial");
  bp::tanh(row);
  bp::register_application_kernel(
      bp::ops::tanh, *backend_,
      [](const bp::Call& call) {
        for_each_element(call.results[0].impl()->abi, [&](std::int64_t, char* at) {
          store(call.results[0].impl()->abi, at, 7);
        });
      },
      bp::set_of(bp::f32), BP_LAYOUT_CONTIGUOUS);
  EXPECT_EQ(values(bp::tanh(row)), (std::vector<float>{7, 7, 7}));
  EXPECT_EQ(served.since(), "native 1, host 1");
}

TEST_F(Ladder, an_error_of_a_kernel_ends_the_call_and_nothing_else) {
  static bool broken;
  broken = true;
  bp::register_application_kernel(
      bp::ops::cos, *backend_,
      [](const bp::Call& call) {
        if (broken) bp::throw_error(bp::ErrorClass::internal, "the table of cosines is gone");
        call.results[0].impl();
      },
      bp::set_of(bp::f32), BP_LAYOUT_CONTIGUOUS);
  const std::int64_t living = bp::num_live_storages(device);
  EXPECT_EQ(error_of([&] { bp::cos(row); }),
            "cos: the table of cosines is gone (plugin partial, device partial:0)");
  broken = false;
  EXPECT_EQ(error_of([&] { bp::cos(row); }), "no error");
  EXPECT_EQ(bp::num_live_storages(device), living);
}

// ---- Policies ----

TEST_F(Ladder, a_forbidden_rung_is_skipped_and_then_named) {
  bp::set_policy(device, Rung::host, bp::Policy::forbid);
  const Served served("cat", "partial");
  std::string text = of_these_two(error_of([&] { bp::cat({x, x}); })) + "\n";
  bp::set_policy(device, Rung::legalized, bp::Policy::forbid);
  text += of_these_two(error_of([&] { mul(transpose(x, 0, 1), 2.0); })) + "\n";
  EXPECT_EQ(served.since(), "none 1");
  EXPECT_EQ(class_of_error([&] { bp::cat({x, x}); }), bp::ErrorClass::unsupported);
  bp::set_policy(device, Rung::host, bp::Policy::allow);
  bp::set_policy(device, Rung::legalized, bp::Policy::allow);
  EXPECT_EQ(to_string(bp::cat({x, x}).shape()), "[4, 3]");
  text += error_of([&] { bp::set_policy(device, Rung::native, bp::Policy::forbid); }) + "\n";
  bp::test::expect_golden("ladder_errors.txt", text);
}

TEST_F(Ladder, a_policy_is_one_devices) {
  const bp::Device other = test_device("memonly");
  bp::set_policy(device, Rung::host, bp::Policy::forbid);
  EXPECT_EQ(bp::policy(device, Rung::host), bp::Policy::forbid);
  EXPECT_EQ(bp::policy(other, Rung::host), bp::Policy::allow);
  EXPECT_EQ(values(add(counted({2}, other), counted({2}, other))), (std::vector<float>{0, 2}));
  bp::set_policy(device, Rung::host, bp::Policy::allow);
}

TEST_F(Ladder, a_policy_does_not_outlive_its_device) {
  bp::set_policy(device, Rung::host, bp::Policy::forbid);
  x = row = {};
  bp::unload_plugin(*backend_);
  backend_ = &bp::load_plugin(test_plugin("partial"));
  device = backend_->devices.front()->device;
  EXPECT_EQ(bp::policy(device, Rung::host), bp::Policy::allow);
}

TEST_F(Ladder, a_warning_comes_once) {
  bp::set_policy(device, Rung::host, bp::Policy::warn_once);
  testing::internal::CaptureStderr();
  bp::tanh(row);
  bp::tanh(row);
  bp::sin(row);
  EXPECT_EQ(
      testing::internal::GetCapturedStderr(),
      "backplane: warning: tanh: no kernel of partial:0 takes this call as it is; it ran host "
      "(further calls are not reported; 'backplane fallbacks' counts them)\n");
  bp::set_policy(device, Rung::host, bp::Policy::allow);
}

TEST_F(Ladder, a_scope_holds_for_its_thread_while_it_lives) {
  {
    const bp::PolicyScope outer(Rung::host, bp::Policy::forbid);
    {
      const bp::PolicyScope inner(Rung::host, bp::Policy::allow);
      EXPECT_EQ(error_of([&] { bp::tanh(row); }), "no error");
    }
    EXPECT_NE(error_of([&] { bp::tanh(row); }).find("forbidden by policy: host"),
              std::string::npos);
    std::thread([&] { EXPECT_EQ(error_of([&] { bp::tanh(row); }), "no error"); }).join();
  }
  EXPECT_EQ(error_of([&] { bp::tanh(row); }), "no error");
}

TEST_F(Ladder, the_counts_are_printed_as_a_table) {
  bp::reset_call_counts();
  bp::add(row, row);
  bp::cat({x, x});
  bp::view(x, {6});
  const std::string table = bp::format_call_counts();
  EXPECT_EQ(
      table.substr(0, table.find('\n')),
      "operator         backend          native  legalized  generated decomposed       host     "
      "  view       none");
  EXPECT_NE(table.find("add              partial               1          0          0          0"),
            std::string::npos)
      << table;
  EXPECT_NE(
      table.find(
          "cat              partial               0          0          0          0          1"),
      std::string::npos)
      << table;
}

}  // namespace

// needs: cpu reference
// Several devices in one process, and processes in which one of them, or every one, is missing.
#include <gtest/gtest.h>

#include "dispatcher/calls.hpp"
#include "dispatcher/child.hpp"

namespace {

using namespace bp::test;
using bp::Tensor;

// ---- Together ----

TEST(Devices, two_in_one_call_are_an_error_that_names_both) {
  const Tensor here = counted({2}), there = counted({2}, bp::device("reference"));
  EXPECT_EQ(error_of([&] { add(here, there); }),
            "add: 'input' is on cpu:0 and 'other' is on reference:0; move one with to()");
  EXPECT_EQ(error_of([&] { bp::add_(there, here); }),
            "add_: 'input' is on reference:0 and 'other' is on cpu:0; move one with to()");
  EXPECT_EQ(error_of([&] {
              bp::cat({here, there});
            }),
            "cat: 'tensors' is on cpu:0 and 'tensors' is on reference:0; move one with to()");
  EXPECT_EQ(values(there), values(here));
  expect_same(add(here, to(there, bp::device("cpu"))), add(here, here));
}

TEST(Devices, a_number_in_a_tensor_of_the_host_is_no_exception) {
  const Tensor there = counted({2}, bp::device("reference"));
  EXPECT_EQ(error_of([&] { mul(there, counted({})); }),
            "mul: 'input' is on reference:0 and 'other' is on cpu:0; move one with to()");
  EXPECT_EQ(values(mul(there, 3)), (std::vector<float>{0, 3}));
}

TEST(Devices, copies_go_between_any_two) {
  const std::vector<bp::Device> all = {bp::device("cpu"), bp::device("reference"),
                                       test_device("memonly"), test_device("partial")};
  const Tensor original = counted({3, 4});
  for (bp::Device from : all) {
    for (bp::Device target : all) {
      const Tensor moved = to(to(original, from), target);
      EXPECT_EQ(moved.device(), target);
      expect_same(moved, original);
      expect_same(to(transpose(to(original, from), 0, 1), target), transpose(original, 0, 1));
    }
  }
}

TEST(Devices, to_the_same_one_is_the_tensor_itself) {
  const Tensor a = counted({2});
  EXPECT_TRUE(to(a, a.device()).is_same(a));
}

TEST(Devices, meta_has_shapes_and_no_values) {
  const Tensor a = empty_tensor({2, 3}, bp::f32, bp::meta_device);
  const Tensor b = bp::matmul(a, transpose(a, 0, 1));
  EXPECT_EQ(to_string(b.shape()), "[2, 2]");
  EXPECT_EQ(b.device(), bp::meta_device);
  EXPECT_EQ(sum(gt(a, 0)).dtype(), bp::i64);
  EXPECT_EQ(to_string(softmax(add(a, a), 1).shape()), "[2, 3]");
  EXPECT_EQ(to_string(to(counted({5}), bp::meta_device).shape()), "[5]");
  EXPECT_NE(error_of([&] { to(a, bp::device("cpu")); }).find("a meta tensor has no values"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              add(a, counted({2, 3}));
            }).find("'input' is on meta and 'other' is on cpu:0"),
            std::string::npos);
  EXPECT_NE(error_of([&] { values(a); }), "no error");
  EXPECT_NE(error_of([&] { nonzero(a); }), "no error");  // its shape depends on data
  expect_cpu_works();
}

TEST(Devices, an_unknown_one_is_an_error_with_those_that_exist) {
  bp::device("cpu");
  bp::device("reference");
  const std::string error = error_of([] { bp::device("acme:3"); });
  EXPECT_EQ(error.rfind("there is no device 'acme:3'; devices in use: ", 0), 0u) << error;
  EXPECT_NE(error.find("cpu:0"), std::string::npos) << error;
  EXPECT_NE(error.find("reference:0"), std::string::npos) << error;
  EXPECT_NE(error_of([] { bp::device("cpu:99"); }), "no error");
  EXPECT_NE(error_of([] { bp::device(""); }), "no error");
  expect_cpu_works();
}

TEST(Devices, the_default_one_is_the_guards) {
  {
    const bp::DeviceGuard guard(bp::device("reference"));
    EXPECT_EQ(bp::zeros({2}).device(), bp::device("reference"));
  }
  EXPECT_EQ(bp::zeros({2}).device(), bp::device("cpu"));
}

// ---- Alone ----

// A place like an installed one, with libbackplane and some of its plugins.
class Installation {
 public:
  explicit Installation(const std::vector<std::string>& plugins) {
    namespace fs = std::filesystem;
    fs::create_directories(lib() / "backplane");
    fs::create_directories(folder_.path() / "bin");
    const fs::path built = BP_BUILD_LIB_DIR;
    fs::copy_file(built / "libbackplane.so", lib() / "libbackplane.so.1");
    fs::copy_file(BP_BUILD_BIN_DIR "/backplane-probe", folder_.path() / "bin/backplane-probe");
    for (const std::string& name : plugins)
      for (const std::string& file : {"libbackplane_" + name + ".so", name + ".json"})
        fs::copy_file(fs::path(BP_PLUGIN_DIR) / file, lib() / "backplane" / file);
  }
  std::vector<std::string> environment() const {
    return {"LD_LIBRARY_PATH=" + lib().string(),
            "BACKPLANE_PLUGIN_PATH=", "XDG_DATA_HOME=" + folder_.path().string()};
  }

 private:
  std::filesystem::path lib() const { return folder_.path() / "lib"; }
  TemporaryFolder folder_;
};

TEST(Alone, DISABLED_without_cpu) {
  const bp::Device device = bp::device("reference");
  EXPECT_NE(error_of([] { bp::device("cpu"); }).find("there is no device 'cpu'"),
            std::string::npos);
  const float numbers[] = {0, 1, 2, 3, 4, 5};
  const Tensor a = empty_tensor({2, 3}, bp::f32, device), b = empty_tensor({2, 3}, bp::f32, device);
  copy_from_host_memory(a, numbers);
  copy_into(b, a);
  EXPECT_EQ(values(b), (std::vector<float>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(to_string(transpose(a, 0, 1).strides()), "[1, 3]");
  EXPECT_EQ(values(select(view(b, {3, 2}), 0, 2)), (std::vector<float>{4, 5}));
  EXPECT_EQ(to_string(add(to(a, bp::meta_device), 1).shape()), "[2, 3]");
  EXPECT_EQ(
      error_of([&] { add(a, b); }),
      "add: reference:0 has no kernel for add in float32; backends with kernels for it: none; the "
      "host cannot take it either, since no plugin offers the device 'cpu'; put the cpu plugin "
      "where plugins are found ('backplane doctor' shows the places)");
  EXPECT_EQ(class_of_error([&] { softmax(a, 1); }), bp::ErrorClass::unsupported);
  EXPECT_NE(error_of([] { bp::default_device(); }).find("no plugin offers the host's device 'cpu'"),
            std::string::npos);
  copy_into(b, a);  // still
  EXPECT_EQ(values(b)[5], 5);
}
TEST(Alone, without_cpu_reference_copies_makes_views_and_says_what_is_missing) {
  expect_passes("Alone.DISABLED_without_cpu", Installation({"reference"}).environment());
}

TEST(Alone, DISABLED_without_reference) {
  expect_cpu_works();
  EXPECT_NE(error_of([] { bp::device("reference"); }).find("devices in use: cpu:0"),
            std::string::npos);
  expect_cpu_works();
}
TEST(Alone, without_reference_cpu_is_unaffected) {
  expect_passes("Alone.DISABLED_without_reference", Installation({"cpu"}).environment());
}

TEST(Alone, DISABLED_without_any) {
  EXPECT_TRUE(bp::registered_devices().empty());
  EXPECT_EQ(error_of([] { bp::zeros({2}); }),
            "zeros: no plugin offers the host's device 'cpu'; devices in use: none; 'backplane "
            "doctor' shows "
            "where plugins are looked for");
  EXPECT_EQ(
      error_of([] { bp::device("cpu"); }),
      "there is no device 'cpu'; devices in use: none; 'backplane doctor' shows where plugins are "
      "looked for");
  EXPECT_EQ(to_string(bp::zeros({2}, bp::f32, bp::meta_device).shape()), "[2]");
}
TEST(Alone, without_any_plugin_it_loads_and_says_that_no_device_exists) {
  expect_passes("Alone.DISABLED_without_any", Installation({}).environment());
}

}  // namespace

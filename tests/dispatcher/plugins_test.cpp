// needs: cpu
// Plugins and their operators coming, going and coming back while the process runs.
#include <filesystem>
#include <gtest/gtest.h>
#include <optional>

#include "dispatcher/calls.hpp"
#include "plugins/adder/adder.hpp"
#include "tools/run_program.hpp"

namespace {

using namespace bp::test;
using bp::Tensor;

class Plugins : public testing::Test {
 protected:
  ~Plugins() override { expect_cpu_works(); }
  static bp::Device first(const bp::Backend& backend) { return backend.devices.front()->device; }
};

// ---- Names ----

TEST_F(Plugins, the_same_file_twice_is_the_same_backend) {
  bp::Backend& backend = bp::load_plugin(test_plugin("memonly"));
  EXPECT_EQ(&bp::load_plugin(test_plugin("memonly")), &backend);
  EXPECT_EQ(&bp::load_plugin(BP_TEST_PLUGIN_DIR "/../test_plugins/libbackplane_memonly.so"),
            &backend);
  bp::unload_plugin(backend);
}

TEST_F(Plugins, a_second_one_of_the_same_name_gets_its_makers_name_in_front) {
  const TemporaryFolder folder;
  const std::filesystem::path copy = folder.path() / "libother.so";
  std::filesystem::copy_file(test_plugin("memonly"), copy);
  bp::Backend& one = bp::load_plugin(test_plugin("memonly"));
  bp::Backend& two = bp::load_plugin(copy.string());
  EXPECT_NE(&one, &two);
  EXPECT_EQ(one.name, "memonly");
  EXPECT_EQ(two.name, "Backplane tests:memonly");
  EXPECT_EQ(device_name(first(two)), "Backplane tests:memonly:0");
  EXPECT_EQ(bp::device("Backplane tests:memonly:0"), first(two));
  EXPECT_EQ(bp::device("memonly"), first(one));
  EXPECT_EQ(error_of([&] { add(counted({2}, first(one)), counted({2}, first(two))); }),
            "add: 'input' is on memonly:0 and 'other' is on Backplane tests:memonly:0; move one "
            "with to()");
  EXPECT_EQ(values(add(counted({2}, first(two)), 1)), (std::vector<float>{1, 2}));
  bp::unload_plugin(one);
  EXPECT_EQ(values(add(counted({2}, first(two)), 1)), (std::vector<float>{1, 2}));
  bp::unload_plugin(two);
}

TEST_F(Plugins, a_missing_file_is_a_sentence) {
  EXPECT_EQ(
      error_of([] { bp::load_plugin("/nowhere/libacme.so"); }),
      "/nowhere/libacme.so: there is no such file; give the path of a plugin's shared library");
}

// ---- Without devices ----

TEST_F(Plugins, one_without_devices_is_loaded_for_what_it_offers) {
  setenv("BACKPLANE_PLUGIN_PATH", BP_TEST_PLUGIN_DIR "/adder.json", 1);
  EXPECT_TRUE(bp::backends_offering("acme.third").empty());
  EXPECT_EQ(bp::find_backend("adder"), nullptr) << "its manifest does not name that";
  const std::vector<bp::Backend*> found = bp::backends_offering(ACME_ADDER);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0]->name, "adder");
  EXPECT_TRUE(found[0]->devices.empty());
  const bp_header* table = bp::extension_of(*found[0], ACME_ADDER);
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(reinterpret_cast<const acme_adder*>(table)->add(2, 3), 5);
  EXPECT_TRUE(bp::backends_offering(ACME_ADDER, 2).empty()) << "it has version 1";
  EXPECT_EQ(bp::extension_of(*found[0], "acme.second"), nullptr) << "promised alone";
  EXPECT_NE(error_of([] { bp::device("adder"); }).find("there is no device 'adder'"),
            std::string::npos);
  bp::unload_plugin(*found[0]);
  EXPECT_EQ(bp::find_backend("adder"), nullptr);
  unsetenv("BACKPLANE_PLUGIN_PATH");
}

// ---- Going ----

TEST_F(Plugins, unloading_while_tensors_live_says_what_lives) {
  bp::Backend& backend = bp::load_plugin(test_plugin("memonly"));
  Tensor a = counted({3}, first(backend));
  Tensor view_of_it = slice(a, 0, 1), b = counted({1000000}, first(backend));
  EXPECT_EQ(class_of_error([&] { bp::unload_plugin(backend); }), bp::ErrorClass::retry);
  EXPECT_EQ(error_of([&] { bp::unload_plugin(backend); }),
            "unload_plugin: memonly cannot be unloaded; in use: 2 tensors' storages of memonly:0; "
            "drop them first");
  EXPECT_EQ(values(add(a, a)), (std::vector<float>{0, 2, 4}));  // nothing has changed
  a = b = {};
  EXPECT_EQ(error_of([&] { bp::unload_plugin(backend); }),
            "unload_plugin: memonly cannot be unloaded; in use: 1 tensor's storage of memonly:0; "
            "drop them first");
  view_of_it = {};
  const bp::Device gone = first(backend);
  bp::unload_plugin(backend);
  EXPECT_EQ(bp::find_backend("memonly"), nullptr);
  EXPECT_NE(
      error_of([&] { bp::empty_tensor({1}, bp::f32, gone); }).find("there is no device number"),
      std::string::npos);
}

TEST_F(Plugins, a_hundred_times_in_and_out) {
  bp::unload_plugin(bp::load_plugin(test_plugin("partial")));
  const std::size_t before = bp::registered_devices().size();
  for (int i = 0; i < 100; ++i) {
    bp::Backend& backend = bp::load_plugin(test_plugin("partial"));
    const Tensor a = counted({2}, first(backend));
    ASSERT_EQ(values(add(a, a)), (std::vector<float>{0, 2}));
    ASSERT_EQ(values(bp::tanh(a))[0], 0);
    const_cast<Tensor&>(a) = {};
    bp::unload_plugin(backend);
    ASSERT_EQ(bp::registered_devices().size(), before);
  }
}

TEST_F(Plugins, kernels_go_with_their_backend) {
  bp::Backend* backend = &bp::load_plugin(test_plugin("partial"));
  const Served native("add", "partial");
  add(counted({2}, first(*backend)), 1);
  bp::unload_plugin(*backend);
  bp::Backend& other = bp::load_plugin(test_plugin("memonly"));  // may get the number of the former
  const Served served("add", "memonly");
  add(counted({2}, first(other)), counted({2}, first(other)));
  EXPECT_EQ(served.since(), "host 1");
  bp::unload_plugin(other);
}

TEST_F(Plugins, unloading_what_is_no_plugins_is_an_error) {
  bp::Backend stranger;
  EXPECT_EQ(error_of([&] { bp::unload_plugin(stranger); }),
            "unload_plugin: the backend did not come from a plugin");
}

// ---- Operators of their own ----

TEST_F(Plugins, an_operator_of_a_plugin_is_called_by_name) {
  bp::Backend& c11 = bp::load_plugin(test_plugin("c11"));
  {
    const Tensor a = counted({3}, first(c11));
    const Tensor scaled = bp::call_boxed("c11::scale", {bp::value_of(a), bp::value_of(2.5)})[0];
    EXPECT_EQ(values(scaled), (std::vector<float>{0, 2.5, 5}));
    EXPECT_EQ(scaled.device(), a.device());
    EXPECT_EQ(error_of([&] {
                bp::call_boxed("c11::scale", {bp::value_of(cast(a, bp::f64)), bp::value_of(2.5)});
              }),
              "c11::scale: c11::scale: `a` must be f32 (shape rule of c11)");
    EXPECT_EQ(values(add(a, a, 2)), (std::vector<float>{0, 3, 6}));
  }
  bp::unload_plugin(c11);
}

TEST_F(Plugins, its_operator_waits_for_it_to_come_back) {
  bp::Backend* partial = &bp::load_plugin(test_plugin("partial"));
  const auto square_of_three = [&] {
    const Tensor a = bp::to_device(given({3}), first(*partial));
    return values(bp::call_boxed("partial::square", {bp::value_of(a)})[0])[0];
  };
  EXPECT_EQ(square_of_three(), 9);
  bp::unload_plugin(*partial);
  const Tensor here = given({3});
  const std::string error =
      error_of([&] { bp::call_boxed("partial::square", {bp::value_of(here)}); });
  EXPECT_NE(error.find("partial"), std::string::npos) << error;
  EXPECT_NE(error, "no error");
  partial = &bp::load_plugin(test_plugin("partial"));
  EXPECT_EQ(square_of_three(), 9);
  {
    const Tensor grad = bp::to_device(given({1}), first(*partial)),
                 a = bp::to_device(given({3}), first(*partial));
    EXPECT_EQ(values(bp::call_boxed("partial::square_backward",
                                    {bp::value_of(grad), bp::value_of(a)})[0])[0],
              6);
  }
  bp::unload_plugin(*partial);
}

TEST_F(Plugins, its_operator_on_another_device_is_an_error_that_names_the_maker) {
  bp::Backend& c11 = bp::load_plugin(test_plugin("c11"));
  const std::string error = error_of([] {
    bp::call_boxed("c11::scale", {bp::value_of(given({1})), bp::value_of(2.5)});
  });
  EXPECT_NE(error.find("cpu:0 has no kernel for c11::scale"), std::string::npos) << error;
  EXPECT_NE(error.find("backends with kernels for it: c11"), std::string::npos) << error;
  bp::unload_plugin(c11);
}

TEST_F(Plugins, an_operator_registered_after_the_first_call_is_there_for_the_next) {
  expect_cpu_works();
  EXPECT_NE(error_of([] { bp::call_boxed("late::three_times", {}); }), "no error");
  bp::register_custom_operator("late::three_times(Tensor input) -> Tensor",
                               {nullptr, [](const bp::Call& call) {
                                  const Tensor a =
                                      Tensor::share(bp::TensorImpl::of(call.args[0].u.tensor));
                                  call.results[0] = mul(a, 3);
                                }});
  EXPECT_EQ(values(bp::call_boxed("late::three_times", {bp::value_of(given({2}))})[0])[0], 6);
}

}  // namespace

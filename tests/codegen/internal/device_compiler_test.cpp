#include "device/device_compiler.hpp"

#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <backplane/tensor/error.hpp>

#include "tools/run_program.hpp"

namespace {

using bp::codegen::DeviceCompiler;
using bp::codegen::FunctionTable;
using bp::codegen::KernelText;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

// A device whose compiler notes what it is asked.
struct Fake {
  const char* languages = "c11";
  const char* identity = "fake 1.0";
  bp_code compiled = BP_OK, found = BP_OK;
  std::string language, code;
  int compilations = 0, modules = 0;
};
Fake fake;

bp_function* some_function() {
  return reinterpret_cast<bp_function*>(&fake.compilations);
}

bp_compiler fake_api() {
  bp_compiler api{};
  api.h = {sizeof api, BP_TYPE_EXTENSION, nullptr};
  api.describe = [](bp_device*, bp_compiler_info* info) {
    info->languages = fake.languages;
    info->identity = fake.identity;
    return bp_code{BP_OK};
  };
  api.compile = [](bp_device*, const bp_source* source, bp_module** out) {
    fake.language = source->language;
    fake.code.assign(static_cast<const char*>(source->code), source->bytes);
    ++fake.compilations;
    if (fake.compiled == BP_OK) ++fake.modules;
    *out = fake.compiled == BP_OK ? reinterpret_cast<bp_module*>(&fake) : nullptr;
    return fake.compiled;
  };
  api.release = [](bp_device*, bp_module*) { --fake.modules; };
  api.find = [](bp_device*, bp_module*, const char*, bp_function** out) {
    *out = fake.found == BP_OK ? some_function() : nullptr;
    return fake.found;
  };
  return api;
}

KernelText kernel(const std::string& name) {
  KernelText text;
  text.name = name;
  text.num_memory = 1;
  return text;
}

class OnFakeDevice : public testing::Test {
 protected:
  OnFakeDevice() {
    fake = {};
    record.name = "fake:0";
  }
  template <class Call> static std::string error_of(Call call) {
    try {
      call();
    } catch (const bp::Error& error) {
      return error.what();
    }
    return "no error";
  }
  std::string build_error() {
    return error_of([&] { DeviceCompiler(record, fake_api()).build(kernel("k")); });
  }

  bp::DeviceRecord record;
};

TEST_F(OnFakeDevice, speaks_the_first_language_that_it_knows) {
  fake.languages = "triton spirv cuda-c++ c11";
  DeviceCompiler compiler(record, fake_api());
  EXPECT_EQ(compiler.build(kernel("k")), some_function());
  EXPECT_EQ(fake.language, "cuda-c++");
  ASSERT_EQ(compiler.sources().size(), 1u);
  EXPECT_EQ(compiler.sources()[0].language, "cuda-c++");
}

TEST_F(OnFakeDevice, translates_for_a_device_that_takes_spirv_alone) {
  fake.languages = "spirv";
  DeviceCompiler compiler(record, fake_api());
  const std::string error = error_of([&] { compiler.build(kernel("k")); });
  if (error.find("is not in PATH") != std::string::npos) GTEST_SKIP() << error;
  EXPECT_EQ(fake.language, "spirv");
  ASSERT_GT(fake.code.size(), 4u) << error;
  std::uint32_t magic;
  std::memcpy(&magic, fake.code.data(), sizeof magic);
  EXPECT_EQ(magic, 0x07230203u);
}

TEST_F(OnFakeDevice, refuses_a_device_that_speaks_nothing_it_knows) {
  fake.languages = "triton c111";
  EXPECT_EQ(build_error(),
            "fake:0: its compiler takes 'triton c111', and kernels are written in opencl-c, "
            "cuda-c++, c11 and spirv");
  fake.languages = nullptr;
  EXPECT_EQ(build_error(), "fake:0: its compiler names no language or no identity");
}

TEST_F(OnFakeDevice, builds_a_text_once_and_releases_it_at_the_end) {
  {
    DeviceCompiler compiler(record, fake_api());
    compiler.build(kernel("a"));
    compiler.build(kernel("b"));
    compiler.build(kernel("a"));
    EXPECT_EQ(fake.compilations, 2);
    EXPECT_EQ(fake.modules, 2);
  }
  EXPECT_EQ(fake.modules, 0);
  EXPECT_EQ(record.live_builds, 0);
}

TEST_F(OnFakeDevice, an_error_that_passes_is_of_the_plugins_class_and_the_next_call_tries_again) {
  fake.compiled = BP_OUT_OF_MEMORY;
  DeviceCompiler compiler(record, fake_api());
  try {
    compiler.build(kernel("k"));
    ADD_FAILURE() << "no error";
  } catch (const bp::Error& error) {
    EXPECT_EQ(error.error_class(), bp::ErrorClass::out_of_memory);
    EXPECT_STREQ(error.what(), "k: it does not compile: no log");
  }
  fake.compiled = BP_OK;
  EXPECT_EQ(compiler.build(kernel("k")), some_function());
}

TEST_F(OnFakeDevice, a_text_that_does_not_compile_is_not_compiled_again) {
  fake.compiled = BP_INTERNAL;
  {
    DeviceCompiler compiler(record, fake_api());
    for (int i = 0; i < 3; ++i) {
      const std::string error = error_of([&] { compiler.build(kernel("k")); });
      EXPECT_EQ(error, "k: it does not compile: no log");
    }
    EXPECT_EQ(fake.compilations, 1);
  }
  fake.compiled = BP_OK;
  DeviceCompiler another(record, fake_api());
  EXPECT_EQ(another.build(kernel("k")), some_function()) << "forgotten with the device";
}

TEST_F(OnFakeDevice, a_module_without_its_kernel_is_an_error_and_goes) {
  fake.found = BP_BAD_ARGUMENT;
  EXPECT_THAT(build_error(), StartsWith("k: "));
  EXPECT_EQ(fake.modules, 0);
}

TEST(FunctionTable, finds_what_was_added_among_many) {
  FunctionTable table;
  std::vector<int> places(1000);
  const auto function = [&](std::size_t i) { return reinterpret_cast<bp_function*>(&places[i]); };
  for (std::size_t i = 0; i < places.size(); ++i) {
    EXPECT_EQ(table.find(i * i), nullptr);
    EXPECT_EQ(table.add(i * i, function(i)), function(i));
  }
  for (int round = 0; round < 2; ++round)
    for (std::size_t i = 0; i < places.size(); ++i) EXPECT_EQ(table.find(i * i), function(i));
  EXPECT_EQ(table.add(4, function(7)), function(2)) << "the first stays";
}

}  // namespace

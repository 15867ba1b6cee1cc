// needs: reference_compiler
// The C compiler behind "bp.compiler", reached directly through the ABI.
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include <backplane/extensions/compiler.h>
#include <backplane/extensions/reference.h>

#include "sdk/fake_host.hpp"

namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

// out[i] = factor * in[i] + place, each work-item one element.
constexpr const char* scale = R"(
#include <stdint.h>
struct values { int64_t offset; double factor; };
void scale(void* const* memory, const void* values, const uint64_t* item) {
  const struct values* v = values;
  const float* in = memory[0];
  float* out = (float*)((char*)memory[1] + v->offset);
  const uint64_t i = (item[2] * item[4] + item[1]) * item[3] + item[0];
  out[i] = (float)(in[i] * v->factor) + (float)i;
}
)";

class CCompiler : public testing::Test {
 protected:
  const bp_compiler& api() {
    return *reinterpret_cast<const bp_compiler*>(plugin->extension(plugin->self, BP_COMPILER, 1));
  }
  const bp_reference_hooks& hooks() {
    return *reinterpret_cast<const bp_reference_hooks*>(
        plugin->extension(plugin->self, "reference.hooks", 1));
  }
  bp_code compile(const char* code, bp_module** out, const char* language = BP_LANGUAGE_C11) {
    bp_source source{};
    source.h = {sizeof source, BP_SOURCE_TYPE, nullptr};
    source.language = language;
    source.name = "scale f32";
    source.code = code;
    source.bytes = std::strlen(code);
    source.options = "";
    return api().compile(device.get(), &source, out);
  }
  // 24 elements in a grid of 4 x 3 x 2, 4 bytes into the second allocation.
  bp_code launch(bp_function* function, bp_handle in, bp_handle out) {
    const struct {
      int64_t offset;
      double factor;
    } values{4, 2.0};
    bp_launch_argument arguments[3] = {};
    arguments[0].kind = arguments[1].kind = BP_LAUNCH_MEMORY;
    arguments[0].u.handle = in;
    arguments[1].u.handle = out;
    arguments[2].kind = BP_LAUNCH_BYTES;
    arguments[2].bytes = sizeof values;
    arguments[2].u.bytes = &values;
    bp_launch launch{};
    launch.h = {sizeof launch, BP_LAUNCH_TYPE, nullptr};
    launch.function = function;
    const uint64_t groups[3] = {4, 3, 2};
    for (int i = 0; i < 3; ++i) launch.groups[i] = groups[i], launch.items[i] = 1;
    launch.arguments = arguments;
    launch.num_arguments = 3;
    return api().launch(device.get(), &launch, nullptr);
  }
  bp_function* find(bp_module* module) {
    bp_function* function = nullptr;
    EXPECT_EQ(api().find(device.get(), module, "scale", &function), BP_OK);
    return function;
  }
  // Runs `module` on 0, 1, 2, ... and looks at the result.
  void expect_scales(bp_module* module) {
    std::vector<float> sent(24), got(25);
    for (int i = 0; i < 24; ++i) sent[i] = static_cast<float>(i);
    const bp_handle in = device.allocate(96), out = device.allocate(100);
    EXPECT_EQ(device.from_host(in, sent.data(), 96), BP_OK);
    EXPECT_EQ(launch(find(module), in, out), BP_OK);
    EXPECT_EQ(device.to_host(got.data(), out, 100), BP_OK);
    EXPECT_EQ(device.synchronize(), BP_OK);
    for (int i = 0; i < 24; ++i) EXPECT_EQ(got[i + 1], 3.0f * static_cast<float>(i)) << i;
    device.release(in);
    device.release(out);
  }
  std::vector<char> binary_of(bp_module* module) {
    uint64_t bytes = 0;
    EXPECT_EQ(api().binary(device.get(), module, &bytes, nullptr), BP_OK);
    std::vector<char> binary(bytes);
    EXPECT_EQ(api().binary(device.get(), module, &bytes, binary.data()), BP_OK);
    return binary;
  }

  fake::Host host;
  fake::Plugin plugin{host, BP_PLUGIN_DIR "/libbackplane_reference_compiler.so"};
  fake::Device device{plugin, 0};
};

TEST_F(CCompiler, says_what_it_compiles) {
  bp_compiler_info info{};
  info.h = {sizeof info, BP_COMPILER_INFO_TYPE, nullptr};
  ASSERT_EQ(api().describe(device.get(), &info), BP_OK);
  EXPECT_STREQ(info.languages, "c11");
  EXPECT_THAT(info.identity, HasSubstr("Linux"));
  EXPECT_EQ(info.shape, BP_SHAPE_CPU);
  EXPECT_EQ(info.compute_units, 2u);
  EXPECT_TRUE(info.compute_dtypes >> BP_F64 & 1);
  EXPECT_FALSE(info.compute_dtypes >> BP_F16 & 1);
}

TEST_F(CCompiler, runs_a_kernel_for_each_work_item_in_the_order_of_the_queue) {
  bp_module* module = nullptr;
  ASSERT_EQ(compile(scale, &module), BP_OK) << fake::Host::last_message();
  expect_scales(module);
  api().release(device.get(), module);
}

TEST_F(CCompiler, a_launch_returns_before_its_kernel_runs) {
  bp_module* module = nullptr;
  ASSERT_EQ(compile(scale, &module), BP_OK);
  const bp_handle in = device.allocate(96), out = device.allocate(100);
  ASSERT_EQ(hooks().hold(0), BP_OK);
  ASSERT_EQ(launch(find(module), in, out), BP_OK);
  uint64_t pending, allocations, bytes;
  ASSERT_EQ(hooks().usage(0, &pending, &allocations, &bytes), BP_OK);
  EXPECT_EQ(pending, 1u);
  ASSERT_EQ(hooks().release(0), BP_OK);
  ASSERT_EQ(device.synchronize(), BP_OK);
  device.release(in);
  device.release(out);
  api().release(device.get(), module);
}

TEST_F(CCompiler, a_module_loads_from_its_binary) {
  bp_module *compiled = nullptr, *loaded = nullptr;
  ASSERT_EQ(compile(scale, &compiled), BP_OK);
  const std::vector<char> binary = binary_of(compiled);
  api().release(device.get(), compiled);
  ASSERT_EQ(api().load(device.get(), "scale", binary.data(), binary.size(), &loaded), BP_OK);
  expect_scales(loaded);
  api().release(device.get(), loaded);
}

TEST_F(CCompiler, refuses_bytes_that_are_no_binary) {
  bp_module *compiled = nullptr, *loaded = nullptr;
  ASSERT_EQ(compile(scale, &compiled), BP_OK);
  const std::vector<char> binary = binary_of(compiled);
  api().release(device.get(), compiled);
  // Every length at which something the linker reads is missing, and bytes that are nothing at all.
  for (size_t length : {size_t{0}, size_t{10}, size_t{64}, size_t{700}, size_t{4096}}) {
    EXPECT_EQ(api().load(device.get(), "scale", binary.data(), length, &loaded), BP_BAD_ARGUMENT)
        << length;
  }
  const std::string junk(10000, 'x');
  EXPECT_EQ(api().load(device.get(), "scale", junk.data(), junk.size(), &loaded), BP_BAD_ARGUMENT);
  EXPECT_EQ(fake::Host::last_message(),
            "scale: 10000 bytes that are not a shared object of this machine");
}

TEST_F(CCompiler, an_error_carries_the_compilers_log) {
  bp_module* module = nullptr;
  EXPECT_EQ(compile("void scale(void) { no_such_thing; }", &module), BP_INTERNAL);
  EXPECT_THAT(fake::Host::last_message(), HasSubstr("refused scale f32:"));
  EXPECT_THAT(fake::Host::last_message(), HasSubstr("no_such_thing"));
  EXPECT_EQ(compile(scale, &module, BP_LANGUAGE_CUDA_CXX), BP_UNSUPPORTED);
  EXPECT_EQ(fake::Host::last_message(),
            "scale f32: the language 'cuda-c++'; only c11 is understood");
}

TEST_F(CCompiler, refuses_a_kernel_that_is_not_there_and_memory_that_does_not_live) {
  bp_module* module = nullptr;
  ASSERT_EQ(compile(scale, &module), BP_OK);
  bp_function* function = nullptr;
  EXPECT_EQ(api().find(device.get(), module, "shrink", &function), BP_BAD_ARGUMENT);
  EXPECT_EQ(fake::Host::last_message(), "the module has no kernel 'shrink'");
  EXPECT_EQ(launch(find(module), 12345, 0), BP_BAD_ARGUMENT);
  EXPECT_THAT(fake::Host::last_message(), HasSubstr("launch: handle 0x3039 names no living"));
  api().release(device.get(), module);
}

TEST_F(CCompiler, a_failure_comes_out_of_synchronize) {
  bp_module* module = nullptr;
  ASSERT_EQ(compile(scale, &module), BP_OK);
  const bp_handle in = device.allocate(96), out = device.allocate(100);
  ASSERT_EQ(hooks().fail_next(0, BP_INTERNAL), BP_OK);
  ASSERT_EQ(launch(find(module), in, out), BP_OK);
  EXPECT_EQ(device.synchronize(), BP_INTERNAL);
  device.release(in);
  device.release(out);
  expect_scales(module);
  api().release(device.get(), module);
}

// A variable for the length of a test.
class Setting {
 public:
  Setting(const char* name, const std::string& value) : name_(name) {
    setenv(name, value.c_str(), 1);
  }
  ~Setting() { unsetenv(name_); }

 private:
  const char* name_;
};

TEST_F(CCompiler, names_the_compiler_that_is_missing) {
  const Setting none("BACKPLANE_CC", "/nowhere/cc");
  bp_module* module = nullptr;
  EXPECT_EQ(compile(scale, &module), BP_UNSUPPORTED);
  EXPECT_EQ(fake::Host::last_message(),
            "scale f32: there is no C compiler '/nowhere/cc' on this machine (No such file or "
            "directory); install one as `cc`, or name one in BACKPLANE_CC");
}

TEST_F(CCompiler, kills_a_compiler_that_hangs_and_leaves_no_file) {
  const fs::path folder = fs::temp_directory_path() / ("bp_cc_" + std::to_string(getpid()));
  fs::create_directories(folder / "tmp");
  std::ofstream(folder / "cc") << "#!/bin/sh\nsleep 60\n";
  chmod((folder / "cc").c_str(), 0755);
  {
    const Setting slow("BACKPLANE_CC", folder / "cc"), limit("BACKPLANE_COMPILE_SECONDS", "1"),
        temporary("TMPDIR", folder / "tmp");
    bp_module* module = nullptr;
    EXPECT_EQ(compile(scale, &module), BP_INTERNAL);
    EXPECT_THAT(fake::Host::last_message(), HasSubstr("did not come to an end and was killed"));
  }
  EXPECT_TRUE(fs::is_empty(folder / "tmp"));
  fs::remove_all(folder);
}

}  // namespace

// needs: cpu opencl slow
// Whatever the rows become on OpenCL and Level Zero devices is valid SPIR-V, and computes the same where an OpenCL device
// takes it.
#include <array>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>

#include <backplane/codegen/codegen.hpp>
#include <backplane/dispatcher/call.hpp>
#include <backplane/dispatcher/registry.hpp>
#include <backplane/extensions/compiler.h>
#include <backplane/samples/samples.hpp>
#include <backplane/tensors.hpp>

#include "codegen/agree.hpp"
#include "dispatcher/child.hpp"
#include "tools/run_program.hpp"

namespace {

// The types for which kernels differ in kind: real, integral, stored as another, and structs.
constexpr bp::Dtype dtypes[] = {bp::f32, bp::i64, bp::bf16, bp::complex64};

void run_samples(bp::Operator& op, bp::Device device) {
  for (const bp::Dtype dtype : dtypes)
    if (contains(op.dtypes, dtype))
      for (const bp::Sample& sample : samples_of(op, dtype, device)) call_boxed(op, sample.args);
}

// What processors write past their caches.
void run_large(bp::Device device) {
  for (const bp::Dtype dtype : {bp::f32, bp::f16, bp::i64, bp::u8}) {
    const bp::Tensor x = bp::full({4096, 2100}, 1, dtype, device);
    const bp::Tensor sum = bp::add(x, x);
    if (is_floating(dtype)) const bp::Tensor y = bp::softmax(x, 1), z = bp::log_softmax(x, 1);
  }
}

class GeneratedSpirvOf : public testing::TestWithParam<const char*> {};

TEST_P(GeneratedSpirvOf, every_row_is_valid) {
  BP_SKIP_WITHOUT(GetParam());
  if (std::system("command -v spirv-val >/dev/null") != 0) GTEST_SKIP() << "no spirv-val";
  const bp::Device device = bp::device(GetParam());
  for (bp::Operator* op : bp::registered_operators()) run_samples(*op, device);
  run_large(device);
  const std::vector<bp::codegen::GeneratedSource> sources = bp::codegen::generated_sources(device);
  EXPECT_GT(sources.size(), 100u);

  const bp::test::TemporaryFolder folder;
  const std::string file = folder.path() / "module.spv";
  for (const bp::codegen::GeneratedSource& source : sources) {
    std::ofstream(file, std::ios::binary) << bp::codegen::spirv_of(source);
    EXPECT_EQ(std::system(("spirv-val --target-env opencl2.2 " + file).c_str()), 0)
        << source.name << ":\n"
        << source.text;
  }
}

INSTANTIATE_TEST_SUITE_P(on, GeneratedSpirvOf, testing::Values("opencl:0", "level_zero:0"),
                         [](const testing::TestParamInfo<const char*>& each) {
                           const std::string device = each.param;
                           return device.substr(0, device.find(':'));
                         });

// What the compiler of the first OpenCL device takes; empty without one.
std::string languages() {
  if (!bp::test::has_device("opencl:0")) return {};
  const bp::DeviceRecord& record = bp::device_record(bp::device("opencl:0"));
  const bp_plugin& plugin = *record.backend->plugin;
  const auto& compiler = *reinterpret_cast<const bp_compiler*>(
      plugin.extension(plugin.self, BP_COMPILER, BP_COMPILER_VERSION));
  bp_compiler_info info{};
  info.h = {sizeof info, BP_COMPILER_INFO_TYPE, nullptr};
  return compiler.describe(record.handle, &info) == BP_OK ? info.languages : "";
}

// Rows of several kinds. In a process of its own, where the device is asked to speak SPIR-V alone.
TEST(SpirvChild, DISABLED_agrees_with_cpu) {
  ASSERT_EQ(languages(), BP_LANGUAGE_SPIRV);
  for (const char* op : {"add", "exp", "sum", "softmax", "cumsum", "matmul", "gather"})
    bp::test::expect_row_agrees(op, "opencl:0", std::array{bp::f32, bp::i64});
}

TEST(GeneratedSpirv, computes_what_cpu_does_on_a_device_that_takes_it) {
  if (languages().find(BP_LANGUAGE_SPIRV) == std::string::npos)
    GTEST_SKIP() << "opencl:0 takes no SPIR-V";
  if (std::system("command -v llvm-spirv-15 >/dev/null") != 0) GTEST_SKIP() << "no llvm-spirv";
  const bp::test::Child child = bp::test::run_child("SpirvChild.DISABLED_agrees_with_cpu",
                                                    {"BACKPLANE_OPENCL_LANGUAGE=spirv"}, 600);
  EXPECT_EQ(child.exit_code, 0) << child.output;
}

}  // namespace

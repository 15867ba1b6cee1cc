// needs: cpu opencl slow
// Whatever the rows become on an OpenCL device is valid SPIR-V as well.
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>

#include <backplane/backplane.hpp>
#include <backplane/codegen/codegen.hpp>
#include <backplane/core_ops/samples.hpp>
#include <backplane/dispatcher/call.hpp>
#include <backplane/dispatcher/registry.hpp>

#include "codegen/agree.hpp"
#include "tools/run_program.hpp"

namespace {

// The types for which kernels differ in kind: real, integral, stored as another, and structs.
constexpr bp::Dtype dtypes[] = {bp::f32, bp::i64, bp::bf16, bp::complex64};

void run_samples(bp::Operator& op, bp::Device device) {
  for (const bp::Dtype dtype : dtypes)
    if (contains(op.dtypes, dtype))
      for (const bp::Sample& sample : samples_of(op, dtype, device)) call_boxed(op, sample.args);
}

TEST(GeneratedSpirv, of_every_row_is_valid) {
  BP_SKIP_WITHOUT("opencl:0");
  if (std::system("command -v spirv-val >/dev/null") != 0) GTEST_SKIP() << "no spirv-val";
  const bp::Device device = bp::device("opencl:0");
  for (bp::Operator* op : bp::registered_operators()) run_samples(*op, device);
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

}  // namespace

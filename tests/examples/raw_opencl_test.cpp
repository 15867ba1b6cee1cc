// needs: cpu opencl
#include "tools/run_program.hpp"

namespace {

using bp::test::run_program;

TEST(RawOpenCl, mixes_its_kernels_with_tensors_without_a_copy) {
  if (!std::filesystem::exists(BP_BUILD_BIN_DIR "/raw_opencl"))
    GTEST_SKIP() << "examples are not built";
  const bp::test::Finished finished = run_program("raw_opencl", {});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(finished.out,
            "heat after 10 steps: 1000\n"
            "the tensor's memory is the application's cl_mem: yes\n"
            "all of Backplane's calls ran on the device: yes\n"
            "the heat is what it was: yes\n"
            "the buffer is released\n");
}

}  // namespace

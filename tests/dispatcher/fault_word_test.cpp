// needs: cpu
// The fault word of kernels that declare that they may find a bad index, on a synchronous device too.
#include <gtest/gtest.h>

#include <backplane/loading/loader.hpp>
#include <backplane/tensors.hpp>

namespace {

TEST(FaultWord, of_a_synchronous_device_is_there_and_its_call_fails) {
  bp::load_plugin(BP_TEST_PLUGIN_DIR "/libbackplane_exam.so");
  const bp::Device exam = bp::device("exam:0");
  const bp::Tensor values = bp::to(bp::tensor({1.0f, 2.0f, 3.0f}), exam);
  const auto gather = [&](std::int64_t first, std::int64_t second) {
    return bp::gather(values, 0, bp::to(bp::tensor({first, second}), exam));
  };

  EXPECT_EQ(bp::to_vector<float>(gather(2, 0)), (std::vector<float>{3, 1}));
  try {
    gather(0, 3);
    ADD_FAILURE() << "a bad index was not reported";
  } catch (const bp::Error& error) {
    EXPECT_NE(std::string(error.what()).find("gather: index out of range (device exam:0)"),
              std::string::npos)
        << error.what();
  }
  bp::synchronize(exam);
  EXPECT_EQ(bp::to_vector<float>(gather(1, 1)), (std::vector<float>{2, 2}));
}

}  // namespace

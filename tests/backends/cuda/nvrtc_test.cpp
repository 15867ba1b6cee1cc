// needs: cuda
// NVIDIA's compiler behind the CUDA backend; no card is needed.
#include <gmock/gmock.h>
#include <thread>

#include "backends/cuda/direct_device.hpp"

namespace {

class CudaNvrtc : public direct::CudaPlugin {
 protected:
  bp_code compile(const std::string& code, std::string& binary, uint32_t architecture = 90,
                  const char* options = "", const char* language = BP_LANGUAGE_CUDA_CXX) {
    const bp_source source = direct::source_of(code, options, language);
    binary.resize(1 << 20);
    uint64_t bytes = binary.size();
    const bp_code code_of = extension<bp_cuda_hooks>(BP_CUDA_HOOKS)
                                .compile(&source, architecture, &bytes, binary.data());
    binary.resize(code_of == BP_OK ? bytes : 0);
    return code_of;
  }
};

TEST_F(CudaNvrtc, makes_machine_code_for_a_card_that_is_not_here) {
  for (const uint32_t architecture : {75u, 90u, 120u}) {
    std::string binary;
    ASSERT_EQ(compile(direct::axpb, binary, architecture), BP_OK) << fake::Host::last_message();
    EXPECT_EQ(binary.substr(0, 4),
              "\x7f"
              "ELF")
        << architecture;
    EXPECT_NE(binary.find(".text.axpb"), std::string::npos) << architecture;
  }
}

TEST_F(CudaNvrtc, an_error_carries_the_log) {
  std::string binary;
  EXPECT_EQ(compile("extern \"C\" __global__ void k(int* out) { out[0] = nowhere; }", binary),
            BP_BAD_ARGUMENT);
  EXPECT_THAT(fake::Host::last_message(), testing::HasSubstr("\"nowhere\" is undefined"));
}

TEST_F(CudaNvrtc, takes_options) {
  const std::string code = "extern \"C\" __global__ void k(int* out) { out[0] = ANSWER; }";
  std::string binary;
  EXPECT_EQ(compile(code, binary), BP_BAD_ARGUMENT);
  EXPECT_EQ(compile(code, binary, 90, " -DANSWER=42  -DOTHER=1"), BP_OK)
      << fake::Host::last_message();
  EXPECT_EQ(compile(code, binary, 90, "--no-such-option"), BP_BAD_ARGUMENT);
  EXPECT_THAT(fake::Host::last_message(), testing::HasSubstr("--no-such-option"));
}

TEST_F(CudaNvrtc, an_architecture_that_does_not_exist_is_refused) {
  std::string binary;
  EXPECT_EQ(compile(direct::axpb, binary, 11), BP_BAD_ARGUMENT);
  EXPECT_THAT(fake::Host::last_message(), testing::HasSubstr("--gpu-architecture"));
}

TEST_F(CudaNvrtc, a_language_that_it_does_not_know_is_unsupported) {
  std::string binary;
  EXPECT_EQ(compile("", binary, 90, "", "fortran"), BP_UNSUPPORTED);
  EXPECT_EQ(fake::Host::last_message(), "test f32: this device does not compile 'fortran'");
}

TEST_F(CudaNvrtc, four_threads_compile_at_once) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      const std::string name = "k" + std::to_string(t);
      std::string binary;
      EXPECT_EQ(
          compile("extern \"C\" __global__ void " + name + "(int* out) { out[0] = 1; }", binary),
          BP_OK);
      EXPECT_NE(binary.find(".text." + name), std::string::npos);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

// needs: cuda
// The CUDA plugin where there is no card, or no driver that it can use.
#include <cstdlib>
#include <gmock/gmock.h>

#include "backends/cuda/direct_device.hpp"
#include "tools/run_program.hpp"

namespace {

using bp::test::TemporaryFolder;

class CudaLoading : public direct::CudaPlugin {
 protected:
  // A library in the driver's place that answers these functions alone. False if no compiler is here.
  static bool make_driver(const TemporaryFolder& folder, const std::string& functions) {
    const std::string source = folder.write("driver.c", functions).string(),
                      library = (folder.path() / "libcuda.so.1").string();
    return std::system(("cc -shared -fPIC -o '" + library + "' '" + source + "'").c_str()) == 0;
  }
  // What `backplane doctor` says of the plugin with that driver.
  static std::string doctor(const TemporaryFolder& folder) {
    return bp::test::run_backplane({"doctor"}, {"LD_LIBRARY_PATH=" + folder.path().string(),
                                                "XDG_CACHE_HOME=" + folder.path().string()})
        .out;
  }
};

TEST_F(CudaLoading, says_why_there_is_no_device) {
  if (num_cards() > 0) GTEST_SKIP() << "a card is here";
  EXPECT_EQ(plugin->probe(plugin->self), BP_UNSUPPORTED);
  EXPECT_THAT(fake::Host::last_message(), testing::HasSubstr("NVIDIA driver"));
  bp_device* device = nullptr;
  EXPECT_EQ(plugin->open(plugin->self, 0, &device), BP_BAD_ARGUMENT);
  EXPECT_EQ(fake::Host::last_message(), "there is no cuda:0; the drivers here offer 0 devices");
}

TEST_F(CudaLoading, tells_a_driver_that_is_too_old) {
  const TemporaryFolder folder;
  if (!make_driver(folder, "int cuDriverGetVersion(int* v) { *v = 11040; return 0; }"))
    GTEST_SKIP() << "no C compiler is here to make a driver";
  EXPECT_THAT(doctor(folder),
              testing::AllOf(testing::HasSubstr("no device here: the NVIDIA driver is too old: it "
                                                "speaks CUDA 11.4, and this plugin was built with"),
                             testing::HasSubstr("update the driver")));
}

TEST_F(CudaLoading, tells_a_driver_that_lacks_a_function) {
  const TemporaryFolder folder;
  if (!make_driver(folder, "int cuDriverGetVersion(int* v) { *v = 99000; return 0; }"))
    GTEST_SKIP() << "no C compiler is here to make a driver";
  EXPECT_THAT(doctor(folder), testing::HasSubstr("lacks cuInit; update the driver"));
}

TEST_F(CudaLoading, offers_its_extensions_and_no_others) {
  for (const char* name : {BP_COMPILER, "bp.capture", "bp.stream_memory", BP_CUDA_HOOKS}) {
    EXPECT_NE(plugin->extension(plugin->self, name, 1), nullptr) << name;
    EXPECT_EQ(plugin->extension(plugin->self, name, 99), nullptr) << name;
  }
  EXPECT_EQ(plugin->extension(plugin->self, "bp.nothing", 1), nullptr);
}

}  // namespace

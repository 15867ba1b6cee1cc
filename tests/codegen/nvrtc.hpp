// NVIDIA's compiler at run time, from the CUDA toolkit where one is installed: it needs no card and no driver.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <backplane/codegen/codegen.hpp>

namespace bp::test {

// Empty, or why NVRTC cannot be had on this machine.
std::string nvrtc_is_missing();
#define BP_SKIP_WITHOUT_NVRTC()                                                     \
  if (const std::string missing = ::bp::test::nvrtc_is_missing(); !missing.empty()) \
  GTEST_SKIP() << missing

// The log of a compilation, or nothing where it went well. `architecture`: "compute_90" ends with PTX, "sm_90" with the
// card's own instructions, which takes twice as long.
std::string nvrtc_log(const std::string& source, const std::string& architecture);

// Compiles all of them, many together and on all cores, and adds a failure with source and log for each that
// does not.
void expect_nvrtc_takes(std::span<const codegen::GeneratedSource> sources,
                        const std::string& architecture);

}  // namespace bp::test

#include "dialect/spirv.hpp"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <backplane/tensor/error.hpp>

#include "dialect/dialect.hpp"
#include "tools/run_program.hpp"

namespace {

using bp::codegen::to_spirv;
using std::chrono::seconds;
using testing::HasSubstr;

class Spirv : public testing::Test {
 protected:
  Spirv() {
    std::filesystem::create_directory(temporary);
    set("TMPDIR", temporary);
  }
  ~Spirv() override {
    EXPECT_TRUE(std::filesystem::is_empty(temporary)) << "temporary files are left";
    for (const auto& [name, old] : before) old ? setenv(name, old->c_str(), 1) : unsetenv(name);
  }
  void set(const char* name, const std::string& value) {
    const char* old = std::getenv(name);
    before.emplace_back(name, old ? std::optional<std::string>(old) : std::nullopt);
    setenv(name, value.c_str(), 1);
  }
  // A program that does this.
  std::string script(const std::string& name, const std::string& deed) {
    const auto file = folder.write(name, "#!/bin/sh\n" + deed + "\n");
    chmod(file.c_str(), 0755);
    return file;
  }
  static std::string error_of(const std::string& source, seconds limit = seconds(60)) {
    try {
      to_spirv(source, limit);
    } catch (const bp::Error& error) {
      return (error.error_class() == bp::ErrorClass::unsupported ? "unsupported: " : "internal: ") +
             std::string(error.what());
    }
    return "no error";
  }
  static bool has(const char* program) {
    return std::system((std::string("command -v ") + program + " >/dev/null").c_str()) == 0;
  }
  static bool has_tools() {
    for (const char* version : {"-19", "-18", "-17", "-16", "-15", "-14", ""}) {
      const std::string v = version;
      if (has(("clang" + v).c_str()) && has(("opt" + v).c_str()) && has(("llvm-spirv" + v).c_str()))
        return true;
    }
    return false;
  }

  bp::test::TemporaryFolder folder;
  std::filesystem::path temporary = folder.path() / "tmp";
  std::vector<std::pair<const char*, std::optional<std::string>>> before;
};

bp::codegen::KernelText square_roots() {
  bp::codegen::KernelText text;
  text.name = "square_roots";
  text.num_memory = 2;
  text.values = {{"n"}, {"offset", false, 2}, {"scale", true}};
  text.body = R"(
  for (i64 i = item0; i < v.n; i += items0)
    store_f32(m1 + v.offset[1], i, sqrt(load_f32(m0 + v.offset[0], i)) * exp(2.0f));
)";
  return text;
}

TEST_F(Spirv, a_kernel_becomes_a_module_that_the_validator_accepts) {
  if (!has_tools()) GTEST_SKIP() << "no clang, opt and llvm-spirv of one version";
  const std::string module =
      to_spirv(emit(bp::codegen::Language::opencl_c, square_roots()), seconds(60));
  ASSERT_GT(module.size(), 20u);
  std::uint32_t words[2];
  std::memcpy(words, module.data(), sizeof words);
  EXPECT_EQ(words[0], 0x07230203u);
  EXPECT_LE(words[1], 0x00010200u);
  EXPECT_NE(module.find("square_roots"), std::string::npos);
  if (!has("spirv-val")) GTEST_SKIP() << "no spirv-val";
  const auto file = folder.path() / "module.spv";
  std::ofstream(file, std::ios::binary) << module;
  EXPECT_EQ(std::system(("spirv-val --target-env opencl2.2 " + file.string()).c_str()), 0);
}

TEST_F(Spirv, an_error_has_the_compilers_log) {
  if (!has_tools()) GTEST_SKIP() << "no clang, opt and llvm-spirv of one version";
  EXPECT_THAT(error_of("__kernel void k() { nonsense; }"),
              testing::AllOf(testing::StartsWith("internal: codegen: clang"),
                             HasSubstr("use of undeclared identifier 'nonsense'")));
}

TEST_F(Spirv, names_the_program_that_is_missing) {
  set("PATH", folder.path());
  set("BACKPLANE_CLANG", script("clang", "exit 0"));
  EXPECT_EQ(
      error_of(""),
      "unsupported: codegen: kernels are compiled to SPIR-V by clang, opt and llvm-spirv of one "
      "LLVM version, 14 to 19; 'opt' is not in PATH; install it, or name it in BACKPLANE_OPT");
  set("BACKPLANE_OPT", "/nowhere/opt");
  set("BACKPLANE_LLVM_SPIRV", "/nowhere/llvm-spirv");
  EXPECT_THAT(error_of(""), HasSubstr("unsupported: codegen: /nowhere/opt: No such file"));
}

TEST_F(Spirv, ends_a_program_that_hangs) {
  set("BACKPLANE_CLANG", script("clang", "sleep 30"));
  set("BACKPLANE_OPT", script("opt", "exit 0"));
  set("BACKPLANE_LLVM_SPIRV", script("llvm-spirv", "exit 0"));
  EXPECT_THAT(error_of("", seconds(1)), HasSubstr("clang did not finish in time"));
}

TEST_F(Spirv, does_not_take_nothing_for_a_module) {
  for (const char* name : {"clang", "opt", "llvm-spirv"}) script(name, "exit 0");
  set("BACKPLANE_CLANG", folder.path() / "clang");
  set("BACKPLANE_OPT", folder.path() / "opt");
  set("BACKPLANE_LLVM_SPIRV", folder.path() / "llvm-spirv");
  EXPECT_THAT(error_of(""), HasSubstr("wrote nothing"));
}

}  // namespace

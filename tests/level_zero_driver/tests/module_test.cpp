// needs: opencl
// Modules: what is taken, what is not, their constants and their native form.
#include <cstring>
#include <set>

#include "machine.hpp"

namespace level_zero {
namespace {

class Modules : public Machine {
 protected:
  void SetUp() override {
    Machine::SetUp();
    if (!IsSkipped() && test_kernels().empty()) GTEST_SKIP() << "no clang-15 and llvm-spirv-15";
  }
  // The result, and in `log` what was said.
  ze_result_t build(const std::string& code, ze_module_format_t format = ZE_MODULE_FORMAT_IL_SPIRV,
                    const char* flags = "") {
    const ze_module_desc_t description{ZE_STRUCTURE_TYPE_MODULE_DESC,
                                       nullptr,
                                       format,
                                       code.size(),
                                       reinterpret_cast<const uint8_t*>(code.data()),
                                       flags,
                                       nullptr};
    ze_module_handle_t module = nullptr;
    ze_module_build_log_handle_t said = nullptr;
    const ze_result_t result = zeModuleCreate(context_, device_, &description, &module, &said);
    log_.clear();
    if (said == nullptr) return result;  // the validation layer refuses without one
    size_t bytes = 0;
    EXPECT_EQ(zeModuleBuildLogGetString(said, &bytes, nullptr), ZE_RESULT_SUCCESS);
    log_.resize(bytes);
    EXPECT_EQ(zeModuleBuildLogGetString(said, &bytes, log_.data()), ZE_RESULT_SUCCESS);
    EXPECT_EQ(zeModuleBuildLogDestroy(said), ZE_RESULT_SUCCESS);
    if (result == ZE_RESULT_SUCCESS) {
      EXPECT_EQ(zeModuleDestroy(module), ZE_RESULT_SUCCESS);
    }
    return result;
  }
  // What the kernel of two constants writes.
  std::pair<double, double> constants_of(ze_module_handle_t module) {
    const ze_kernel_desc_t description{ZE_STRUCTURE_TYPE_KERNEL_DESC, nullptr, 0, "tell_constants"};
    ze_kernel_handle_t tell = nullptr;
    EXPECT_EQ(zeKernelCreate(module, &description, &tell), ZE_RESULT_SUCCESS);
    double* to = shared<double>(2);
    set(tell, 0, to);
    const ze_group_count_t one{1, 1, 1};
    const ze_command_list_handle_t list = immediate();
    EXPECT_EQ(zeCommandListAppendLaunchKernel(list, tell, &one, nullptr, 0, nullptr),
              ZE_RESULT_SUCCESS);
    finish(list);
    EXPECT_EQ(zeKernelDestroy(tell), ZE_RESULT_SUCCESS);
    return {to[0], to[1]};
  }
  std::string native_of(ze_module_handle_t module) {
    size_t bytes = 0;
    EXPECT_EQ(zeModuleGetNativeBinary(module, &bytes, nullptr), ZE_RESULT_SUCCESS);
    std::string binary(bytes, '\0');
    EXPECT_EQ(zeModuleGetNativeBinary(module, &bytes, reinterpret_cast<uint8_t*>(binary.data())),
              ZE_RESULT_SUCCESS);
    return binary;
  }

  std::string log_;
};

TEST_F(Modules, name_their_kernels) {
  const ze_module_handle_t made = module(test_kernels());
  uint32_t count = 0;
  ASSERT_EQ(zeModuleGetKernelNames(made, &count, nullptr), ZE_RESULT_SUCCESS);
  std::vector<const char*> names(count);
  ASSERT_EQ(zeModuleGetKernelNames(made, &count, names.data()), ZE_RESULT_SUCCESS);
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()),
            (std::set<std::string>{"add_number", "scale", "take_structure", "reverse_group",
                                   "tell_constants", "only_in_fours"}));
  const ze_kernel_desc_t description{ZE_STRUCTURE_TYPE_KERNEL_DESC, nullptr, 0, "no_such_kernel"};
  ze_kernel_handle_t kernel = nullptr;
  EXPECT_EQ(zeKernelCreate(made, &description, &kernel), ZE_RESULT_ERROR_INVALID_KERNEL_NAME);
}

TEST_F(Modules, constants_have_defaults_and_can_be_given) {
  EXPECT_EQ(constants_of(module(test_kernels())), std::pair(11.0, 0.5));
  const int32_t whole = -4;
  const double real = 1e300;
  const uint32_t ids[] = {5, 3, 77};
  const void* values[] = {&real, &whole, &whole};
  const ze_module_constants_t constants{3, ids, values};  // the last is none of the module's
  EXPECT_EQ(constants_of(module(test_kernels(), &constants)), std::pair(-4.0, 1e300));
}

TEST_F(Modules, come_back_from_their_native_form_with_their_constants) {
  const int32_t whole = 42;
  const uint32_t ids[] = {3};
  const void* values[] = {&whole};
  const ze_module_constants_t constants{1, ids, values};
  const std::string native = native_of(module(test_kernels(), &constants));
  const ze_module_desc_t description{ZE_STRUCTURE_TYPE_MODULE_DESC,
                                     nullptr,
                                     ZE_MODULE_FORMAT_NATIVE,
                                     native.size(),
                                     reinterpret_cast<const uint8_t*>(native.data()),
                                     "",
                                     nullptr};
  ze_module_handle_t again = nullptr;
  ASSERT_EQ(zeModuleCreate(context_, device_, &description, &again, nullptr), ZE_RESULT_SUCCESS);
  EXPECT_EQ(constants_of(again), std::pair(42.0, 0.5));
  EXPECT_EQ(zeModuleDestroy(again), ZE_RESULT_SUCCESS);
}

TEST_F(Modules, a_damaged_native_form_is_refused) {
  std::string native = native_of(module(test_kernels()));
  const auto native_format = ZE_MODULE_FORMAT_NATIVE;
  for (const size_t bytes : {size_t{1}, size_t{40}, native.size() / 2, native.size() - 1})
    EXPECT_EQ(build(native.substr(0, bytes), native_format), ZE_RESULT_ERROR_INVALID_NATIVE_BINARY);
  native[native.size() / 2] ^= 1;
  EXPECT_EQ(build(native, native_format), ZE_RESULT_ERROR_INVALID_NATIVE_BINARY);
}

TEST_F(Modules, what_is_no_whole_module_is_refused) {
  EXPECT_EQ(build("four"), ZE_RESULT_ERROR_INVALID_NATIVE_BINARY);
  EXPECT_EQ(build(std::string(100, '\0')), ZE_RESULT_ERROR_INVALID_NATIVE_BINARY);
  const std::string& whole = test_kernels();
  for (const size_t bytes : {whole.size() / 2 / 4 * 4, whole.size() - 4, whole.size() - 1})
    EXPECT_NE(build(whole.substr(0, bytes)), ZE_RESULT_SUCCESS) << bytes;
  EXPECT_EQ(build(whole, static_cast<ze_module_format_t>(9)), ZE_RESULT_ERROR_INVALID_ENUMERATION);
}

TEST_F(Modules, a_module_that_does_not_build_says_why) {
  if (!is_pocl()) GTEST_SKIP() << "Intel's runtime ends the process over an invalid module";
  // The first type that a function names becomes one that nobody has made.
  std::string code = test_kernels();
  std::vector<uint32_t> words(code.size() / 4);
  std::memcpy(words.data(), code.data(), code.size());
  constexpr uint32_t op_function = 54, missing = 0x7fff;
  for (size_t at = 5; at < words.size(); at += words[at] >> 16)
    if ((words[at] & 0xffff) == op_function) {
      words[at + 4] = missing;
      break;
    }
  std::memcpy(code.data(), words.data(), code.size());
  EXPECT_EQ(build(code), ZE_RESULT_ERROR_MODULE_BUILD_FAILURE);
  EXPECT_GT(std::strlen(log_.c_str()), 10u) << log_;
}

TEST_F(Modules, unknown_flags_are_refused_by_name) {
  EXPECT_EQ(build(test_kernels(), ZE_MODULE_FORMAT_IL_SPIRV, "-ze-opt-level=2"), ZE_RESULT_SUCCESS);
  EXPECT_EQ(build(test_kernels(), ZE_MODULE_FORMAT_IL_SPIRV, "-nonsense"),
            ZE_RESULT_ERROR_MODULE_BUILD_FAILURE);
  EXPECT_STREQ(log_.c_str(), "unknown build flag '-nonsense'");
}

}  // namespace
}  // namespace level_zero

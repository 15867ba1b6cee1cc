// The dialect as text: every word compiles in every language, and a source holds no others than it uses.
#include "dialect/dialect.hpp"

#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <unistd.h>

#include <backplane/tensor/error.hpp>

#include "dialect/expression_text.hpp"

namespace bp::codegen {
namespace {

std::string wide(std::string_view word, unsigned width) {
  return width == 1 ? std::string(word) : fmt::format("{}x{}", word, width);
}

// A kernel that loads, stores and casts each dtype, and does each step of expressions in it.
class EveryWord {
 public:
  explicit EveryWord(Language language) {
    const unsigned widest = language == Language::opencl_c ? 16 : 1;
    for (unsigned width = 1; width <= widest; width *= 2)
      for (unsigned i = 0; i < num_dtypes; ++i) add_dtype(static_cast<Dtype>(i), width);
    text_.name = "every_word_of_the_dialect";
    text_.num_memory = 2;
    text_.values = {{"whole"}, {"real", true}, {"list", false, 3}};
    source_ = emit(language, text_);
  }
  const std::string& source() const { return source_; }
  int num_steps() const { return num_steps_; }

 private:
  void add(const std::string& statements) { text_.body += "  {\n" + statements + "  }\n"; }

  void add_dtype(Dtype dtype, unsigned width) {
    if (width > 1 && !has_vector_form(dtype)) return;
    const std::string own = wide(suffix(dtype), width);
    add(fmt::format("  store_{0}(m0, 0, load_{0}(m1, 0));\n", own));
    for (unsigned i = 0; i < num_dtypes; ++i) {
      const Dtype to = static_cast<Dtype>(i);
      if (width > 1 && !has_vector_form(to)) continue;
      add(fmt::format("  store_{0}(m0, 0, cast_{1}_{0}(load_{2}(m1, 0)));\n",
                      wide(suffix(to), width), suffix(dtype), own));
    }
    for (std::uint16_t code = BP_X_ADD; code < BP_NUM_X; ++code)
      if (code != BP_X_ACC) add_step(code, dtype, width);
  }

  void add_step(std::uint16_t code, Dtype dtype, unsigned width) {
    const bp_expr_node nodes[] = {{BP_X_ARG, 0, 0, 0, 0},
                                  {BP_X_ARG, 1, 0, 0, 0},
                                  {BP_X_CONST, 0, 0, 0, 3},
                                  {code, 0, 1, 2, 0}};
    const bool chooses = (mask_arguments(nodes) & 1u) != 0;
    const Operands operands{[&](std::uint32_t argument) {
                              const Dtype of = chooses && argument == 0 ? Dtype::boolean : dtype;
                              return fmt::format("load_{}(m1, {})", wide(suffix(of), width),
                                                 argument);
                            },
                            {}};
    std::string statements;
    try {
      const std::string result = emit_expression(nodes, dtype, width, operands, statements);
      const Dtype gives = gives_mask(nodes) ? Dtype::boolean : dtype;
      add(fmt::format("{}  store_{}(m0, 0, {});\n", statements, wide(suffix(gives), width),
                      result));
      ++num_steps_;
    } catch (const Error&) {  // a step that this dtype lacks
    }
  }

  KernelText text_;
  std::string source_;
  int num_steps_ = 0;
};

// Empty if the compiler takes the source, else what it said. `command` has {} for the file.
std::string compile(const std::string& source, const std::string& ending,
                    const std::string& options) {
  const auto folder =
      std::filesystem::temp_directory_path() / fmt::format("backplane-dialect-{}", getpid());
  std::filesystem::create_directories(folder);
  const std::string file = (folder / ("words" + ending)).string();
  std::ofstream(file) << source;
  const std::string log = file + ".log";
  const int status = std::system(fmt::format("{} {} >{} 2>&1", options, file, log).c_str());
  std::stringstream said;
  said << std::ifstream(log).rdbuf();
  std::filesystem::remove_all(folder);
  return status == 0 ? std::string() : said.str().substr(0, 2000) + "it failed";
}

bool has_program(const std::string& name) {
  return std::system(fmt::format("command -v {} >/dev/null 2>&1", name).c_str()) == 0;
}

TEST(dialect, every_word_compiles_as_c11) {
  const EveryWord words(Language::c11);
  EXPECT_GT(words.num_steps(), 200);
  EXPECT_EQ(compile(words.source(), ".c", "cc -std=c11 -Wall -Wno-unused -fsyntax-only"), "");
}

// What a C++ compiler must be told to read CUDA.
constexpr const char* cuda_words = R"(
#include <cmath>
#include <cstring>
using namespace std;
#define __global__
#define __device__
#define __shared__
#define __grid_constant__
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))
void __syncthreads();
template <class T> T __shfl_xor_sync(unsigned, T x, int);
template <class T> T __shfl_up_sync(unsigned, T x, int);
template <class T> T __shfl_down_sync(unsigned, T x, int);
template <class T> T __shfl_sync(unsigned, T x, int);
struct Place { unsigned x, y, z; };
static Place blockIdx, blockDim, threadIdx, gridDim;
template <class To, class From> To same_bits(From x) { To to; memcpy(&to, &x, sizeof to); return to; }
#define __uint_as_float same_bits<float>
#define __int_as_float same_bits<float>
#define __float_as_uint same_bits<unsigned>
#define __longlong_as_double same_bits<double>
#define __double_as_longlong same_bits<long long>
)";

TEST(dialect, every_word_compiles_as_cuda) {
  const EveryWord words(Language::cuda_cxx);
  EXPECT_EQ(compile(cuda_words + words.source(), ".cpp",
                    "c++ -std=c++17 -Wno-unused -fpermissive -w -fsyntax-only"),
            "");
}

TEST(dialect, every_word_compiles_as_opencl_c) {
  if (!has_program("clang-15")) GTEST_SKIP() << "clang-15 is not installed";
  const EveryWord words(Language::opencl_c);
  EXPECT_GT(words.num_steps(), 1000);
  EXPECT_EQ(compile(words.source(), ".cl",
                    "clang-15 -cl-std=CL1.2 -target spir64 -Xclang -finclude-default-header "
                    "-fsyntax-only"),
            "");
}

// A kernel of groups with packs of every dtype and, where the language has them, every exchange.
KernelText group_words(Language language) {
  KernelText text;
  text.name = "every_word_of_groups";
  text.num_memory = 2;
  text.group_size = 64;
  text.body = "  LOCAL f32 room[64];\n  room[lane] = (f32)(group0 + num_groups0);\n  BARRIER\n";
  for (unsigned i = 0; i < num_dtypes; ++i) {
    const auto dtype = static_cast<Dtype>(i);
    for (unsigned count = 1; count <= 16; count *= 2)
      text.body += fmt::format(
          "  {{ {0} x[{2}]; loads_{1}_{2}(m1, lane, x); stores_{1}_{2}(m0, lane, x); }}\n",
          compute_type(dtype), suffix(dtype), count);
    if (language == Language::cuda_cxx)
      for (const char* exchange : {"xor", "up", "down", "from"})
        text.body += fmt::format("  {{ {0} x; x = shuffle_{1}_{0}(x, 1); }}\n", compute_type(dtype),
                                 exchange);
  }
  return text;
}

TEST(dialect, words_of_groups_compile_as_cuda) {
  EXPECT_EQ(compile(cuda_words + emit(Language::cuda_cxx, group_words(Language::cuda_cxx)), ".cpp",
                    "c++ -std=c++17 -Wno-unused -fpermissive -w -fsyntax-only"),
            "");
}

TEST(dialect, words_of_groups_compile_as_opencl_c) {
  if (!has_program("clang-15")) GTEST_SKIP() << "clang-15 is not installed";
  EXPECT_EQ(compile(emit(Language::opencl_c, group_words(Language::opencl_c)), ".cl",
                    "clang-15 -cl-std=CL1.2 -target spir64 -Xclang -finclude-default-header "
                    "-fsyntax-only"),
            "");
}

TEST(dialect, refuses_groups_in_c11) {
  try {
    emit(Language::c11, group_words(Language::c11));
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "codegen: every_word_of_groups is a kernel of groups, and C11 has none");
  }
}

TEST(dialect, sources_hold_what_they_use_and_no_more) {
  KernelText text;
  text.name = "k";
  text.num_memory = 1;
  text.body = "  store_f16(m0, 0, load_f16(m0, 1));\n";
  const std::string source = emit(Language::c11, text);
  EXPECT_NE(source.find("f32_of_f16("), source.npos);
  EXPECT_NE(source.find("bits_of_f32("), source.npos);
  for (const char* word : {"bf16", "c64", "f8_", "cast_", "load_f32", "max_"})
    EXPECT_EQ(source.find(word), source.npos) << word;
}

TEST(dialect, refuses_steps_that_a_dtype_lacks) {
  const bp_expr_node nodes[] = {{BP_X_ARG, 0, 0, 0, 0}, {BP_X_EXP, 0, 0, 0, 0}};
  const Operands operands{[](std::uint32_t) { return std::string("a"); }, {}};
  std::string statements;
  try {
    emit_expression(nodes, Dtype::i32, 1, operands, statements);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.error_class(), ErrorClass::unsupported);
    EXPECT_STREQ(error.what(),
                 "codegen: no step 'exp' of int32; cast the arguments to another dtype");
  }
}

// Constants are what the cpu backend makes of them: integers wrap, floats are not rounded by a compiler.
TEST(dialect, writes_constants_exactly) {
  const Operands operands{[](std::uint32_t) { return std::string("a"); }, {}};
  const auto text_of = [&](double number, Dtype dtype) {
    const bp_expr_node nodes[] = {{BP_X_CONST, 0, 0, 0, number}};
    std::string statements;
    emit_expression(nodes, dtype, 1, operands, statements);
    return statements.substr(statements.find("= ") + 2);
  };
  EXPECT_EQ(text_of(-1, Dtype::u8), "(u8)(-1L);\n");
  EXPECT_EQ(text_of(0.1, Dtype::f32), fmt::format("({:a}f);\n", 0.1f));
  EXPECT_EQ(text_of(2, Dtype::boolean), "(u8)(1);\n");
}

}  // namespace
}  // namespace bp::codegen

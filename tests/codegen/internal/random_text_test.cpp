// needs: cpu
// Normals without f64, as devices that lack it compute them: no device of this machine does, so that the
// text is compiled here as C.
#include "kinds/random_text.hpp"

#include <bit>
#include <cmath>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

#include <backplane/tensors.hpp>

namespace {

using namespace bp;
using KernelFunction = void (*)(void* const* memory, const void* values, const std::uint64_t* item);

// The folder goes with the test; the library stays loaded.
KernelFunction compile_c(const codegen::KernelText& text) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("bp_random_text_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const std::string source = folder / (text.name + ".c"), library = folder / (text.name + ".so");
  std::ofstream(source) << codegen::emit(codegen::Language::c11, text);
  const std::string command =
      "cc -std=c11 -O1 -ffp-contract=off -shared -fPIC -o '" + library + "' '" + source + "' -lm";
  KernelFunction found = nullptr;
  if (std::system(command.c_str()) == 0)
    if (void* loaded = dlopen(library.c_str(), RTLD_NOW))
      found = reinterpret_cast<KernelFunction>(dlsym(loaded, text.name.c_str()));
  std::filesystem::remove_all(folder);
  return found;
}

std::vector<float> draw_without_f64(std::int64_t count, std::int64_t seed, std::int64_t offset,
                                    int lanes) {
  codegen::KernelText text =
      codegen::random_text(codegen::Draw::normals, f32, {.in_f64 = false, .lanes = lanes});
  text.name += std::to_string(lanes);  // a library of the same name would count as loaded already
  const KernelFunction kernel = compile_c(text);
  if (!kernel) return {};
  std::vector<float> numbers(static_cast<std::size_t>(count));
  void* const memory[] = {numbers.data()};
  const std::int64_t values[] = {count, count / (4 * lanes) + 1, seed, offset, 0};
  const std::uint64_t item[] = {0, 0, 0, 1, 1, 1};
  kernel(memory, values, item);
  return numbers;
}

std::int64_t place(float number) {
  const auto bits = std::bit_cast<std::int32_t>(number);
  return bits < 0 ? -std::int64_t{bits & 0x7fffffff} : bits;
}

TEST(NormalsWithoutF64, agree_with_cpu_within_two_units) {
  for (int lanes : {1, 64}) {
    constexpr std::int64_t count = 4000003, seed = 17, offset = 1;
    const std::vector<float> numbers = draw_without_f64(count, seed, offset, lanes);
    ASSERT_EQ(numbers.size(), std::size_t{count});
    const Tensor expected = randn_philox({count}, seed, offset, f32, host_device());
    std::int64_t worst = 0;
    for (std::int64_t i = 0; i < count; ++i)
      worst = std::max(worst, std::abs(place(numbers[static_cast<std::size_t>(i)]) -
                                       place(expected.data<float>()[i])));
    EXPECT_LE(worst, 2);
  }
}

TEST(NormalsWithoutF64, are_right_where_logarithm_and_sine_are_smallest) {
  codegen::KernelText text =
      codegen::random_text(codegen::Draw::normals, f32, {.in_f64 = false, .lanes = 1});
  text.name += "_edges";
  text.num_memory = 2;
  text.body = R"(
    GLOBAL const u32* words = (GLOBAL const u32*)m0;
    f32 cosine, sine;
    draw_pair(words[0], words[1], &cosine, &sine);
    store_f32(m1, 0, cosine);
    store_f32(m1, 1, sine);
  )";
  const KernelFunction kernel = compile_c(text);
  ASSERT_TRUE(kernel);
  std::vector<std::uint32_t> edges;
  for (std::uint32_t around : {0u, 0x20000000u, 0x40000000u, 0x60000000u, 0x80000000u, 0xa0000000u,
                               0xb504f333u, 0xc0000000u, 0xe0000000u})
    for (std::uint32_t off = 0; off < 5; ++off) edges.push_back(around + off - 2);
  for (std::uint32_t radius : edges)
    for (std::uint32_t angle : edges) {
      const std::uint32_t words[] = {radius, angle};
      float pair[2] = {};
      void* const memory[] = {const_cast<std::uint32_t*>(words), pair};
      const std::int64_t values[5] = {};
      const std::uint64_t item[] = {0, 0, 0, 1, 1, 1};
      kernel(memory, values, item);
      // log1p keeps what is left of the logarithm close to 1.
      const long double r = std::sqrt(-2 * std::log1p((radius + 1.0L - 0x1p32L) / 0x1p32L));
      // By quarters of the circle, so that the zeros are exact.
      const std::uint32_t quarter = (angle + 0x20000000u) >> 30;
      const auto rest = static_cast<std::int32_t>(angle - (quarter << 30));
      const long double x = rest / 0x1p32L * (8 * std::atan(1.0L));
      const long double turn[] = {std::cos(x), -std::sin(x), -std::cos(x), std::sin(x)};
      EXPECT_LE(std::abs(place(pair[0]) - place(static_cast<float>(r * turn[quarter]))), 1)
          << radius << " " << angle;
      EXPECT_LE(std::abs(place(pair[1]) - place(static_cast<float>(r * turn[(quarter + 3) % 4]))),
                1)
          << radius << " " << angle;
    }
}

}  // namespace

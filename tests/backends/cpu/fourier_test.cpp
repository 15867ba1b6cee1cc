// needs: cpu
// Transforms of long lines: how much memory they take, and how much of it a thread keeps.
#include <complex>
#include <malloc.h>

#include "backends/cpu/targets.hpp"

namespace {

using namespace bp_test;
using Element = std::complex<float>;

Data elements_of(const Sizes& shape) {
  Data made(BP_COMPLEX64, shape);
  auto* const elements = reinterpret_cast<Element*>(made.bytes());
  for (int64_t i = 0; i < made.numel(); ++i)
    elements[i] = {static_cast<float>(i * 7919 % 1000) / 500 - 1,
                   static_cast<float>(i * 104729 % 1000) / 500 - 1};
  return made;
}

// Along the first dimension.
Data transformed(Data input) {
  Data made(BP_COMPLEX64, input.shape());
  run("fft_c2c", {value(input), value(0), value(1.0), value(true)}, {&made});
  return made;
}

TEST(CpuFourier, long_lines_side_by_side_are_taken_one_by_one) {
  constexpr int64_t n = 131071, count = 9;  // a prime: transforms of 262144
  constexpr uint64_t of_a_thread = uint64_t{2} * 262144 * sizeof(std::complex<double>);
  Data input = elements_of({n, count});
  Data made = transformed(input);
  EXPECT_LE(CpuPlugin::get().workspace_bytes(), 2 * of_a_thread + 4096);
  Data line(BP_COMPLEX64, {n});
  for (int64_t i = 0; i < n; ++i) line.at<Element>(i) = input.at<Element>(i * count + 4);
  Data alone = transformed(line);
  float largest = 0;
  for (int64_t i = 0; i < n; ++i)
    largest = std::max(largest, std::abs(alone.at<Element>(i) - made.at<Element>(i * count + 4)));
  EXPECT_LE(largest, 1e-2);
}

// As many as a pack holds, fewer and more: each comes out as it does alone, where it is transformed in float64.
void check_packs(int64_t n, int64_t count, const std::string& target) {
  Data input = elements_of({n, count});
  Data made = transformed(input);
  for (const int64_t line : {int64_t{0}, count / 2, count - 1}) {
    Data alone(BP_COMPLEX64, {n});
    for (int64_t i = 0; i < n; ++i) alone.at<Element>(i) = input.at<Element>(i * count + line);
    alone = transformed(alone);
    double error = 0, size = 0;
    for (int64_t i = 0; i < n; ++i) {
      error += std::norm(alone.at<Element>(i) - made.at<Element>(i * count + line));
      size += std::norm(alone.at<Element>(i));
    }
    EXPECT_LE(std::sqrt(error), 3e-7 * std::sqrt(size)) << target << ": " << count << " of " << n;
  }
}

TEST(CpuFourier, lines_come_out_of_packs_as_they_do_alone) {
  for_each_target([](const std::string& target) {
    for (const int64_t n : {1, 2, 3, 8, 35, 64, 97, 120, 1009})
      for (const int64_t count : {2, 5, 8, 15, 16, 17, 40}) check_packs(n, count, target);
  });
}

TEST(CpuFourier, is_the_same_on_every_instruction_set) {
  for (const int64_t n : {3, 35, 120, 1009, 4096})
    for (const int64_t count : {1, 8, 17}) {
      const Data input = elements_of({n, count});
      std::vector<Element> first;
      for_each_target([&](const std::string& target) {
        Data made = transformed(input);
        const auto* const elements = reinterpret_cast<const Element*>(made.bytes());
        const std::vector<Element> found(elements, elements + made.numel());
        if (first.empty()) first = found;
        EXPECT_TRUE(found == first) << target << ": " << count << " of " << n;
      });
    }
}

uint64_t allocated_bytes() {
  const struct mallinfo2 now = mallinfo2();
  return now.uordblks + now.hblkhd;
}

TEST(CpuFourier, a_thread_keeps_what_one_long_length_takes) {
  transformed(elements_of({1009}));
  const uint64_t before = allocated_bytes();
  // Primes, whose transforms are of five other lengths: all that is made for them is 200 MB.
  for (const int64_t n : {300007, 350003, 450001, 550007, 700001}) transformed(elements_of({n}));
  EXPECT_LE(allocated_bytes(), before + (uint64_t{64} << 20));
}

}  // namespace

// needs: cpu
// LAPACK inside: many threads at once, children of fork, and numbers that its iterations would not end with.
#include <atomic>
#include <cmath>
#include <complex>
#include <dlfcn.h>
#include <fstream>
#include <limits>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "direct_call.hpp"

namespace {

using namespace bp_test;

class CpuLapack : public testing::Test {
 protected:
  void SetUp() override {
    if (dlopen("liblapack.so.3", RTLD_NOW | RTLD_LOCAL) == nullptr)
      GTEST_SKIP() << "no LAPACK: apt install libopenblas0-openmp";
  }
};

Data matrices_of(const Sizes& shape, unsigned seed) {
  Data made(BP_F64, shape);
  uint64_t state = seed;
  for (int64_t i = 0; i < made.numel(); ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    made.at<double>(i) = static_cast<double>(state >> 40) / (1 << 23) - 1;
  }
  return made;
}

bp_value half_of_lower() {
  static const char letter[] = "L";
  bp_value half{};
  half.tag = BP_STRING;
  half.aux = 1;
  half.u.ptr = letter;
  return half;
}

// The largest |A X - 1|, where A x = 1 was solved.
double residual(Data& a, Data& x, int64_t n) {
  double worst = 0;
  for (int64_t i = 0; i < n; ++i) {
    double sum = -1;
    for (int64_t k = 0; k < n; ++k) sum += a.at<double>(i * n + k) * x.at<double>(k);
    worst = std::max(worst, std::fabs(sum));
  }
  return worst;
}

// A large system, which takes threads, then many small eigenvalue problems. Returns what is wrong.
int num_wrong(unsigned seed) {
  constexpr int64_t n = 250, small = 6, count = 300;
  Data a = matrices_of({n, n}, seed), b(BP_F64, {n}), x(BP_F64, {n});
  for (int64_t i = 0; i < n; ++i) {
    a.at<double>(i * n + i) += 30;
    b.at<double>(i) = 1;
  }
  CpuPlugin& plugin = CpuPlugin::get();
  int wrong = 0;
  wrong += plugin.run("linalg_solve", {value(a), value(b), value(true)}, {&x}) != BP_OK;
  wrong += residual(a, x, n) > 1e-11;
  Data many = matrices_of({count, small, small}, seed + 1);
  Data values(BP_F64, {count, small}), vectors(BP_F64, {count, small, small});
  wrong += plugin.run("linalg_eigh", {value(many), half_of_lower()}, {&values, &vectors}) != BP_OK;
  for (int64_t i = 0; i < count; ++i) {
    double trace = 0;
    for (int64_t k = 0; k < small; ++k)
      trace += many.at<double>((i * small + k) * small + k) - values.at<double>(i * small + k);
    wrong += std::fabs(trace) > 1e-12;
  }
  return wrong;
}

TEST_F(CpuLapack, serves_eight_threads_at_once) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (unsigned thread = 0; thread < 8; ++thread)
    threads.emplace_back([&, thread] {
      for (unsigned round = 0; round < 10; ++round) wrong += num_wrong(thread * 100 + round);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(CpuLapack, works_in_a_child_of_fork) {
  EXPECT_EQ(num_wrong(1), 0);  // starts the pool
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    _exit(num_wrong(2) == 0 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(CpuLapack, numbers_that_are_not_finite_end_and_print_nothing) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  for (const double bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
    for (const int64_t n : {1, 2, 30, 130}) {
      Data a = matrices_of({n, n}, 3);
      a.at<double>(n * n - 1) = bad;
      Data out(BP_F64, {n, n}), values(BP_F64, {n}), left(BP_F64, {n, n}), right(BP_F64, {n, n});
      run("linalg_cholesky", {value(a), value(false)}, {&out});
      run("linalg_inv", {value(a)}, {&out});
      run("linalg_eigh", {value(a), half_of_lower()}, {&values, &out});
      EXPECT_TRUE(std::isnan(values.at<double>(0)));
      run("linalg_svd", {value(a), value(true)}, {&left, &values, &right});
      EXPECT_TRUE(std::isnan(values.at<double>(0)));
      Data complex_values(BP_COMPLEX128, {n}), complex_vectors(BP_COMPLEX128, {n, n});
      run("linalg_eig", {value(a)}, {&complex_values, &complex_vectors});
      EXPECT_TRUE(std::isnan(complex_values.at<std::complex<double>>(0).real()));
    }
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

// Leaves this process `bytes` more than it has.
bool limit_memory(uint64_t bytes) {
  uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t all = pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) + bytes;
  const rlimit limit{all, all};
  return pages != 0 && setrlimit(RLIMIT_AS, &limit) == 0;
}

TEST_F(CpuLapack, thin_singular_vectors_take_no_room_for_square_ones) {
  constexpr int64_t m = 16000, n = 8;  // m * m numbers are 2 GB
  Data tall = matrices_of({m, n}, 5), wide = matrices_of({n, m}, 6), values(BP_F64, {n});
  Data small(BP_F64, {n, n}), other(BP_F64, {n, n}), columns(BP_F64, {m, n}), rows(BP_F64, {n, m});
  Data some = matrices_of({n, n}, 7);
  run("linalg_svd", {value(some), value(false)}, {&small, &values, &other});  // opens the library
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    if (!limit_memory(uint64_t{1} << 30)) _exit(2);
    CpuPlugin& plugin = CpuPlugin::get();
    const bool are_found =
        plugin.run("linalg_svd", {value(tall), value(false)}, {&columns, &values, &small}) ==
            BP_OK &&
        plugin.run("linalg_svd", {value(wide), value(false)}, {&small, &values, &rows}) == BP_OK;
    _exit(are_found ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// The columns before the first pivot that is not positive are those of the factor; from there on all is NaN.
TEST_F(CpuLapack, factors_end_where_a_matrix_is_not_positive) {
  constexpr int64_t n = 150;
  for (const int64_t bad : {0, 1, 70, 149})
    for (const bool upper : {false, true}) {
      Data a(BP_F64, {n, n}), out(BP_F64, {n, n}), good(BP_F64, {n, n});
      for (int64_t i = 0; i < n; ++i)
        for (int64_t k = 0; k < n; ++k) a.at<double>(i * n + k) = i == k ? 10 : 1.0 / (1 + i + k);
      run("linalg_cholesky", {value(a), value(upper)}, {&good});
      a.at<double>(bad * n + bad) = -1;
      run("linalg_cholesky", {value(a), value(upper)}, {&out});
      for (int64_t i = 0; i < n; ++i)
        for (int64_t k = 0; k <= i; ++k) {
          const int64_t place = upper ? k * n + i : i * n + k;
          const double found = out.at<double>(place);
          if (k >= bad) {
            ASSERT_TRUE(std::isnan(found)) << i << " " << k;
          } else if (i != bad) {
            ASSERT_NEAR(found, good.at<double>(place), 1e-13) << i << " " << k;
          }
        }
    }
}

}  // namespace

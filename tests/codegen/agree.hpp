// Do a device's results agree with cpu's? All samples of a row, on both.
#pragma once

#include <gtest/gtest.h>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <backplane/dispatcher/operator.hpp>
#include <backplane/tensors.hpp>

namespace bp::test {

// Devices that compile: the first two are on every machine, tests of the last skip without a card.
inline constexpr const char* compiling_devices[] = {"reference_compiler:0", "opencl:0", "cuda:0"};

// Can the device be opened on this machine, and may tests of rows use it in this build?
bool has_device(std::string_view name);
#define BP_SKIP_WITHOUT(device_name) \
  if (!::bp::test::has_device(device_name)) GTEST_SKIP() << device_name << " is not on this machine"

// The dtypes that tests of rows go through.
inline constexpr Dtype usual_dtypes[] = {f32, f64, f16, bf16, i32, i64, u8, boolean, complex64};

// Every sample of the row in each dtype that it takes, called on cpu and on the device: same shape and
// dtype, elements within `tolerance` (the row's, unless another is given), and no call went to the host.
// Failures name operator, dtype, recipe, element and both values. A row that computes in none of the
// dtypes is tried in the first. With $BP_SMALL_SAMPLES the large sample is left out, for slow watchers.
void expect_row_agrees(std::string_view op, std::string_view device,
                       std::span<const Dtype> dtypes = usual_dtypes,
                       std::string_view tolerance = {});

// The row's tolerance, or a looser one where the device may run the row by its decomposition and cpu does not.
std::string_view tolerance_of_parts(const Operator& op, Dtype dtype);

// Element by element within a row's tolerance: "exact", "3 ulp", "accumulation", "shape"; or
// "2 units of the largest" result's last place, in its own dtype. NaN equals NaN.
// Zeros of different sign differ where `signs_count`.
void expect_agrees(const Tensor& actual, const Tensor& expected, std::string_view tolerance,
                   const std::string& what, bool signs_count = true);

// Runs `call` and expects that no operator of the device's backend went to the host meanwhile.
template <class Call>
void expect_stays_on(std::string_view device, const std::string& what, Call&& call);

// Rows of the table of one kind (BP_KIND_*), views left out.
std::vector<const Operator*> rows_of_kind(std::uint32_t kind);

namespace detail {
// Calls of the device's backend so far that went to the host, or failed.
std::string calls_off_the_device(std::string_view device);
}  // namespace detail

template <class Call>
void expect_stays_on(std::string_view device, const std::string& what, Call&& call) {
  reset_call_counts();
  call();
  EXPECT_EQ(detail::calls_off_the_device(device), "") << what;
}

}  // namespace bp::test

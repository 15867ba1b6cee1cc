// needs: cpu
// max_pool_backward against additions one by one: many windows for one place, planes of any rank, each order in memory of
// gradient, indices and result, special values, and indices outside of their plane.
#include <cmath>
#include <limits>
#include <random>

#include "direct_call.hpp"

namespace {

using namespace bp_test;

// [batch, channels, ...] with the channels next to each other.
Data channels_last_data(uint32_t dtype, const Sizes& of) {
  return Data(dtype, {of[0], of[2], of[3], of[1]}).permuted({0, 3, 1, 2});
}

int64_t elements_of_plane(const Sizes& shape) {
  int64_t elements = 1;
  for (size_t dim = 2; dim < shape.size(); ++dim) elements *= shape[dim];
  return elements;
}

template <class T> std::vector<T> summed_one_by_one(Data& grad, Data& indices, const Sizes& size) {
  const int64_t plane = elements_of_plane(size);
  const int64_t windows = grad.numel() / (size[0] * size[1]);
  std::vector<T> sums(static_cast<size_t>(size[0] * size[1] * plane));
  for (int64_t i = 0; i < grad.numel(); ++i)
    sums[static_cast<size_t>(i / windows * plane + indices.at<int64_t>(i))] += grad.at<T>(i);
  return sums;
}

// Equal to the last bit, since the additions have one order.
template <class T> void expect_sums(Data& grad, Data& indices, Data out, const Sizes& size) {
  for (int64_t i = 0; i < out.numel(); ++i) out.at<T>(i) = T(77);  // what was there does not matter
  run("max_pool_backward", {value(grad), value(indices), value(size)}, {&out});
  const std::vector<T> sums = summed_one_by_one<T>(grad, indices, size);
  for (int64_t i = 0; i < out.numel(); ++i) {
    const T found = out.at<T>(i), sum = sums[static_cast<size_t>(i)];
    ASSERT_TRUE(found == sum || (std::isnan(found) && std::isnan(sum)))
        << "element " << i << ": " << found << " is not " << sum;
  }
}

template <class T> void fill_gradient(Data& grad, std::mt19937& random) {
  const T special[] = {std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity(),
                       -std::numeric_limits<T>::infinity(), std::numeric_limits<T>::denorm_min()};
  for (int64_t i = 0; i < grad.numel(); ++i)
    grad.at<T>(i) = random() % 64 == 0 ? special[random() % 4]
                                       : static_cast<T>(random() % 2001) / T(1000) - T(1);
}

template <class T>
void expect_sums_in_all_layouts(const Sizes& windows, const Sizes& size, uint32_t dtype,
                                std::mt19937& random) {
  const int64_t plane = elements_of_plane(size);
  std::vector<Data> grads{Data(dtype, windows)}, places{Data(BP_I64, windows)},
      results{Data(dtype, size)};
  if (size.size() == 4) {
    grads.push_back(channels_last_data(dtype, windows));
    places.push_back(channels_last_data(BP_I64, windows));
    results.push_back(channels_last_data(dtype, size));
  }
  for (Data& grad : grads)
    for (Data& indices : places)
      for (Data& out : results) {
        fill_gradient<T>(grad, random);
        const auto some = static_cast<uint32_t>(random() % 2 ? plane : std::min<int64_t>(plane, 3));
        for (int64_t i = 0; i < indices.numel(); ++i) indices.at<int64_t>(i) = random() % some;
        expect_sums<T>(grad, indices, out, size);
      }
}

TEST(CpuMaxPoolingBackward, matches_additions_one_by_one) {
  std::mt19937 random(5);
  const auto upto = [&](int64_t most) { return static_cast<int64_t>(random()) % most + 1; };
  for (int i = 0; i < 120; ++i) {
    const size_t rank = i % 3 + 1;
    // More channels than are taken at once, and planes that several threads share.
    const int64_t channels = i % 12 == 1 ? 150 : upto(9), most = i % 12 == 4 ? 70 : 9;
    Sizes windows{upto(4), channels}, size = windows;
    for (size_t dim = 0; dim < rank; ++dim) {
      windows.push_back(upto(most));
      size.push_back(upto(most));
    }
    SCOPED_TRACE("pool " + std::to_string(i));
    expect_sums_in_all_layouts<float>(windows, size, BP_F32, random);
    expect_sums_in_all_layouts<double>(windows, size, BP_F64, random);
  }
}

// Wherever it is, and however large: nothing is written, and the message names the first.
TEST(CpuMaxPoolingBackward, refuses_indices_outside_of_their_plane) {
  const Sizes windows{2, 3, 2, 2}, size{2, 3, 3, 5};
  Data grad(BP_F32, windows);
  for (int64_t i = 0; i < grad.numel(); ++i) grad.at<float>(i) = 1;
  for (const bool are_last : {false, true}) {
    Data out = are_last ? channels_last_data(BP_F32, size) : Data(BP_F32, size);
    for (const int64_t bad : {int64_t{15}, int64_t{-1}, std::numeric_limits<int64_t>::max(),
                              std::numeric_limits<int64_t>::min(), int64_t{1} << 32})
      for (int64_t at = 0; at < grad.numel(); at += 5) {
        Data indices(BP_I64, windows);
        for (int64_t i = 0; i < indices.numel(); ++i) indices.at<int64_t>(i) = i % 15;
        indices.at<int64_t>(at) = bad;
        EXPECT_EQ(refusal("max_pool_backward", {value(grad), value(indices), value(size)}, {&out}),
                  "max_pool_backward: index " + std::to_string(bad) +
                      " is out of range for planes of 15 elements; pass the indices that the pool "
                      "returned");
        for (int64_t i = 0; i < out.numel(); ++i) ASSERT_EQ(out.at<float>(i), 0) << i;
      }
  }
}

}  // namespace

// What tests of operators along dimensions share: the devices, tensors of many layouts, on cpu and elsewhere.
#pragma once

#include <random>
#include <string>
#include <vector>

#include <backplane/tensor/views.hpp>

#include "codegen/agree.hpp"

namespace bp::test {

// All that is computed with.
inline constexpr Dtype computing_dtypes[] = {
    boolean, u8, i8, i16, i32, i64, u16, u32, u64, f16, bf16, f32, f64, complex64, complex128};

// The compilers of OpenCL and CUDA take a second for each kernel: there, the usual ones.
inline std::span<const Dtype> dtypes_for(std::string_view device) {
  if (device.starts_with("opencl") || device.starts_with("cuda")) return usual_dtypes;
  return computing_dtypes;
}

inline std::string device_test_name(const testing::TestParamInfo<const char*>& each) {
  const std::string name = each.param;
  return name.substr(0, name.find(':'));
}

// One tensor on cpu and on the device: equal elements, shape and strides.
struct Twin {
  Tensor host, device;

  template <class View> Twin viewed(View&& view) const { return {view(host), view(device)}; }
};

inline Twin twin(const Tensor& host, const char* device_name) {
  return {host, to(host, device(device_name))};
}

// Small whole numbers, so that sums are exact in any order.
inline Tensor whole_numbers(IntList shape, Dtype dtype, std::mt19937& random) {
  std::int64_t numel = 1;
  for (std::int64_t size : shape) numel *= size;
  std::vector<float> values(static_cast<std::size_t>(numel));
  const int lowest = dtype == boolean || dtype == u8 ? 0 : -4;
  for (float& value : values) value = static_cast<float>(lowest + static_cast<int>(random() % 9));
  return to(tensor(values, shape), dtype);
}

inline Tensor fractions(IntList shape, std::mt19937& random) {
  std::int64_t numel = 1;
  for (std::int64_t size : shape) numel *= size;
  std::vector<float> values(static_cast<std::size_t>(numel));
  std::uniform_real_distribution<float> between(-1, 1);
  for (float& value : values) value = between(random);
  return tensor(values, shape);
}

// A tensor of some rank up to 4, permuted, or with gaps, or with a repeated dimension.
inline Twin any_layout(Dtype dtype, const char* device_name, std::mt19937& random) {
  const auto rank = static_cast<std::int64_t>(1 + random() % 4);
  const std::int64_t largest = rank == 1 ? 3000 : rank == 2 ? 150 : rank == 3 ? 40 : 12;
  Dims shape;
  for (std::int64_t i = 0; i < rank; ++i)
    shape.push_back(1 + static_cast<std::int64_t>(random()) % largest);
  const auto dim = static_cast<std::int64_t>(random()) % rank;
  const auto other = static_cast<std::int64_t>(random()) % rank;
  const unsigned how = random() % 4;
  if (how == 3) shape[dim] = 1;
  const Twin base = twin(whole_numbers(shape, dtype, random), device_name);
  return base.viewed([&](const Tensor& a) {
    if (how == 1) return views::transpose(a, dim, other);
    if (how == 2) return views::slice(views::transpose(a, dim, other), other, {}, {}, 2);
    if (how == 3) {
      Dims wider(a.shape());
      wider[dim] = 7;
      return views::expand(a, wider);
    }
    return a;
  });
}

}  // namespace bp::test

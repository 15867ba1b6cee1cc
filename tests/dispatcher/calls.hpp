// What tests of calls share: values in and out of any device, which rung served, what an error said.
#pragma once

#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <string_view>
#include <vector>

#include <backplane/dispatcher/counters.hpp>
#include <backplane/dispatcher/registry.hpp>
#include <backplane/dispatcher/transfer.hpp>
#include <backplane/loading/loader.hpp>
#include <backplane/runtime/allocator.hpp>
#include <backplane/runtime/stream.hpp>
#include <backplane/tensors.hpp>

namespace bp::test {

inline std::string test_plugin(const std::string& name) {
  return BP_TEST_PLUGIN_DIR "/libbackplane_" + name + ".so";
}

// The first device of a plugin for tests, which is loaded once and stays.
inline Device test_device(const std::string& name) {
  const Backend& backend = load_plugin(test_plugin(name));
  return backend.devices.front()->device;
}

template <class T>
Tensor given(const std::vector<T>& values, const std::vector<std::int64_t>& shape,
             Device device = host_device()) {
  const Tensor tensor = empty_tensor(shape, DtypeOf<T>::value, device);
  EXPECT_EQ(static_cast<std::size_t>(tensor.numel()), values.size());
  copy_from_host_memory(tensor, values.data());
  return tensor;
}
inline Tensor given(const std::vector<float>& values, Device device = host_device()) {
  return given(values, {static_cast<std::int64_t>(values.size())}, device);
}

// 0, 1, 2 ... in f32.
inline Tensor counted(const std::vector<std::int64_t>& shape, Device device = host_device()) {
  std::vector<float> values(static_cast<std::size_t>(checked_numel("counted", shape)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  return given(values, shape, device);
}

// All elements in row-major order, from whatever device and strides.
template <class T = float> std::vector<T> values(const Tensor& tensor) {
  EXPECT_EQ(tensor.dtype(), DtypeOf<T>::value);
  std::vector<T> result(static_cast<std::size_t>(tensor.numel()));
  copy_to_host_memory(tensor, result.data());
  return result;
}

inline void expect_same(const Tensor& actual, const Tensor& expected) {
  ASSERT_TRUE(actual.defined() && expected.defined());
  EXPECT_EQ(actual.dtype(), expected.dtype());
  ASSERT_EQ(to_string(actual.shape()), to_string(expected.shape()));
  std::vector<unsigned char> a(actual.nbytes()), b(expected.nbytes());
  copy_to_host_memory(actual, a.data());
  copy_to_host_memory(expected, b.data());
  EXPECT_TRUE(a == b) << "got " << format(to_device(actual, host_device()), {}) << "\nexpected "
                      << format(to_device(expected, host_device()), {});
}

// What a call's error says; "no error" without one.
template <class F> std::string error_of(F&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}
template <class F> ErrorClass class_of_error(F&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.error_class();
  }
  ADD_FAILURE() << "no error";
  return ErrorClass::internal;
}

// Which rungs served an operator on a backend since this was made: "native 2, host 1".
class Served {
 public:
  Served(std::string_view op, std::string_view backend)
      : op_(op), backend_(backend), before_(now()) {}
  std::string since() const {
    const CallCount after = now();
    std::string text;
    for (std::uint32_t r = 0; r < num_rungs - 1; ++r)
      if (const std::uint64_t calls = after.calls[r] - before_.calls[r])
        text += std::string(text.empty() ? "" : ", ") + name(static_cast<Rung>(r)) + " " +
                std::to_string(calls);
    return text.empty() ? "not at all" : text;
  }

 private:
  CallCount now() const {
    for (CallCount& row : call_counts())
      if (row.op == op_ && row.backend == backend_) return row;
    return {};
  }

  std::string op_, backend_;
  CallCount before_;
};

// The host's device still computes.
inline void expect_cpu_works() {
  EXPECT_EQ(values(add(given({1, 2, 3}), given({4, 5, 6}))), (std::vector<float>{5, 7, 9}));
}

}  // namespace bp::test

// One call of a generated kernel: what a kind's `run` has in hand.
#pragma once

#include <array>
#include <cstring>
#include <initializer_list>

#include <backplane/extensions/compiler.h>

#include "device/device_compiler.hpp"

namespace bp::codegen {

// The values of a launch, in the order of KernelText::values.
class Values {
 public:
  Values() {}  // not zeroed: of the room, most calls use little
  Values& add(std::int64_t value) { return add_word(&value); }
  Values& add(double value) { return add_word(&value); }
  template <class Range> Values& add_all(const Range& range) {
    for (std::int64_t each : range) add(each);
    return *this;
  }
  const void* data() const { return words_.data(); }
  std::uint32_t bytes() const { return 8 * count_; }

 private:
  Values& add_word(const void* word) {
    if (count_ == words_.size())
      throw_error(ErrorClass::internal, "codegen: a kernel has too many values");
    std::memcpy(&words_[count_++], word, 8);
    return *this;
  }
  std::array<std::uint64_t, 256> words_;
  std::uint32_t count_ = 0;
};

// How many work-items, along up to three dimensions, and how many form a group. A group of 0 leaves it
// to the launch: 1 on processors, 256 along the first dimension elsewhere.
struct Grid {
  std::uint64_t items[3] = {1, 1, 1};
  std::uint64_t group[3] = {0, 1, 1};
};

// Groups of a kernel that is compiled for them (KernelText::group_size).
inline Grid grid_of_groups(std::int64_t groups, unsigned size) {
  Grid grid;
  grid.items[0] = static_cast<std::uint64_t>(groups) * size;
  grid.group[0] = size;
  return grid;
}

// Where a tensor lies: its allocation, and the first byte in it.
inline bp_handle handle_of(const bp_tensor& tensor) {
  return reinterpret_cast<bp_handle>(tensor.dl.data);
}
inline std::int64_t offset_of(const bp_tensor& tensor) {
  return static_cast<std::int64_t>(tensor.dl.byte_offset);
}

class Invocation {
 public:
  Invocation(const bp_call& of, const bp_host& host, DeviceCompiler& on, FunctionTable& functions)
      : call(of), device(on), host_(host), functions_(functions) {}

  const bp_call& call;
  DeviceCompiler& device;

  const bp_compiler_info& info() const { return device.info(); }
  bool for_cpu() const { return info().shape == BP_SHAPE_CPU; }
  // Throws unsupported, which sends the call to the next rung, unless kernels can compute in `dtype`.
  void require(Dtype dtype) const;

  const bp_value& arg(std::uint32_t i) const { return call.args[i]; }
  const bp_tensor& tensor(std::uint32_t i) const { return *call.args[i].u.tensor; }
  const bp_tensor& output(std::uint32_t i = 0) const { return *call.outputs[i]; }

  // The function of this operator on this device for `variant`, a number that says all that the text
  // depends on. Compiled when it is first needed; afterwards a look-up.
  template <class MakeText> bp_function* function(std::uint64_t variant, MakeText&& make_text) {
    if (bp_function* found = functions_.find(variant)) [[likely]]
      return found;
    return functions_.add(variant, device.build(make_text()));
  }

  // Memory on the device for this call's work. Only for kernels that declare `uses_scratch`.
  bp_region scratch(std::uint64_t bytes);

  void launch(bp_function* function, const Grid& grid, std::initializer_list<bp_handle> memory,
              const Values& values) {
    launch(function, grid, memory.begin(), memory.size(), values);
  }
  void launch(bp_function* function, const Grid& grid, const bp_handle* memory,
              std::size_t num_memory, const Values& values);

 private:
  const bp_host& host_;
  FunctionTable& functions_;
};

}  // namespace bp::codegen

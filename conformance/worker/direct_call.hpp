// One bp_call, made from a step.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include <backplane/dispatcher/operator.hpp>

#include "protocol/script.hpp"
#include "worker/direct_plugin.hpp"
#include "worker/scope.hpp"

namespace bp::conform {

// A tensor of a call, and the object behind it.
struct DirectTensor {
  TensorImpl impl{};  // its first member is what the plugin sees
  int object = 0;
  std::uint64_t offset = 0;  // bytes from the object's first byte
};

// Where an object lies.
struct ObjectPlace {
  bp_handle handle = 0;
  std::uint64_t front = 0;
};

// Arguments and outputs point into the other members: it stays where it is.
struct DirectCall {
  Operator* op = nullptr;
  std::deque<DirectTensor> tensors;
  std::vector<bp_value> args;
  std::vector<DirectTensor*> outputs;
  std::vector<DirectTensor*> inputs;
  ArgumentLists lists;

  DirectCall() = default;
  DirectCall(const DirectCall&) = delete;
  DirectCall& operator=(const DirectCall&) = delete;
};

// From {"op", "args", "outputs"}; `place_of` says where objects lie. Missing arguments take their defaults.
std::unique_ptr<DirectCall> read_call(const Json& step, const DirectPlugin& plugin,
                                      const std::function<ObjectPlace(int object)>& place_of);

// Does the declaration take the call? As the core asks, without `supports`.
bool declaration_takes(const DirectKernel& kernel, const DirectCall& call, bool deterministic);

// The bytes of the tensor's elements, as spans from the object's first byte, in the order of memory where it is dense.
void for_each_span(const DirectTensor& tensor,
                   const std::function<void(std::uint64_t offset, std::uint64_t bytes)>& f);

}  // namespace bp::conform

// Structs as a host of another level gives them: cut to their size at an older level, or longer than any plugin knows.
// Each ends where a page begins that nobody may touch, so that a look behind its end ends the worker.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include <backplane/abi.h>

#include "protocol/script.hpp"

namespace bp::conform {

// Of a step's "skew": "level1" is a host of level 1, "padded" one of a later level than there is.
struct Skew {
  std::uint32_t level = 0;  // 0: none older
  bool padded = false;
  explicit operator bool() const { return level != 0 || padded; }
};
Skew read_skew(const Json& step);
// All that there are, by the words of a step.
std::vector<std::string> skew_names();

class SkewedStruct {
 public:
  // A copy of the struct `name` of abi.lock, which has `known` bytes here.
  SkewedStruct(std::string_view name, const void* from, std::size_t known, Skew skew);
  SkewedStruct(const SkewedStruct&) = delete;
  SkewedStruct& operator=(const SkewedStruct&) = delete;
  ~SkewedStruct();

  template <class T> T* as() const { return static_cast<T*>(at_); }
  // What was written where only a later level has fields, as a sentence; empty: nothing.
  std::string fault() const;

 private:
  const std::string name_;
  const std::size_t known_;
  std::size_t bytes_ = 0, mapped_ = 0;
  void *pages_ = nullptr, *at_ = nullptr;
};

// A call with all that it points to. The original outlives it; `op` is a host's for as long as it lives.
class SkewedCall {
 public:
  SkewedCall(const bp_call& call, const bp_operator* op, Skew skew);
  const bp_call* get() const { return call_->as<const bp_call>(); }
  // An output that was allocated during the call.
  void show(std::uint32_t index, const bp_tensor& tensor);
  std::string fault() const;

 private:
  bp_tensor* copy(const bp_tensor& tensor);

  const Skew skew_;
  std::deque<SkewedStruct> structs_;
  std::vector<bp_value> args_;
  std::vector<bp_tensor*> outputs_;
  std::deque<std::vector<const bp_tensor*>> lists_;
  SkewedStruct* call_ = nullptr;
};

}  // namespace bp::conform

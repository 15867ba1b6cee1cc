// A call as bindings and bridges make it: through the table for C, arguments as values, into an existing result.
#pragma once

#include <backplane/backplane_client.h>
#include <backplane/dispatcher/operator.hpp>
#include <backplane/tensors.hpp>

// add of one element on cpu. Copies call the same tensors.
class BoxedAdd {
 public:
  BoxedAdd();
  void call();
  // What runs at the end of the call, with the arguments that it gets there.
  void run_kernel();

 private:
  const bp_client* client_ = nullptr;
  bp::Tensor a_, b_, out_;
  const bp_operator* op_ = nullptr;
  bp_value args_[3];  // alpha at its default
  bp_tensor* outputs_[1];
  bp::KernelEntry kernel_;
  bp_call raw_{};
};

// Reports the call, the kernel alone, and the difference.
void measure_boxed();

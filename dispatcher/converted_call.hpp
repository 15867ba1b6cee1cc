// A copy of a call with converted arguments; the original call stays as it is until the results are ready.
#pragma once

#include <algorithm>

#include <backplane/dispatcher/frame.hpp>

namespace bp {

inline constexpr std::uint32_t max_converted_args = 64;

struct ConvertedCall {
  explicit ConvertedCall(const Frame& frame)
      : results(frame.call.num_results), call{frame.call.op, args, frame.call.num_args,
                                              results.data(), frame.call.num_results} {
    std::copy_n(frame.call.args, std::min(frame.call.num_args, max_converted_args), args);
  }
  ConvertedCall(const ConvertedCall&) = delete;
  ConvertedCall& operator=(const ConvertedCall&) = delete;

  // Passes the results to the frame, in the dtypes that its rule has determined.
  void deliver(Frame& frame);

  bp_value args[max_converted_args];
  PerResult<Tensor> results;
  Call call;
  Temporaries kept;
};

// Whether the backend has kernels that convert from one dtype to the other.
bool converts_by_kernel(const Frame& frame, Dtype from, Dtype to);

// The tensor in this dtype, contiguous.
Tensor converted(const bp_tensor* tensor, Dtype dtype);

}  // namespace bp

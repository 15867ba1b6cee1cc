// A recurrent network as cuDNN takes it: its descriptions, and where its weights go.
#pragma once

#include <optional>
#include <vector>

#include <backplane/plugin.hpp>

#include "kernels/cudnn/library.hpp"

namespace cuda_backend::cudnn {

// A call of one of the rows.
struct RecurrentCall {
  cudnnRNNMode_t mode;
  bp::In input, first_state;
  std::optional<bp::In> first_cell;  // of lstm, as last_cell
  bp::InList params;
  bool has_biases;
  int64_t num_layers;
  bool bidirectional, batch_first;
  bp::Out output, last_state;
  std::optional<bp::Out> last_cell;

  int64_t steps() const { return input.size(batch_first ? 1 : 0); }
  int64_t batch() const { return input.size(batch_first ? 0 : 1); }
  int64_t hidden() const { return first_state.size(2); }
  int64_t directions() const { return bidirectional ? 2 : 1; }
  int64_t num_gates() const { return mode == CUDNN_LSTM ? 4 : mode == CUDNN_GRU ? 3 : 1; }
};

// What calls of the same shapes and dtypes share. Used by one thread at a time; throws Refused.
class RecurrencePlan {
 public:
  RecurrencePlan(const Library& library, cudnnHandle_t handle, const RecurrentCall& c);
  ~RecurrencePlan() { release(); }
  RecurrencePlan(const RecurrencePlan&) = delete;
  RecurrencePlan& operator=(const RecurrencePlan&) = delete;

  // For the weights in the library's order, then what it works in.
  uint64_t workspace_bytes() const { return aligned(weight_bytes_) + aligned(work_bytes_); }
  // Asynchronous on `stream`, which is the handle's.
  void run(cudnnHandle_t handle, const RecurrentCall& c, char* workspace,
           cudaStream_t stream) const;

  static constexpr uint64_t alignment = 256;

 private:
  static uint64_t aligned(uint64_t bytes) { return (bytes + alignment - 1) & ~(alignment - 1); }

  void describe_network(cudnnHandle_t handle, const RecurrentCall& c);
  void describe_sequences(const RecurrentCall& c);
  void copy_weights(cudnnHandle_t handle, const RecurrentCall& c, char* weights,
                    cudaStream_t stream) const;
  void copy_part(const bp::In& from, int64_t gate, int64_t num_gates,
                 cudnnTensorDescriptor_t described, void* to, cudaStream_t stream) const;
  void release();

  const Library& library_;
  cudnnDropoutDescriptor_t dropout_ = nullptr;
  cudnnRNNDescriptor_t network_ = nullptr;
  cudnnRNNDataDescriptor_t input_ = nullptr, output_ = nullptr;
  cudnnTensorDescriptor_t states_ = nullptr, weight_ = nullptr, bias_ = nullptr;
  size_t weight_bytes_ = 0, work_bytes_ = 0;
};

}  // namespace cuda_backend::cudnn

#include "kernels/cudnn/recurrence_plan.hpp"

#include <array>
#include <cuda_runtime_api.h>

#include "kernels/cudnn/graph.hpp"

namespace cuda_backend::cudnn {
namespace {

// f32 is multiplied as f32 unless the application allows less; 16-bit floats by the units that are there for them.
cudnnMathType_t math_of(bp::Dtype dtype) {
  if (dtype != bp::f32) return CUDNN_TENSOR_OP_MATH;
  return bp::allow_tf32() ? CUDNN_DEFAULT_MATH : CUDNN_FMA_MATH;
}

}  // namespace

RecurrencePlan::RecurrencePlan(const Library& library, cudnnHandle_t handle, const RecurrentCall& c)
    : library_(library) {
  try {
    describe_network(handle, c);
    describe_sequences(c);
    require(library_.create_tensor(&weight_), "a weight");
    require(library_.create_tensor(&bias_), "a bias");
    require(library_.rnn_weight_bytes(handle, network_, &weight_bytes_), "a network's weights");
    size_t for_training = 0;
    require(library_.rnn_workspace_bytes(handle, network_, CUDNN_FWD_MODE_INFERENCE, input_,
                                         &work_bytes_, &for_training),
            "a network's workspace");
  } catch (...) {
    release();
    throw;
  }
}

void RecurrencePlan::release() {
  if (dropout_ != nullptr) library_.destroy_dropout(dropout_);
  if (network_ != nullptr) library_.destroy_rnn(network_);
  for (cudnnRNNDataDescriptor_t each : {input_, output_})
    if (each != nullptr) library_.destroy_rnn_data(each);
  for (cudnnTensorDescriptor_t each : {states_, weight_, bias_})
    if (each != nullptr) library_.destroy_tensor(each);
}

void RecurrencePlan::describe_network(cudnnHandle_t handle, const RecurrentCall& c) {
  const bp::Dtype dtype = c.input.dtype();
  require(library_.create_dropout(&dropout_), "dropout");
  require(library_.set_dropout(dropout_, handle, 0, nullptr, 0, 0), "no dropout");
  require(library_.create_rnn(&network_), "a network");
  const auto hidden = static_cast<int32_t>(c.hidden());
  // Padded, as the library calls sequences that are not packed.
  require(
      library_.set_rnn(network_, CUDNN_RNN_ALGO_STANDARD, c.mode,
                       c.has_biases ? CUDNN_RNN_DOUBLE_BIAS : CUDNN_RNN_NO_BIAS,
                       c.bidirectional ? CUDNN_BIDIRECTIONAL : CUDNN_UNIDIRECTIONAL,
                       CUDNN_LINEAR_INPUT, type_of(dtype), CUDNN_DATA_FLOAT, math_of(dtype),
                       static_cast<int32_t>(c.input.size(2)), hidden, hidden,
                       static_cast<int32_t>(c.num_layers), dropout_, CUDNN_RNN_PADDED_IO_ENABLED),
      "a network");
}

void RecurrencePlan::describe_sequences(const RecurrentCall& c) {
  const auto batch = static_cast<int>(c.batch()), steps = static_cast<int>(c.steps());
  const std::vector<int> lengths(static_cast<size_t>(batch), steps);
  float padding = 0;  // at least as large as any element
  const auto describe = [&](cudnnRNNDataDescriptor_t& made, int64_t size) {
    require(library_.create_rnn_data(&made), "sequences");
    require(library_.set_rnn_data(made, type_of(c.input.dtype()),
                                  c.batch_first ? CUDNN_RNN_DATA_LAYOUT_BATCH_MAJOR_UNPACKED
                                                : CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED,
                                  steps, batch, static_cast<int>(size), lengths.data(), &padding),
            "sequences");
  };
  describe(input_, c.input.size(2));
  describe(output_, c.directions() * c.hidden());
  const auto hidden = static_cast<int>(c.hidden());
  const std::array<int, 3> sizes{static_cast<int>(c.num_layers * c.directions()), batch, hidden};
  const std::array<int, 3> strides{batch * hidden, hidden, 1};
  require(library_.create_tensor(&states_), "states");
  require(library_.set_tensor(states_, type_of(c.input.dtype()), 3, sizes.data(), strides.data()),
          "states");
}

// One gate's rows of a weight or a bias.
void RecurrencePlan::copy_part(const bp::In& from, int64_t gate, int64_t num_gates,
                               cudnnTensorDescriptor_t described, void* to,
                               cudaStream_t stream) const {
  const int64_t count = from.numel() / num_gates;
  std::array<int, 3> sizes{}, strides{};
  cudnnDataType_t type{};
  int ndim = 0;
  require(library_.get_tensor(described, 3, &type, &ndim, sizes.data(), strides.data()),
          "a weight");
  if (ndim != 3 || int64_t{sizes[0]} * sizes[1] * sizes[2] != count || to == nullptr)
    throw Refused{CUDNN_STATUS_BAD_PARAM, "a weight of another size"};
  const uint64_t bytes = static_cast<uint64_t>(count) * from.itemsize();
  if (cudaMemcpyAsync(to, from.data<char>() + static_cast<uint64_t>(gate) * bytes, bytes,
                      cudaMemcpyDeviceToDevice, stream) != cudaSuccess)
    throw Refused{CUDNN_STATUS_EXECUTION_FAILED, "a copy of a weight"};
}

void RecurrencePlan::copy_weights(cudnnHandle_t handle, const RecurrentCall& c, char* weights,
                                  cudaStream_t stream) const {
  const int64_t gates = c.num_gates();
  const size_t of_run = c.has_biases ? 4 : 2;
  for (int64_t run = 0; run < c.num_layers * c.directions(); ++run) {
    // The library numbers the gates of the input, then those of the state, in our order.
    for (int64_t id = 0; id < 2 * gates; ++id) {
      void *weight = nullptr, *bias = nullptr;
      require(
          library_.rnn_weight(handle, network_, static_cast<int32_t>(run), weight_bytes_, weights,
                              static_cast<int32_t>(id), weight_, &weight, bias_, &bias),
          "a weight");
      const size_t param = static_cast<size_t>(run) * of_run + static_cast<size_t>(id / gates);
      copy_part(c.params[param], id % gates, gates, weight_, weight, stream);
      if (c.has_biases) copy_part(c.params[param + 2], id % gates, gates, bias_, bias, stream);
    }
  }
}

void RecurrencePlan::run(cudnnHandle_t handle, const RecurrentCall& c, char* workspace,
                         cudaStream_t stream) const {
  copy_weights(handle, c, workspace, stream);
  require(
      library_.rnn_forward(handle, network_, CUDNN_FWD_MODE_INFERENCE, nullptr, input_,
                           c.input.data<void>(), output_, c.output.data<void>(), states_,
                           c.first_state.data<void>(), c.last_state.data<void>(), states_,
                           c.first_cell ? c.first_cell->data<void>() : nullptr,
                           c.last_cell ? c.last_cell->data<void>() : nullptr, weight_bytes_,
                           workspace, work_bytes_, workspace + aligned(weight_bytes_), 0, nullptr),
      "a forward pass");
}

}  // namespace cuda_backend::cudnn

// cuDNN, opened when the first call comes that it can serve: a gigabyte that other programs never map, and without which
// the plugin still loads.
#pragma once

#include <cudnn_adv.h>
#include <cudnn_graph.h>

namespace cuda_backend::cudnn {

// The library's functions, under their names there.
struct Library {
  decltype(&::cudnnGetVersion) version;
  decltype(&::cudnnGetErrorString) error_string;
  decltype(&::cudnnGetLastErrorString) last_error_string;
  decltype(&::cudnnCreate) create;
  decltype(&::cudnnDestroy) destroy;
  decltype(&::cudnnSetStream) set_stream;
  decltype(&::cudnnBackendCreateDescriptor) create_descriptor;
  decltype(&::cudnnBackendDestroyDescriptor) destroy_descriptor;
  decltype(&::cudnnBackendSetAttribute) set_attribute;
  decltype(&::cudnnBackendGetAttribute) get_attribute;
  decltype(&::cudnnBackendFinalize) finalize;
  decltype(&::cudnnBackendExecute) execute;

  // Of recurrent networks, which are not graphs.
  decltype(&::cudnnCreateTensorDescriptor) create_tensor;
  decltype(&::cudnnDestroyTensorDescriptor) destroy_tensor;
  decltype(&::cudnnSetTensorNdDescriptor) set_tensor;
  decltype(&::cudnnGetTensorNdDescriptor) get_tensor;
  decltype(&::cudnnCreateDropoutDescriptor) create_dropout;
  decltype(&::cudnnDestroyDropoutDescriptor) destroy_dropout;
  decltype(&::cudnnSetDropoutDescriptor) set_dropout;
  decltype(&::cudnnCreateRNNDescriptor) create_rnn;
  decltype(&::cudnnDestroyRNNDescriptor) destroy_rnn;
  decltype(&::cudnnSetRNNDescriptor_v8) set_rnn;
  decltype(&::cudnnCreateRNNDataDescriptor) create_rnn_data;
  decltype(&::cudnnDestroyRNNDataDescriptor) destroy_rnn_data;
  decltype(&::cudnnSetRNNDataDescriptor) set_rnn_data;
  decltype(&::cudnnGetRNNWeightSpaceSize) rnn_weight_bytes;
  decltype(&::cudnnGetRNNTempSpaceSizes) rnn_workspace_bytes;
  decltype(&::cudnnGetRNNWeightParams) rnn_weight;
  decltype(&::cudnnRNNForward) rnn_forward;
};

// Opened at the first call, never closed; null where it is not installed or is older than 9.6, which is said once in
// the log. Threads: any.
const Library* library();

}  // namespace cuda_backend::cudnn

#include "kernels/cudnn/library.hpp"

#include <backplane/plugin.hpp>

#include "kernels/opened_library.hpp"

namespace cuda_backend::cudnn {
namespace {

// The first one whose attention needs no memory that is zero before it.
constexpr size_t oldest = 90600;

bool find_functions(void* opened, Library& l) {
  return find_function(opened, "cudnnGetVersion", l.version) &&
         find_function(opened, "cudnnGetErrorString", l.error_string) &&
         find_function(opened, "cudnnGetLastErrorString", l.last_error_string) &&
         find_function(opened, "cudnnCreate", l.create) &&
         find_function(opened, "cudnnDestroy", l.destroy) &&
         find_function(opened, "cudnnSetStream", l.set_stream) &&
         find_function(opened, "cudnnBackendCreateDescriptor", l.create_descriptor) &&
         find_function(opened, "cudnnBackendDestroyDescriptor", l.destroy_descriptor) &&
         find_function(opened, "cudnnBackendSetAttribute", l.set_attribute) &&
         find_function(opened, "cudnnBackendGetAttribute", l.get_attribute) &&
         find_function(opened, "cudnnBackendFinalize", l.finalize) &&
         find_function(opened, "cudnnBackendExecute", l.execute);
}

bool find_recurrent(void* opened, Library& l) {
  return find_function(opened, "cudnnCreateTensorDescriptor", l.create_tensor) &&
         find_function(opened, "cudnnDestroyTensorDescriptor", l.destroy_tensor) &&
         find_function(opened, "cudnnSetTensorNdDescriptor", l.set_tensor) &&
         find_function(opened, "cudnnGetTensorNdDescriptor", l.get_tensor) &&
         find_function(opened, "cudnnCreateDropoutDescriptor", l.create_dropout) &&
         find_function(opened, "cudnnDestroyDropoutDescriptor", l.destroy_dropout) &&
         find_function(opened, "cudnnSetDropoutDescriptor", l.set_dropout) &&
         find_function(opened, "cudnnCreateRNNDescriptor", l.create_rnn) &&
         find_function(opened, "cudnnDestroyRNNDescriptor", l.destroy_rnn) &&
         find_function(opened, "cudnnSetRNNDescriptor_v8", l.set_rnn) &&
         find_function(opened, "cudnnCreateRNNDataDescriptor", l.create_rnn_data) &&
         find_function(opened, "cudnnDestroyRNNDataDescriptor", l.destroy_rnn_data) &&
         find_function(opened, "cudnnSetRNNDataDescriptor", l.set_rnn_data) &&
         find_function(opened, "cudnnGetRNNWeightSpaceSize", l.rnn_weight_bytes) &&
         find_function(opened, "cudnnGetRNNTempSpaceSizes", l.rnn_workspace_bytes) &&
         find_function(opened, "cudnnGetRNNWeightParams", l.rnn_weight) &&
         find_function(opened, "cudnnRNNForward", l.rnn_forward);
}

const Library* load_cudnn() {
  void* const opened = open_library("libcudnn", CUDNN_MAJOR);
  static Library found;
  const bool has_all =
      opened != nullptr && find_functions(opened, found) && find_recurrent(opened, found);
  if (has_all && found.version() >= oldest) return &found;
  const std::string why = has_all ? "version " + std::to_string(found.version()) +
                                        " is older than " + std::to_string(oldest)
                                  : why_not_opened();
  bp::log(bp::LogLevel::warning,
          "convolution, attention, recurrent networks: cuDNN %d was not found (%s); they are "
          "computed from smaller operators, which is much slower; install cuDNN or name its folder "
          "in LD_LIBRARY_PATH",
          CUDNN_MAJOR, why.c_str());
  return nullptr;
}

}  // namespace

const Library* library() {
  static const Library* const found = load_cudnn();
  return found;
}

}  // namespace cuda_backend::cudnn

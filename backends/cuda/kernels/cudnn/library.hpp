// cuDNN, opened when the first call comes that it can serve: a gigabyte that other programs never map, and without which
// the plugin still loads.
#pragma once

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
};

// Opened at the first call, never closed; null where it is not installed or is older than 9.6, which is said once in
// the log. Threads: any.
const Library* library();

}  // namespace cuda_backend::cudnn

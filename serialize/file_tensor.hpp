// Memory for what a file holds.
#pragma once

#include <string>
#include <string_view>

#include <backplane/files/file_errors.hpp>
#include <backplane/loading/loader.hpp>
#include <backplane/runtime/allocator.hpp>

namespace bp::serialize {

// On the host's device, without values yet. Where memory lacks, the sentence names the file and its tensor.
inline Tensor tensor_for_file(IntList shape, Dtype dtype, std::string_view name,
                              const std::string& file) {
  try {
    return empty_tensor(shape, dtype, host_device());
  } catch (const Error& error) {
    throw_error(error.error_class(), fmt::format("{}: tensor {} does not fit into memory: {}", file,
                                                 files::shown(name), error.what()));
  }
}

}  // namespace bp::serialize

// A call with copies of all that it read, to be done again: on another device, or in another process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <backplane/dispatcher/operator.hpp>

namespace bp::tracing {

// A tensor within one of the call's storages, so that what shared memory shares it again.
struct SavedTensor {
  std::uint32_t storage = 0;
  std::uint64_t byte_offset = 0;
  Dtype dtype = Dtype::f32;
  std::vector<std::int64_t> shape, strides;  // strides in elements
};

struct SavedArgument {
  std::uint32_t tag = BP_NONE;
  std::int64_t integer = 0;        // also of bool, Dtype
  std::vector<double> reals;       // float, complex (two), float[]
  std::vector<std::int64_t> list;  // int[], Generator (seed and offset)
  std::string text;                // str
  std::vector<std::optional<SavedTensor>>
      tensors;  // Tensor (one), Tensor[], with nothing for holes
};

struct SavedCall {
  std::string op;
  std::string device;  // where it ran: "acme:0"
  std::string plugin;  // the library that drives it
  std::string remark;  // why it was saved
  std::vector<SavedArgument> args;
  // The tensors that it was to write into; nothing for a result that was new.
  std::vector<std::optional<SavedTensor>> results;
  std::vector<std::vector<unsigned char>> storages;
};

// Copies what the call reads and writes, before it runs. Waits for the current stream of the device.
BP_API SavedCall save_call(const Call& call, Device device);

// Does the call with copies on `device`, below all layers and counted nowhere, and gives its results. Throws what the
// call throws; bad_argument, naming the operator, for an impossible call, wherever it came from.
BP_API std::vector<Tensor> repeat_call(const SavedCall& saved, Device device);

// One file: a line of JSON, then the bytes. Throw bad_argument with the file's name and the reason.
BP_API void write_call(const SavedCall& saved, const std::string& file);
BP_API SavedCall read_call(const std::string& file);

}  // namespace bp::tracing

#include <algorithm>
#include <cstring>
#include <fmt/ranges.h>

#include <backplane/autograd/autograd.hpp>
#include <backplane/core_ops/creation.hpp>
#include <backplane/core_ops/generated/all.hpp>
#include <backplane/data/numpy.hpp>
#include <backplane/dispatcher/host_device.hpp>
#include <backplane/runtime/allocator.hpp>
#include <backplane/tensor/check.hpp>

#include "formats/files.hpp"
#include "formats/numpy_header.hpp"
#include "formats/zip_entries.hpp"

namespace bp::data {
namespace {

void swap_bytes(char* numbers, std::uint64_t bytes, std::size_t width) {
  for (char* at = numbers; at < numbers + bytes; at += width) std::reverse(at, at + width);
}

Tensor parse_npy(std::string_view bytes, const std::string& name) {
  const NumpyHeader header = numpy_header(bytes, name);
  std::vector<std::int64_t> shape = header.shape;
  if (header.is_fortran) std::reverse(shape.begin(), shape.end());
  const Tensor made = empty_tensor(shape, header.dtype, host_device());
  if (header.data_bytes == 0) return empty_tensor(header.shape, header.dtype, host_device());
  char* numbers = static_cast<char*>(made.data_ptr());
  std::memcpy(numbers, bytes.data() + header.data_begin, header.data_bytes);
  const std::size_t width = itemsize(header.dtype) / (is_complex(header.dtype) ? 2 : 1);
  if (header.is_swapped) swap_bytes(numbers, header.data_bytes, width);
  if (header.dtype == boolean)  // a byte other than 0 and 1 is no bool
    for (std::uint64_t i = 0; i < header.data_bytes; ++i) numbers[i] = numbers[i] != 0;
  if (!header.is_fortran) return made;
  std::vector<std::int64_t> dims;
  for (std::int64_t dim = made.ndim() - 1; dim >= 0; --dim) dims.push_back(dim);
  return contiguous(permute(made, dims));
}

}  // namespace

Tensor load_npy(const std::string& path) {
  return parse_npy(read_whole_file(path), path);
}

void save_npy(const std::string& path, const Tensor& tensor) {
  BP_CHECK(tensor.defined(), "save_npy: the tensor is undefined");
  const std::string descr = numpy_descr(tensor.dtype());
  BP_CHECK(!descr.empty(), "save_npy: NumPy has no {}; cast the tensor first",
           name(tensor.dtype()));
  const Tensor host = contiguous(cpu(detach(tensor)));
  std::string sizes = fmt::format("{}", fmt::join(host.shape(), ", "));
  if (host.ndim() == 1) sizes += ',';
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, sizes);
  // Numbers begin at a multiple of 64 bytes.
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size() & 0xff);
  bytes += static_cast<char>(header.size() >> 8);
  bytes += header;
  if (host.numel() > 0) bytes.append(static_cast<const char*>(host.data_ptr()), host.nbytes());
  write_whole_file(path, bytes);
}

std::vector<std::pair<std::string, Tensor>> load_npz(const std::string& path,
                                                     const NpzOptions& options) {
  std::vector<std::pair<std::string, Tensor>> arrays;
  for_each_zip_entry(path, options.most_bytes, [&](std::string name, std::string_view bytes) {
    const std::string place = fmt::format("{}: {}", path, name);
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    arrays.emplace_back(name, parse_npy(bytes, place));
  });
  return arrays;
}

}  // namespace bp::data

#include <algorithm>
#include <cstring>
#include <fmt/ranges.h>

#include <backplane/autograd/autograd.hpp>
#include <backplane/core_ops/creation.hpp>
#include <backplane/core_ops/generated/all.hpp>
#include <backplane/data/numpy.hpp>
#include <backplane/dispatcher/host_device.hpp>
#include <backplane/files/input_file.hpp>
#include <backplane/files/whole_file.hpp>
#include <backplane/files/zip_archive.hpp>
#include <backplane/files/zip_writer.hpp>
#include <backplane/runtime/allocator.hpp>
#include <backplane/tensor/check.hpp>

#include "formats/numpy_header.hpp"

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
  if (header.dtype == boolean)  // a byte other than 0 and 1 is not a bool
    for (std::uint64_t i = 0; i < header.data_bytes; ++i) numbers[i] = numbers[i] != 0;
  if (!header.is_fortran) return made;
  std::vector<std::int64_t> dims;
  for (std::int64_t dim = made.ndim() - 1; dim >= 0; --dim) dims.push_back(dim);
  return contiguous(permute(made, dims));
}

// What is before the numbers of `host`, which is contiguous.
std::string npy_head(const char* function, const Tensor& host) {
  const std::string descr = numpy_descr(host.dtype());
  BP_CHECK(!descr.empty(), "{}: NumPy has no {}; cast the tensor first", function,
           name(host.dtype()));
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
  return bytes + header;
}

std::string_view npy_body(const Tensor& host) {
  if (host.numel() == 0) return {};
  return {static_cast<const char*>(host.data_ptr()), host.nbytes()};
}

}  // namespace

Tensor load_npy(const std::string& path) {
  return parse_npy(files::read_whole_file(path), path);
}

void save_npy(const std::string& path, const Tensor& tensor) {
  BP_CHECK(tensor.defined(), "save_npy: the tensor is undefined");
  const Tensor host = contiguous(cpu(detach(tensor)));
  files::write_whole_file(path, npy_head("save_npy", host), npy_body(host));
}

std::vector<std::pair<std::string, Tensor>> load_npz(const std::string& path,
                                                     const NpzOptions& options) {
  std::vector<std::pair<std::string, Tensor>> arrays;
  const files::InputFile file(path);
  const files::ZipArchive archive(
      file, {.most_growth = files::densest_deflate, .most_bytes = options.most_bytes});
  for (std::string name : archive.names()) {
    std::string bytes(archive.bytes_of(name), '\0');
    archive.read(name, bytes.data());
    const std::string place = fmt::format("{}: {}", path, name);
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    arrays.emplace_back(name, parse_npy(bytes, place));
  }
  file.check_unchanged();
  return arrays;
}

void save_npz(const std::string& path, const std::vector<std::pair<std::string, Tensor>>& arrays,
              const SaveNpzOptions& options) {
  std::vector<Tensor> hosts;
  std::vector<std::string> heads;
  for (const auto& [name, tensor] : arrays) {
    BP_CHECK(tensor.defined(), "save_npz: the array \"{}\" is an undefined tensor", name);
    BP_CHECK(!name.empty() && name.find('\0') == std::string::npos,
             "save_npz: array {} is called \"{}\"; a name has at least one character, and no NUL",
             hosts.size(), name);
    hosts.push_back(contiguous(cpu(detach(tensor))));
    heads.push_back(npy_head("save_npz", hosts.back()));
  }
  std::vector<files::ZipMember> entries;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const std::string& name = arrays[i].first;
    const auto same = [&](const auto& other) { return other.first == name; };
    BP_CHECK(std::find_if(arrays.begin(), arrays.begin() + static_cast<std::ptrdiff_t>(i), same) ==
                 arrays.begin() + static_cast<std::ptrdiff_t>(i),
             "save_npz: two arrays are called \"{}\"", name);
    entries.push_back({name + ".npy", heads[i], npy_body(hosts[i])});
  }
  files::write_zip(path, entries, options.compressed);
}

}  // namespace bp::data

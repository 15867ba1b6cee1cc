#include <algorithm>
#include <bit>
#include <unordered_map>

#include <backplane/autograd/autograd.hpp>
#include <backplane/core_ops/creation.hpp>
#include <backplane/files/file_errors.hpp>
#include <backplane/files/input_file.hpp>
#include <backplane/files/output_file.hpp>
#include <backplane/serialize/safetensors.hpp>

#include "bool_values.hpp"
#include "file_tensor.hpp"
#include "safetensors_header.hpp"
#include "sharded.hpp"

namespace bp::serialize {

static_assert(std::endian::native == std::endian::little,
              "the files of this room are little-endian, and their values are used as they lie");

struct SafetensorsFile::Opened {
  explicit Opened(const std::filesystem::path& path) : file(path) {}

  files::InputFile file;
  SafetensorsHeader header;
  std::unordered_map<std::string_view, std::size_t>
      places;  // in header.entries, whose names it borrows
  std::uint64_t data_begin = 0;
  std::shared_ptr<files::Mapping> mapping;  // null: tensors are read

  const HeaderEntry& at(std::string_view name) const {
    const auto found = places.find(name);
    BP_CHECK(found != places.end(), "{}: no tensor {} among {}; keys() lists them", file.name(),
             files::shown(name), places.size());
    return header.entries[found->second];
  }
};

namespace {

std::uint64_t alignment_of(Dtype dtype) {
  return itemsize(dtype) / (is_complex(dtype) ? 2 : 1);
}

// Keeps the mapping as long as the tensor.
Tensor mapped_tensor(const std::shared_ptr<files::Mapping>& mapping, std::uint64_t offset,
                     const TensorInfo& info) {
  auto keeper = std::make_unique<std::shared_ptr<files::Mapping>>(mapping);
  const auto drop = [](void* context) {
    delete static_cast<std::shared_ptr<files::Mapping>*>(context);
  };
  const Tensor made =
      from_blob(mapping->data() + offset, info.shape, info.dtype, drop, keeper.get());
  keeper.release();
  return made;
}

// What is still to be read into it goes to `pieces`.
Tensor tensor_to_read(const HeaderEntry& entry, std::uint64_t data_begin, const std::string& file,
                      std::vector<files::Piece>& pieces) {
  const Tensor made = tensor_for_file(entry.info.shape, entry.info.dtype, entry.name, file);
  if (entry.info.nbytes > 0)
    pieces.push_back({data_begin + entry.begin, made.data_ptr(), entry.info.nbytes});
  return made;
}

bool can_map(const std::shared_ptr<files::Mapping>& mapping, std::uint64_t offset,
             const TensorInfo& info) {
  return mapping && info.nbytes > 0 && offset % alignment_of(info.dtype) == 0;
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path, const ReadOptions& options) {
  const auto opened = std::make_shared<Opened>(path);
  const files::InputFile& file = opened->file;
  unsigned char first[length_bytes] = {};
  file.read(0, first, std::min(file.bytes(), length_bytes));
  std::string text(parse_length(first, file.bytes(), file.name()), '\0');
  file.read(length_bytes, text.data(), text.size());
  opened->data_begin = length_bytes + text.size();
  opened->header = parse_header(text, file.bytes() - opened->data_begin, file.name());
  for (std::size_t i = 0; i < opened->header.entries.size(); ++i)
    opened->places.emplace(opened->header.entries[i].name, i);
  if (options.mapped) opened->mapping = file.map();
  opened_ = opened;
}

std::vector<std::string> SafetensorsFile::keys() const {
  std::vector<std::string> names;
  for (const HeaderEntry& entry : opened_->header.entries) names.push_back(entry.name);
  return names;
}

bool SafetensorsFile::contains(std::string_view name) const {
  return opened_->places.count(name) > 0;
}

const Metadata& SafetensorsFile::metadata() const {
  return opened_->header.metadata;
}

TensorInfo SafetensorsFile::info(std::string_view name) const {
  return opened_->at(name).info;
}

Tensor SafetensorsFile::get_tensor(std::string_view name) const {
  const HeaderEntry& entry = opened_->at(name);
  const std::uint64_t offset = opened_->data_begin + entry.begin;
  Tensor made;
  if (can_map(opened_->mapping, offset, entry.info)) {
    opened_->file.check_unchanged();
    made = mapped_tensor(opened_->mapping, offset, entry.info);
  } else {
    std::vector<files::Piece> pieces;
    made = tensor_to_read(entry, opened_->data_begin, opened_->file.name(), pieces);
    files::read_pieces(opened_->file, pieces);
    opened_->file.check_unchanged();
  }
  check_bools(made, entry.name, opened_->file.name());
  return made;
}

nn::StateDict SafetensorsFile::get_tensors() const {
  nn::StateDict tensors;
  std::vector<files::Piece> pieces;
  for (const HeaderEntry& entry : opened_->header.entries) {
    const std::uint64_t offset = opened_->data_begin + entry.begin;
    tensors.set(entry.name,
                can_map(opened_->mapping, offset, entry.info)
                    ? mapped_tensor(opened_->mapping, offset, entry.info)
                    : tensor_to_read(entry, opened_->data_begin, opened_->file.name(), pieces));
  }
  files::read_pieces(opened_->file, pieces);
  opened_->file.check_unchanged();
  for (const auto& [name, tensor] : tensors) check_bools(tensor, name, opened_->file.name());
  return tensors;
}

nn::StateDict load_file(const std::filesystem::path& path, const ReadOptions& options) {
  if (path.extension() == ".json") return load_sharded(path, options);
  return SafetensorsFile(path, options).get_tensors();
}

void save_file(const nn::StateDict& tensors, const std::filesystem::path& path,
               const Metadata& metadata) {
  const std::string file = path.string();
  std::vector<HeaderEntry> entries;
  for (const auto& [name, tensor] : tensors) {
    BP_CHECK(tensor.defined(), "{}: tensor {} is undefined; leave it out", file,
             files::shown(name));
    BP_CHECK(tensor.device() != meta_device,
             "{}: tensor {} is on meta and has no values; move it first", file, files::shown(name));
    entries.push_back({name, {tensor.dtype(), tensor.shape().to_vector(), tensor.nbytes()}});
  }
  // The largest elements first, so that each tensor is aligned without a gap.
  std::sort(entries.begin(), entries.end(), [](const HeaderEntry& a, const HeaderEntry& b) {
    const std::uint64_t x = alignment_of(a.info.dtype), y = alignment_of(b.info.dtype);
    return x != y ? x > y : a.name < b.name;
  });
  const std::string header = compose_header(entries, metadata, file);
  files::OutputFile out(path);
  out.write(header);
  for (const HeaderEntry& entry : entries) {
    if (entry.info.nbytes == 0) continue;
    const Tensor values = contiguous(cpu(detach(tensors.at(entry.name))));
    out.write(values.data_ptr(), values.nbytes());
  }
  out.commit();
}

}  // namespace bp::serialize

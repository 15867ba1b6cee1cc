#include <map>
#include <unordered_map>

#include <backplane/files/zip_archive.hpp>
#include <backplane/serialize/pytorch.hpp>

#include "bool_values.hpp"
#include "dict_budget.hpp"
#include "file_tensor.hpp"
#include "pickle.hpp"

namespace bp::serialize {
namespace {

using Kind = PickledValue::Kind;

constexpr int most_nesting = 200;
constexpr std::size_t most_text_bytes = 256 << 20;

// "archive/data.pkl": what torch.save calls the first part is the file's name, or anything.
std::string folder_in(const files::ZipArchive& archive, const std::string& file) {
  constexpr std::string_view pickle = "data.pkl";
  std::vector<std::string> found;
  for (const std::string& name : archive.names()) {
    const std::size_t slash = name.find('/');
    if (slash != std::string::npos && std::string_view(name).substr(slash + 1) == pickle)
      found.push_back(name.substr(0, slash + 1));
  }
  BP_CHECK(found.size() == 1,
           "{}: has {} members FOLDER/data.pkl, and torch.save writes one; is it a checkpoint of "
           "PyTorch?",
           file, found.size());
  return found[0];
}

std::string text_in(const files::ZipArchive& archive, const std::string& member, std::uint64_t most,
                    const std::string& file) {
  const std::uint64_t bytes = archive.bytes_of(member);
  BP_CHECK(bytes <= most, "{}: member {} has {} bytes, and at most {} are read", file,
           files::shown(member), bytes, most);
  std::string text(bytes, '\0');
  archive.read(member, text.data());
  return text;
}

// Values as a State; storages are read when the first tensor asks for them.
class Converter {
 public:
  Converter(const Pickle& pickle, const files::ZipArchive& archive, std::string folder,
            const std::string& file)
      : pickle_(pickle), archive_(archive), folder_(std::move(folder)), file_(file) {}

  State run() {
    State root = converted(pickle_.root, 0);
    // Storages that one tensor has for itself are its own; others stay what their tensors are views of.
    tensors_.clear();
    storages_.clear();
    for (const Tensor& tensor : made_) forget_lone_base(*tensor.impl());
    return root;
  }

 private:
  State converted(std::uint32_t index, int depth) {
    BP_CHECK(depth <= most_nesting, "{}: is nested deeper than {}; save it flatter", file_,
             most_nesting);
    BP_CHECK(++num_made_ <= most_pickle_values,
             "{}: has more than {} values; save lists of numbers as tensors", file_,
             most_pickle_values);
    const PickledValue& value = pickle_.values[index];
    switch (value.kind) {
      case Kind::none: return {};
      case Kind::boolean: return State(value.integer != 0);
      case Kind::integer: return State(value.integer);
      case Kind::real: return State(value.real);
      case Kind::text: return text(value.text);
      case Kind::list:
      case Kind::tuple: return list(value, depth);
      case Kind::dict: return dict(value, depth);
      case Kind::tensor: return State(tensor(static_cast<std::size_t>(value.integer)));
      default: break;
    }
    if (value.kind == Kind::global && is_dtype_name(value.text)) return text(value.text);
    BP_CHECK(value.kind != Kind::bytes,
             "{}: has bytes, which a State cannot hold; save them as a tensor of uint8", file_);
    BP_CHECK(false, "{}: has {} {} as a value; save tensors and plain values", file_,
             kind_of(value), files::shown(value.text));
    return {};
  }

  State text(const std::string& text) {
    num_text_bytes_ += text.size();
    BP_CHECK(num_text_bytes_ <= most_text_bytes, "{}: has more than {} bytes of text", file_,
             most_text_bytes);
    return State(text);
  }

  State list(const PickledValue& value, int depth) {
    State::List items;
    for (const std::uint32_t item : value.items) items.push_back(converted(item, depth + 1));
    return State(std::move(items));
  }

  // As in Python, of a key that is there twice the last value counts, in the place of the first.
  State dict(const PickledValue& value, int depth) {
    std::vector<std::pair<std::string, std::uint32_t>> entries;
    std::unordered_map<std::string, std::pair<std::size_t, Kind>> places;
    for (std::size_t i = 0; i + 1 < value.items.size(); i += 2) {
      const PickledValue& key = pickle_.values[value.items[i]];
      const std::string name = key_text(key);
      const auto [found, is_new] = places.emplace(name, std::pair(entries.size(), key.kind));
      BP_CHECK(found->second.second == key.kind,
               "{}: a dict has the keys {} both as a number and as text", file_,
               files::shown(name));
      if (is_new)
        entries.emplace_back(name, value.items[i + 1]);
      else
        entries[found->second.first].second = value.items[i + 1];
    }
    dicts_.add(entries.size(), file_);
    State made = State::dict();
    for (auto& [name, item] : entries) made.set(std::move(name), converted(item, depth + 1));
    return made;
  }

  std::string key_text(const PickledValue& key) {
    if (key.kind == Kind::integer) return std::to_string(key.integer);
    BP_CHECK(key.kind == Kind::text, "{}: a dict has {} as a key; only text and ints are read",
             file_, kind_of(key));
    return text(key.text).as_text();
  }

  // The same tensor for the same value.
  Tensor tensor(std::size_t number) {
    const auto known = tensors_.find(number);
    if (known != tensors_.end()) return known->second;
    const PickledTensor& wanted = pickle_.tensors[number];
    const PickledStorage& wanted_storage = pickle_.storages[wanted.storage];
    const Tensor& storage = storage_of(wanted_storage, wanted.dtype);
    const bool is_empty = storage.numel() == 0;
    Tensor made = is_empty ? tensor_for_file(wanted.sizes, wanted.dtype, wanted_storage.key, file_)
                           : make_view(storage, wanted.sizes, wanted.strides, wanted.offset);
    made_.push_back(made);
    tensors_.emplace(number, made);
    return made;
  }

  const Tensor& storage_of(const PickledStorage& wanted, Dtype dtype) {
    const std::string member = folder_ + "data/" + wanted.key;
    const std::uint64_t bytes = archive_.bytes_of(member);
    const std::uint64_t needed = wanted.numel * (wanted.has_dtype ? itemsize(dtype) : 1);
    BP_CHECK(
        bytes == needed,
        "{}: storage {} has {} elements of {}, {} bytes, and its member has {}; is it damaged?",
        file_, files::shown(wanted.key), wanted.numel, name(dtype), needed, bytes);
    const auto known = storages_.find(member);
    if (known != storages_.end()) {
      BP_CHECK(known->second.dtype() == dtype,
               "{}: storage {} is used as {} and as {}; save clones of the views", file_,
               files::shown(wanted.key), name(known->second.dtype()), name(dtype));
      return known->second;
    }
    const auto numel = static_cast<std::int64_t>(bytes / itemsize(dtype));
    const Tensor made =
        tensor_for_file({numel + (bytes % itemsize(dtype) != 0)}, dtype, wanted.key, file_);
    if (bytes > 0) archive_.read(member, made.data_ptr());
    check_bools(made, wanted.key, file_);
    return storages_.emplace(member, made).first->second;
  }

  const Pickle& pickle_;
  const files::ZipArchive& archive_;
  std::string folder_;
  const std::string& file_;
  DictBudget dicts_;
  std::size_t num_made_ = 0, num_text_bytes_ = 0;
  std::unordered_map<std::string, Tensor> storages_;
  std::unordered_map<std::size_t, Tensor> tensors_;
  std::vector<Tensor> made_;
};

}  // namespace

State load_pytorch(const std::filesystem::path& path) {
  const files::InputFile input(path);
  const std::string& file = input.name();
  const files::ZipArchive archive(
      input, {.hint = "is it cut off, or from before PyTorch 1.6? Save it again with torch.save"});
  const std::string folder = folder_in(archive, file);
  if (archive.contains(folder + "byteorder")) {
    const std::string order = text_in(archive, folder + "byteorder", 16, file);
    BP_CHECK(order == "little",
             "{}: its byteorder is {}, and only little can be read; save it again on a "
             "little-endian machine",
             file, files::shown(order));
  }
  const std::string pickle = text_in(archive, folder + "data.pkl", most_pickle_bytes, file);
  return Converter(run_pickle(pickle, file), archive, folder, file).run();
}

}  // namespace bp::serialize

// Files of tensors by name, as Hugging Face's safetensors defines them: a header in JSON, then the values. See
// docs/serialize.md.
//
//   nn::StateDict weights = serialize::load_file("model.safetensors");
//   net.load_state_dict(weights);
//   serialize::save_file(net.state_dict(), "model.safetensors");
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <backplane/nn/state_dict.hpp>
#include <backplane/tensor/tensor.hpp>

namespace bp::serialize {

// By name, in the order of the names.
using Metadata = std::map<std::string, std::string>;

struct ReadOptions {
  // False: tensors are read into memory, and what happens to the file afterwards does not matter.
  // True: tensors lie in the mapped file itself, and the system reads a page when it is first touched. Writing to such a tensor
  // changes this process's copy of the page and never the file. For files that nobody writes in place: where one shrinks while
  // one of its tensors lives, touching the page that is gone ends the process (SIGBUS), and other values that are written there
  // show up in the tensor. Files that are replaced by renaming, as save_file does, are safe.
  bool mapped = false;
};

struct TensorInfo {
  Dtype dtype = Dtype::f32;
  std::vector<std::int64_t> shape;
  std::uint64_t nbytes = 0;
};

// An open file, checked as a whole: every tensor's dtype, shape and place agree, and every byte
// belongs to exactly one. A copy is the same file. Threads: any.
class BP_API SafetensorsFile {
 public:
  // Throws bad_argument, naming the file and both values, for a file that breaks the format; reads the header
  // alone.
  explicit SafetensorsFile(const std::filesystem::path& path, const ReadOptions& options = {});

  // In the order in which they lie in the file.
  std::vector<std::string> keys() const;
  bool contains(std::string_view name) const;
  const Metadata& metadata() const;
  // Throw bad_argument if there is no such tensor.
  TensorInfo info(std::string_view name) const;
  // On the host's device. Mapped tensors of one name share their memory. One that is not aligned to its elements in the
  // file is a copy. Throws bad_argument for a bool that is neither 0 nor 1, and for a file that was written to since it was opened.
  Tensor get_tensor(std::string_view name) const;
  // All of them.
  nn::StateDict get_tensors() const;

 private:
  struct Opened;
  std::shared_ptr<const Opened> opened_;
};

// All tensors of a .safetensors file, or of those that a model's *.safetensors.index.json names, which lie beside it.
BP_API nn::StateDict load_file(const std::filesystem::path& path, const ReadOptions& options = {});

// Writes all at once or not at all: into a file beside it, which is on the disk before it takes the name. A crash at any
// moment leaves the earlier file or the new one. The new file has the earlier one's mode and, where the system allows, its
// owner and group; without an earlier one, the mode that umask leaves. If `path` is a link, its
// target is written. Tensors of other devices and strided ones are copied one by one. Throws
// bad_argument for names and metadata that are not UTF-8, for complex128, which the format lacks,
// for meta tensors, and if `path` names a write-protected file or something that is not a file; for
// a full disk, out_of_memory, and the earlier file is as it was.
BP_API void save_file(const nn::StateDict& tensors, const std::filesystem::path& path,
                      const Metadata& metadata = {});

}  // namespace bp::serialize

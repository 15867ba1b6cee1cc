#include "sharded.hpp"

#include <backplane/files/file_errors.hpp>
#include <backplane/files/input_file.hpp>

#include "safetensors_header.hpp"

namespace bp::serialize {

nn::StateDict load_sharded(const std::filesystem::path& index, const ReadOptions& options) {
  const files::InputFile file(index);
  BP_CHECK(file.bytes() <= most_header_bytes, "{}: has {} bytes, and an index at most {}",
           file.name(), file.bytes(), most_header_bytes);
  std::string text(file.bytes(), '\0');
  file.read(0, text.data(), text.size());
  const auto shards = parse_index(text, file.name());
  std::map<std::string, std::vector<std::string>> names_in;
  for (const auto& [name, shard] : shards) names_in[shard].push_back(name);
  nn::StateDict tensors;
  for (const auto& [shard, names] : names_in) {
    const SafetensorsFile opened(index.parent_path() / shard, options);
    for (const std::string& name : names) {
      BP_CHECK(opened.contains(name), "{}: {} is said to be in {}, which has no such tensor",
               file.name(), files::shown(name), files::shown(shard));
      tensors.set(name, opened.get_tensor(name));
    }
  }
  return tensors;
}

}  // namespace bp::serialize

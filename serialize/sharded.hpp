// Models in several files.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include <backplane/serialize/safetensors.hpp>

namespace bp::serialize {

// Which file each tensor is in. Throws bad_argument, beginning with `file`; names of files lead to nowhere but the index's
// own folder.
std::map<std::string, std::string> parse_index(std::string_view json, const std::string& file);

// The tensors that an index names, from files beside it.
nn::StateDict load_sharded(const std::filesystem::path& index, const ReadOptions& options);

}  // namespace bp::serialize

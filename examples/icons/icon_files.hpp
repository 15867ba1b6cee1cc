// The icons of a theme as pictures on white.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <backplane/data/dataset.hpp>

namespace icons {

// All PNG files below the folder, each once whatever links to it, in the order of their names. Throws std::runtime_error
// naming the folder if it has less than 50.
std::vector<std::string> find_icons(const std::filesystem::path& folder);

// Sample i is [3, icon_size, icon_size] from 0 to 1, of the i-th file. With `random`, it is mirrored or not.
bp::data::DatasetPtr icon_dataset(std::vector<std::string> files, bool random);

}  // namespace icons

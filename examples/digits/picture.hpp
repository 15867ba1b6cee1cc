// A picture of a training: how the loss fell, what was taken for what, and the images that were misread.
#pragma once

#include <filesystem>
#include <vector>

#include "data_set.hpp"

namespace digits {

// Writes a PNG. `losses` are those of the steps, in order; `predictions` what each image was read as. Throws bp::Error if
// the file can't be written.
void write_picture(const std::filesystem::path& file, const std::vector<double>& losses,
                   const Images& held_out, const std::vector<std::int64_t>& predictions);

}  // namespace digits

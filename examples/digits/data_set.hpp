// The handwritten digits: images of 8x8 pixels, and what each shows.
#pragma once

#include <cstdint>
#include <filesystem>

#include <backplane/tensor/tensor.hpp>

namespace digits {

inline constexpr std::int64_t image_size = 8;  // pixels each way
inline constexpr std::int64_t num_pixels = image_size * image_size;
inline constexpr std::int64_t num_classes = 10;

// On the host.
struct Images {
  bp::Tensor pixels;  // [size, 1, image_size, image_size], f32 from 0 to 1
  bp::Tensor labels;  // [size], int64 from 0 to 9

  std::int64_t size() const { return labels.numel(); }
};

struct DataSet {
  Images training;
  Images held_out;  // every fifth line of the file
};

// Reads lines of 64 pixels from 0 to 16 and a digit, separated by commas. Throws std::runtime_error or bp::Error naming the
// file, and the line where one is wrong.
DataSet read_data_set(const std::filesystem::path& file);

}  // namespace digits

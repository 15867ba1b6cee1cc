// The handwritten digits: images of 8x8 pixels, and what each shows.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace digits {

inline constexpr std::int64_t image_size = 8;  // pixels each way
inline constexpr std::int64_t num_pixels = image_size * image_size;
inline constexpr std::int64_t num_classes = 10;

struct Images {
  std::vector<float> pixels;         // [size, num_pixels], row-major, from 0 to 1
  std::vector<std::int64_t> labels;  // [size], from 0 to 9

  std::int64_t size() const { return static_cast<std::int64_t>(labels.size()); }
};

struct DataSet {
  Images training;
  Images held_out;  // every fifth line of the file
};

// Reads lines of 64 pixels from 0 to 16 and a digit, separated by commas. Throws std::runtime_error
// naming the file and the line.
DataSet read_data_set(const std::filesystem::path& file);

}  // namespace digits

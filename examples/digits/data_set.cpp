#include "data_set.hpp"

#include <charconv>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace digits {
namespace {

constexpr int largest_pixel = 16;
constexpr int held_out_stride = 5;

struct Line {
  std::string where;
  std::string_view rest;

  [[noreturn]] void fail() const {
    throw std::runtime_error(where +
                             ": expected 64 pixels from 0 to 16 and a digit, separated by "
                             "commas");
  }

  int take_number(int largest, bool last) {
    int number = -1;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    if (error != std::errc() || number < 0 || number > largest) fail();
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    if (last ? !rest.empty() : !rest.starts_with(',')) fail();
    if (!last) rest.remove_prefix(1);
    return number;
  }
};

void read_line(Line line, Images& images) {
  for (std::int64_t i = 0; i < num_pixels; ++i)
    images.pixels.push_back(static_cast<float>(line.take_number(largest_pixel, false)) /
                            largest_pixel);
  images.labels.push_back(line.take_number(num_classes - 1, true));
}

}  // namespace

DataSet read_data_set(const std::filesystem::path& file) {
  std::ifstream stream(file);
  DataSet data;
  int number = 0;
  for (std::string text; std::getline(stream, text);) {
    Images& images = ++number % held_out_stride == 0 ? data.held_out : data.training;
    read_line({file.string() + ":" + std::to_string(number), text}, images);
  }
  if (!stream.eof()) throw std::runtime_error(file.string() + ": cannot be read");
  if (data.held_out.size() == 0)
    throw std::runtime_error(file.string() + ": holds " + std::to_string(number) +
                             " images; at least " + std::to_string(held_out_stride) +
                             " are needed");
  return data;
}

}  // namespace digits

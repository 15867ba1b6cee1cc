#include "data_set.hpp"

#include <stdexcept>
#include <string>

#include <backplane/backplane.hpp>
#include <backplane/data/csv.hpp>

namespace digits {
namespace {

using bp::Tensor;

constexpr int largest_pixel = 16;
constexpr std::int64_t held_out_stride = 5;

// The first line with a number that is not whole, or not from 0 to `largest`; 0 if there is none.
std::int64_t wrong_line(const Tensor& numbers, int largest) {
  const Tensor right =
      bp::logical_and(bp::eq(numbers, bp::floor(numbers)),
                      bp::logical_and(bp::ge(numbers, 0), bp::le(numbers, largest)));
  const Tensor wrong = bp::any(bp::logical_not(right), {1});
  if (!bp::item<bool>(bp::any(wrong))) return 0;
  return bp::item<std::int64_t>(bp::argmax(bp::cast(wrong, bp::i64), 0)) + 1;
}

Images pick(const Tensor& rows, const Tensor& places) {
  const Tensor picked = bp::index_select(rows, 0, places);
  const Tensor pixels = bp::div(bp::narrow(picked, 1, 0, num_pixels), largest_pixel);
  return {bp::reshape(pixels, {-1, 1, image_size, image_size}),
          bp::cast(bp::select(picked, 1, num_pixels), bp::i64)};
}

}  // namespace

DataSet read_data_set(const std::filesystem::path& file) {
  const Tensor rows = bp::data::read_csv(file.string(), {.header = false}).values;
  const std::int64_t size = rows.size(0);
  if (rows.size(1) != num_pixels + 1 || size < held_out_stride)
    throw std::runtime_error(file.string() + ": holds " + std::to_string(size) + " lines of " +
                             std::to_string(rows.size(1)) +
                             " numbers; expected 5 lines at least, each of 64 pixels and a digit");
  const std::int64_t wrong_pixel = wrong_line(bp::narrow(rows, 1, 0, num_pixels), largest_pixel);
  const std::int64_t wrong_label = wrong_line(bp::narrow(rows, 1, num_pixels, 1), num_classes - 1);
  for (const std::int64_t line : {wrong_pixel, wrong_label})
    if (line > 0)
      throw std::runtime_error(
          file.string() + ":" + std::to_string(line) +
          ": expected 64 pixels from 0 to 16 and a digit, separated by commas");
  const Tensor lines = bp::arange(1, size + 1, 1, bp::i64);
  const Tensor is_held_out = bp::eq(bp::remainder(lines, held_out_stride), 0);
  const auto places = [](const Tensor& mask) { return bp::flatten(bp::nonzero(mask)); };
  return {pick(rows, places(bp::logical_not(is_held_out))), pick(rows, places(is_held_out))};
}

}  // namespace digits

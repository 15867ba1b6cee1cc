// alone: setjmp, and libpng's macros
#include <csetjmp>
#include <cstring>

#include <backplane/tensor/check.hpp>

#include "formats/pixels.hpp"

#ifdef BP_DATA_PNG
#  include <png.h>
#endif

namespace bp::data {

#ifdef BP_DATA_PNG
namespace {

// What libpng's functions get back from it. An error leaves by longjmp, as libpng's C code expects; so no function below
// makes an object that has a destructor between setjmp and its return.
struct PngJob {
  std::string_view bytes;
  std::size_t at = 0;
  std::string* encoded = nullptr;
  jmp_buf on_error;
  char sentence[200] = "";
};

[[noreturn]] void png_failed(png_structp png, png_const_charp sentence) {
  auto* job = static_cast<PngJob*>(png_get_error_ptr(png));
  std::strncpy(job->sentence, sentence, sizeof job->sentence - 1);
  std::longjmp(job->on_error, 1);
}
void png_warned(png_structp, png_const_charp) {}

void png_take(png_structp png, png_bytep to, png_size_t count) {
  auto* job = static_cast<PngJob*>(png_get_io_ptr(png));
  if (count > job->bytes.size() - job->at) png_error(png, "it is cut short");
  std::memcpy(to, job->bytes.data() + job->at, count);
  job->at += count;
}

void png_give(png_structp png, png_bytep from, png_size_t count) {
  auto* job = static_cast<PngJob*>(png_get_io_ptr(png));
  bool is_full = false;
  try {
    job->encoded->append(reinterpret_cast<const char*>(from), count);
  } catch (...) {
    is_full = true;
  }
  if (is_full) png_error(png, "out of memory");
}
void png_flushed(png_structp) {}

struct PngReader {
  png_structp png = nullptr;
  png_infop info = nullptr;
  ~PngReader() { png_destroy_read_struct(&png, &info, nullptr); }
};
struct PngWriter {
  png_structp png = nullptr;
  png_infop info = nullptr;
  ~PngWriter() { png_destroy_write_struct(&png, &info); }
};

// False: failed, and the job has the sentence.
bool png_read_sizes(PngJob& job, PngReader& reader) {
  if (setjmp(job.on_error)) return false;
  png_set_read_fn(reader.png, &job, png_take);
  png_set_crc_action(reader.png, PNG_CRC_ERROR_QUIT, PNG_CRC_DEFAULT);
  png_read_info(reader.png, reader.info);
  return true;
}

bool png_read_layout(PngJob& job, PngReader& reader, int& passes) {
  if (setjmp(job.on_error)) return false;
  png_set_expand(reader.png);  // palettes, 1, 2 and 4 bits, transparency as alpha
  png_set_strip_16(reader.png);
  passes = png_set_interlace_handling(reader.png);
  png_read_update_info(reader.png, reader.info);
  return true;
}

bool png_read_rows(PngJob& job, PngReader& reader, int passes, Pixels& pixels) {
  if (setjmp(job.on_error)) return false;
  const auto stride = static_cast<std::size_t>(pixels.width * pixels.channels);
  for (int pass = 0; pass < passes; ++pass)
    for (std::int64_t y = 0; y < pixels.height; ++y)
      png_read_row(reader.png, pixels.bytes.data() + static_cast<std::size_t>(y) * stride, nullptr);
  png_read_end(reader.png, nullptr);
  return true;
}

bool png_write_all(PngJob& job, PngWriter& writer, const Pixels& pixels) {
  if (setjmp(job.on_error)) return false;
  constexpr int types[] = {0, PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                           PNG_COLOR_TYPE_RGB_ALPHA};
  png_set_write_fn(writer.png, &job, png_give, png_flushed);
  png_set_IHDR(writer.png, writer.info, static_cast<png_uint_32>(pixels.width),
               static_cast<png_uint_32>(pixels.height), 8, types[pixels.channels],
               PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(writer.png, writer.info);
  const auto stride = static_cast<std::size_t>(pixels.width * pixels.channels);
  for (std::int64_t y = 0; y < pixels.height; ++y)
    png_write_row(writer.png, pixels.bytes.data() + static_cast<std::size_t>(y) * stride);
  png_write_end(writer.png, writer.info);
  return true;
}

}  // namespace

Pixels decode_png(std::string_view bytes, const std::string& name, const ImageOptions& options) {
  PngJob job;
  job.bytes = bytes;
  PngReader reader;
  reader.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &job, png_failed, png_warned);
  if (reader.png) reader.info = png_create_info_struct(reader.png);
  BP_CHECK(reader.info, "{}: libpng can't begin", name);
  png_set_user_limits(reader.png, 0x7fffffff, 0x7fffffff);  // ours is the product
  png_set_chunk_malloc_max(reader.png, 8 << 20);
  const auto check = [&](bool good) {
    BP_CHECK(good, "{}: can't be decoded as a PNG: {}", name, job.sentence);
  };
  check(png_read_sizes(job, reader));
  Pixels pixels;
  pixels.width = png_get_image_width(reader.png, reader.info);
  pixels.height = png_get_image_height(reader.png, reader.info);
  check_image_size(pixels.width, pixels.height, name, options);
  int passes = 1;
  check(png_read_layout(job, reader, passes));
  pixels.channels = png_get_channels(reader.png, reader.info);
  BP_CHECK(png_get_rowbytes(reader.png, reader.info) ==
               static_cast<std::size_t>(pixels.width * pixels.channels),
           "{}: can't be decoded as a PNG: its rows have an unknown layout", name);
  pixels.bytes.resize(static_cast<std::size_t>(pixels.width * pixels.height * pixels.channels));
  check(png_read_rows(job, reader, passes, pixels));
  return pixels;
}

std::string encode_png_pixels(const Pixels& pixels) {
  std::string encoded;
  PngJob job;
  job.encoded = &encoded;
  PngWriter writer;
  writer.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &job, png_failed, png_warned);
  if (writer.png) writer.info = png_create_info_struct(writer.png);
  BP_CHECK(writer.info, "encode_png: libpng can't begin");
  BP_CHECK(png_write_all(job, writer, pixels), "encode_png: {}", job.sentence);
  return encoded;
}
#else
Pixels decode_png(std::string_view, const std::string& name, const ImageOptions&) {
  throw_without_library(name, "PNG", "libpng", "libpng-dev");
}
std::string encode_png_pixels(const Pixels&) {
  throw_without_library("encode_png: the result", "PNG", "libpng", "libpng-dev");
}
#endif

}  // namespace bp::data

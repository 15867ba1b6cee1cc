// alone: setjmp, and libjpeg's macros
#include <csetjmp>
#include <cstdio>
#include <cstring>

#include <backplane/tensor/check.hpp>

#include "formats/pixels.hpp"

#ifdef BP_DATA_JPEG
#  include <jpeglib.h>
// after it
#  include <jerror.h>
#endif

namespace bp::data {

#ifdef BP_DATA_JPEG
namespace {

// A progressive file of a few bytes can ask for scans without end; those of real files have some ten.
constexpr int most_scans = 200;

// What libjpeg's functions get back from it. An error leaves by longjmp, as its C code expects; so no function below makes
// an object that has a destructor between setjmp and its return.
struct JpegJob {
  jpeg_error_mgr errors;  // first: what libjpeg points to
  jpeg_progress_mgr progress;
  jpeg_decompress_struct jpeg;
  jmp_buf on_error;
  char sentence[JMSG_LENGTH_MAX] = "";
};

[[noreturn]] void jpeg_failed(j_common_ptr jpeg) {
  auto* job = reinterpret_cast<JpegJob*>(jpeg->err);
  jpeg->err->format_message(jpeg, job->sentence);
  std::longjmp(job->on_error, 1);
}

// libjpeg goes on after damage, with gray where nothing is left. Here that is an error, but for harmless oddities.
void jpeg_warned(j_common_ptr jpeg, int level) {
  if (level >= 0) return;
  const int code = jpeg->err->msg_code;
  if (code != JWRN_EXTRANEOUS_DATA && code != JWRN_JFIF_MAJOR && code != JWRN_ADOBE_XFORM)
    jpeg_failed(jpeg);
}
void jpeg_silent(j_common_ptr) {}

void jpeg_watched(j_common_ptr jpeg) {
  auto* job = reinterpret_cast<JpegJob*>(jpeg->err);
  if (job->jpeg.input_scan_number <= most_scans) return;
  std::strcpy(job->sentence, "it has more scans than any picture needs");
  std::longjmp(job->on_error, 1);
}

bool jpeg_begin(JpegJob& job, std::string_view bytes) {
  if (setjmp(job.on_error)) return false;
  jpeg_create_decompress(&job.jpeg);
  job.jpeg.progress = &job.progress;
  jpeg_mem_src(&job.jpeg, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  jpeg_read_header(&job.jpeg, TRUE);
  return true;
}

bool jpeg_read_layout(JpegJob& job) {
  if (setjmp(job.on_error)) return false;
  jpeg_decompress_struct& jpeg = job.jpeg;
  const bool is_cmyk = jpeg.jpeg_color_space == JCS_CMYK || jpeg.jpeg_color_space == JCS_YCCK;
  if (is_cmyk)
    jpeg.out_color_space = JCS_CMYK;
  else if (jpeg.jpeg_color_space != JCS_GRAYSCALE)
    jpeg.out_color_space = JCS_RGB;
  jpeg_start_decompress(&jpeg);
  return true;
}

bool jpeg_read_rows(JpegJob& job, unsigned char* to, std::size_t stride) {
  if (setjmp(job.on_error)) return false;
  while (job.jpeg.output_scanline < job.jpeg.output_height) {
    unsigned char* row = to + job.jpeg.output_scanline * stride;
    jpeg_read_scanlines(&job.jpeg, &row, 1);
  }
  jpeg_finish_decompress(&job.jpeg);
  return true;
}

// Adobe's programs write the inks' complements, and nobody else writes CMYK.
Pixels rgb_of_cmyk(const Pixels& from) {
  Pixels result{from.height, from.width, 3, {}};
  result.bytes.resize(from.bytes.size() / 4 * 3);
  for (std::size_t i = 0; i < from.bytes.size() / 4; ++i)
    for (std::size_t channel = 0; channel < 3; ++channel)
      result.bytes[3 * i + channel] = static_cast<std::uint8_t>(
          (from.bytes[4 * i + channel] * from.bytes[4 * i + 3] + 127) / 255);
  return result;
}

struct EndJpeg {
  JpegJob& job;
  ~EndJpeg() { jpeg_destroy_decompress(&job.jpeg); }
};

}  // namespace

Pixels decode_jpeg(std::string_view bytes, const std::string& name, const ImageOptions& options) {
  JpegJob job{};
  job.jpeg.err = jpeg_std_error(&job.errors);
  job.errors.error_exit = jpeg_failed;
  job.errors.emit_message = jpeg_warned;
  job.errors.output_message = jpeg_silent;
  job.progress.progress_monitor = jpeg_watched;
  const EndJpeg end{job};
  const auto check = [&](bool good) {
    BP_CHECK(good, "{}: can't be decoded as a JPEG: {}", name, job.sentence);
  };
  check(jpeg_begin(job, bytes));
  check_image_size(job.jpeg.image_width, job.jpeg.image_height, name, options);
  check(jpeg_read_layout(job));
  Pixels pixels{job.jpeg.output_height, job.jpeg.output_width, job.jpeg.output_components, {}};
  const auto stride = static_cast<std::size_t>(pixels.width * pixels.channels);
  pixels.bytes.resize(static_cast<std::size_t>(pixels.height) * stride);
  check(jpeg_read_rows(job, pixels.bytes.data(), stride));
  return pixels.channels == 4 ? rgb_of_cmyk(pixels) : pixels;
}
#else
Pixels decode_jpeg(std::string_view, const std::string& name, const ImageOptions&) {
  throw_without_library(name, "JPEG", "libjpeg", "libjpeg-dev");
}
#endif

}  // namespace bp::data

// needs: cpu
// Pictures: written, read, and refused when damaged.
#include <csignal>
#include <sys/resource.h>

#include "data/datasets.hpp"
#include "data/picture_files.hpp"

namespace bp::test {
namespace {

Tensor noise(IntList shape) {
  Generator generator(3);
  return to(randint(0, 256, shape, i64, std::nullopt, &generator), u8);
}

bool lacks_library(const std::string& sentence) {
  return sentence.find("was built without") != std::string::npos;
}

TEST(Pngs, come_back_as_they_were_written) {
  const Folder folder;
  for (std::int64_t channels = 1; channels <= 4; ++channels) {
    const Tensor image = noise({channels, 7, 5});
    write_png(folder.file("a.png"), image);
    EXPECT_TRUE(equal(read_image(folder.file("a.png")), image)) << channels;
  }
  write_png(folder.file("a.png"), noise({4, 6}));
  EXPECT_TRUE(equal(read_image(folder.file("a.png")), unsqueeze(noise({4, 6}), 0)));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.file("")), {}), 1);
}

TEST(Pngs, are_converted_to_the_wanted_channels) {
  const std::string file = encode_png(noise({3, 2, 2}));
  const Tensor rgb = decode_image(file, "a.png");
  const Tensor gray = decode_image(file, "a.png", {.mode = ImageMode::gray});
  const std::vector<std::int64_t> c = whole_of(rgb);
  EXPECT_EQ(whole_of(gray)[1], (19595 * c[1] + 38470 * c[5] + 7471 * c[9] + 32768) >> 16);
  const Tensor alpha = decode_image(file, "a.png", {.mode = ImageMode::rgb_alpha});
  EXPECT_TRUE(equal(narrow(alpha, 0, 0, 3), rgb));
  EXPECT_EQ(whole_of(select(alpha, 0, 3))[0], 255);
  const Tensor back = decode_image(encode_png(noise({2, 3, 3})), "b.png", {.mode = ImageMode::rgb});
  EXPECT_TRUE(equal(select(back, 0, 2), select(noise({2, 3, 3}), 0, 0)));
  EXPECT_EQ(decode_image(file, "a.png", {.mode = ImageMode::gray_alpha}).size(0), 2);
}

TEST(Pngs, that_are_damaged_are_refused_by_name) {
  const std::string file = encode_png(noise({3, 4, 4}));
  for (std::size_t size = 0; size < file.size(); ++size)
    EXPECT_THAT(sentence_of([&] { decode_image(file.substr(0, size), "cut.png"); }),
                HasSubstr("cut.png: "))
        << size;
  for (std::size_t at = 8; at < file.size(); ++at) {
    std::string bad = file;
    bad[at] = static_cast<char>(bad[at] ^ 0x55);
    EXPECT_THAT(sentence_of([&] { decode_image(bad, "bad.png"); }), HasSubstr("bad.png: ")) << at;
  }
}

TEST(Pngs, of_more_pixels_than_allowed_are_refused_before_they_take_memory) {
  std::string file = encode_png(noise({1, 2, 2}));
  EXPECT_THAT(sentence_of([&] { decode_image(file, "a.png", {.most_pixels = 3}); }),
              HasSubstr("a.png: has 2 by 2 pixels, and at most 3"));
}

TEST(Pngs, are_written_whole_or_not_at_all) {
  const Folder folder;
  EXPECT_THAT(sentence_of([] {
                write_png("/nowhere/a.png", ones({1, 2, 2}, u8));
              }),
              HasSubstr("/nowhere/a.png: can't be written after 0 bytes: No such file"));
  EXPECT_THAT(sentence_of([&] {
                write_png(folder.file("a.png"), ones({5, 2, 2}, u8));
              }),
              HasSubstr("1 to 4 channels"));
  EXPECT_THAT(sentence_of([&] {
                write_png(folder.file("a.png"), ones({3, 2, 2}));
              }),
              HasSubstr("uint8"));
  EXPECT_FALSE(std::filesystem::exists(folder.file("a.png")));
}

TEST(Pngs, on_a_full_disk_leave_the_old_file) {
  const Folder folder;
  const std::string path = folder.file("a.png");
  write_png(path, noise({1, 2, 2}));
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{1000, before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  const std::string sentence = sentence_of([&] { write_png(path, noise({3, 100, 100})); });
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(sentence, HasSubstr("can't be written after 1000 bytes: File too large"));
  EXPECT_TRUE(equal(read_image(path), noise({1, 2, 2})));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.file("")), {}), 1);
}

// Each of 4 by 3 pixels: its left half is (200, 40, 90), its right one (10, 180, 60).
void expect_halves(const std::string& file, double tolerance) {
  const Tensor image = decode_image(file, "picture", {.mode = ImageMode::rgb});
  ASSERT_EQ(image.shape(), IntList({3, 3, 4}));
  const double left[] = {200, 40, 90}, right[] = {10, 180, 60};
  for (std::int64_t channel = 0; channel < 3; ++channel) {
    EXPECT_NEAR(item<double>(to(select(select(select(image, 0, channel), 0, 1), 0, 0), f64)),
                left[channel], tolerance);
    EXPECT_NEAR(item<double>(to(select(select(select(image, 0, channel), 0, 1), 0, 3), f64)),
                right[channel], tolerance);
  }
}

void expect_refused_when_cut(const std::string& file) {
  for (std::size_t size = 0; size < file.size() - 2; ++size)
    EXPECT_THAT(sentence_of([&] { decode_image(file.substr(0, size), "cut"); }), HasSubstr("cut: "))
        << size;
}

TEST(Jpegs, are_decoded_and_refused_when_cut) {
  const std::string file = picture_file(jpeg_halves);
  const std::string sentence = sentence_of([&] { decode_image(file, "a.jpg"); });
  if (lacks_library(sentence)) GTEST_SKIP() << sentence;
  expect_halves(file, 12);
  expect_refused_when_cut(file);
}

TEST(Webps, are_decoded_and_refused_when_cut) {
  const std::string file = picture_file(webp_halves);
  const std::string sentence = sentence_of([&] { decode_image(file, "a.webp"); });
  if (lacks_library(sentence)) GTEST_SKIP() << sentence;
  expect_halves(file, 0);
  expect_refused_when_cut(file);
}

TEST(Pngs, with_palettes_and_sixteen_bits_become_bytes) {
  expect_halves(picture_file(png_palette_halves), 0);
  const Tensor deep = decode_image(picture_file(png_sixteen_bits), "deep.png");
  EXPECT_EQ(whole_of(deep), (std::vector<std::int64_t>{0x12, 0xab}));
}

TEST(Pictures, of_other_formats_are_refused) {
  EXPECT_THAT(sentence_of([] { decode_image("GIF89a", "a.gif"); }),
              HasSubstr("a.gif: its first bytes are not those of a PNG, JPEG or WebP"));
  EXPECT_THAT(sentence_of([] { decode_image("", "empty"); }), HasSubstr("empty: "));
}

}  // namespace
}  // namespace bp::test

// Messages between the suite and its workers: binary values come through whole, and garbage is refused.
#include <gtest/gtest.h>

#include "protocol/script.hpp"

namespace bp::conform {
namespace {

std::vector<std::uint8_t> bytes_of(const Json& message) {
  std::vector<std::uint8_t> frame;
  append_message(message, frame);
  return frame;
}

const Json nested = {{"case", "core:add[f32]"},
                     {"steps",
                      {{{"bytes", Json::binary({1, 2, 3})}, {"code", -1}},
                       {{"none", Json::binary({})}, {"empty", Json::array()}}}},
                     {"values", {Json::binary({255, 0}), nullptr, 0.5, Json::object()}}};

TEST(Messages, KeepBinaryValuesWhereverTheyStand) {
  for (const Json& message : {nested, Json::binary({7}), Json(), Json::object(), Json("text")}) {
    const std::vector<std::uint8_t> frame = bytes_of(message);
    Json back;
    ASSERT_TRUE(read_message(frame.data(), frame.size(), back));
    EXPECT_EQ(back, message);
  }
}

TEST(Messages, AreRefusedWhenTheyEndEarlyOrLate) {
  std::vector<std::uint8_t> frame = bytes_of(nested);
  Json back;
  for (std::size_t size = 0; size < frame.size(); ++size)
    EXPECT_FALSE(read_message(frame.data(), size, back)) << size;
  frame.push_back(0);
  EXPECT_FALSE(read_message(frame.data(), frame.size(), back));
}

TEST(Messages, WithAWrongByteAreReadOrRefused) {
  const std::vector<std::uint8_t> frame = bytes_of(nested);
  int refused = 0;
  for (std::size_t at = 0; at < frame.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      std::vector<std::uint8_t> wrong = frame;
      wrong[at] ^= static_cast<std::uint8_t>(1 << bit);
      Json back;
      refused += !read_message(wrong.data(), wrong.size(), back);
    }
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace bp::conform

// Messages between the suite and its workers: binary values come through whole, and garbage is refused.
#include <cstring>
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
  for (std::size_t at = 0; at < frame.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      std::vector<std::uint8_t> wrong = frame;
      wrong[at] ^= static_cast<std::uint8_t>(1 << bit);
      Json back;
      const bool is_read = read_message(wrong.data(), wrong.size(), back);
      if (at < sizeof(std::uint64_t)) {
        EXPECT_FALSE(is_read) << "bit " << bit << " of byte " << at << " of the length";
      }
    }
}

std::vector<std::uint8_t> framed(const std::vector<std::uint8_t>& cbor) {
  std::vector<std::uint8_t> frame(sizeof(std::uint64_t));
  const std::uint64_t count = cbor.size();
  std::memcpy(frame.data(), &count, sizeof count);
  frame.insert(frame.end(), cbor.begin(), cbor.end());
  return frame;
}

TEST(Messages, ThatNestWithoutEndAreRefused) {
  Json back;
  for (const std::uint8_t byte :
       {0x81, 0x9f, 0xa1, 0xbf}) {  // arrays and objects of one, and such as say no size
    const std::vector<std::uint8_t> frame =
        framed(std::vector<std::uint8_t>(std::size_t{8} << 20, byte));
    EXPECT_FALSE(read_message(frame.data(), frame.size(), back));
  }
  std::vector<std::uint8_t> keyed;  // {"a": {"a": ...
  for (int i = 0; i < 1'000'000; ++i) keyed.insert(keyed.end(), {0xa1, 0x61, 'a'});
  const std::vector<std::uint8_t> frame = framed(keyed);
  EXPECT_FALSE(read_message(frame.data(), frame.size(), back));
}

TEST(Messages, WithSizesThatNothingHasAreRefused) {
  Json back;
  for (const std::uint8_t byte :
       {0x9b, 0xbb, 0x5b, 0x7b}) {  // of 2^64 - 1 elements, pairs, bytes, characters
    std::vector<std::uint8_t> cbor(9, 0xff);
    cbor[0] = byte;
    const std::vector<std::uint8_t> frame = framed(cbor);
    EXPECT_FALSE(read_message(frame.data(), frame.size(), back)) << int{byte};
  }
}

}  // namespace
}  // namespace bp::conform

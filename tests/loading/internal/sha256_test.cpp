#include <gtest/gtest.h>

#include <backplane/loading/sha256.hpp>

#include "loading/support.hpp"

namespace bp::loading {
namespace {

std::string sum_of(const std::string& text, size_t chunk = SIZE_MAX) {
  Sha256 sum;
  for (size_t at = 0; at < text.size(); at += std::min(chunk, text.size() - at))
    sum.add(std::as_bytes(std::span(text)).subspan(at, std::min(chunk, text.size() - at)));
  return sum.finish();
}

// The examples of FIPS 180-2 and of NIST's test vectors.
TEST(Sha256, gives_the_standards_examples) {
  EXPECT_EQ(sum_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sum_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sum_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sum_of(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, does_not_depend_on_how_the_bytes_come) {
  const std::string text(300, 'x');
  for (const size_t chunk : {1, 7, 55, 56, 63, 64, 65, 128})
    EXPECT_EQ(sum_of(text, chunk), sum_of(text));
}

TEST(Sha256, reads_files) {
  const TemporaryFolder folder;
  EXPECT_EQ(sha256_of_file(write_file(folder / "a", "abc")), sum_of("abc"));
  EXPECT_EQ(sha256_of_file(write_file(folder / "b", std::string(200'000, 'b'))),
            sum_of(std::string(200'000, 'b')));
  EXPECT_EQ(sha256_of_file(folder / "none"), std::nullopt);
  EXPECT_EQ(sha256_of_file(folder.path()), std::nullopt);
}

}  // namespace
}  // namespace bp::loading

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <backplane/loading/manifest.hpp>

#include "loading/support.hpp"

namespace bp::loading {
namespace {

using testing::StartsWith;

const fs::path file = "/plugins/acme.json";

std::string problem_of(const std::string& text) {
  return parse_manifest(text, file).problem;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

TEST(Manifest, is_read_as_it_was_written) {
  const std::string sum(64, 'A');
  const ManifestResult result = parse_manifest(
      manifest_text("sub/libacme.so", R"(, "description": "für alle", "sha256": ")" + sum + "\""),
      file);
  EXPECT_EQ(result.problem, "");
  EXPECT_EQ(result.manifest.name, "acme");
  EXPECT_EQ(result.manifest.vendor, "Acme Inc.");
  EXPECT_EQ(result.manifest.description, "für alle");
  EXPECT_EQ(result.manifest.library, "/plugins/sub/libacme.so");
  EXPECT_EQ(result.manifest.abi_min, 1u);
  EXPECT_EQ(result.manifest.abi_max, 1u);
  EXPECT_EQ(result.manifest.sha256, std::string(64, 'a'));
  EXPECT_TRUE(result.manifest.offers.empty());
}

TEST(Manifest, names_the_extensions_that_are_offered) {
  const auto offers = [](const std::string& text) {
    return parse_manifest(manifest_text("l.so", ", \"offers\": \"" + text + "\""), file)
        .manifest.offers;
  };
  EXPECT_TRUE(offers("").empty());
  EXPECT_THAT(offers("bp.collective"), testing::ElementsAre("bp.collective"));
  EXPECT_THAT(offers(" bp.collective  acme.x "), testing::ElementsAre("bp.collective", "acme.x"));
  EXPECT_THAT(problem_of(manifest_text("l.so", R"(, "offers": ["bp.collective"])")),
              testing::HasSubstr("\"offers\" must be a string, not a list"));
}

TEST(Manifest, takes_an_absolute_library) {
  EXPECT_EQ(parse_manifest(manifest_text("/opt/../opt/libacme.so"), file).manifest.library,
            "/opt/libacme.so");
}

TEST(Manifest, ignores_keys_of_the_future) {
  EXPECT_EQ(problem_of(manifest_text("l.so", R"(, "new": {"a": [1, {"name": "x"}]}, "f": 1.5)")),
            "");
}

TEST(Manifest, names_file_and_key_of_each_problem) {
  const std::string good = manifest_text("l.so");
  const std::string at = "/plugins/acme.json: ";
  EXPECT_EQ(problem_of("{}"), at + "\"name\" is missing");
  EXPECT_EQ(problem_of(replaced(good, "\"acme\"", "7")),
            at + "\"name\" must be a string, not a number");
  EXPECT_EQ(problem_of(replaced(good, "\"acme\"", "[1]")),
            at + "\"name\" must be a string, not a list");
  EXPECT_EQ(problem_of(replaced(good, "\"acme\"", "null")),
            at + "\"name\" must be a string, not null");
  EXPECT_THAT(problem_of(replaced(good, "acme", "ac me:0")),
              StartsWith(at + "\"name\" must begin"));
  EXPECT_EQ(problem_of(replaced(good, "l.so", "")), at + "\"library\" is empty");
  EXPECT_THAT(problem_of(replaced(good, "l.so", "../l.so")), StartsWith(at + "\"library\" leaves"));
  EXPECT_THAT(problem_of(replaced(good, "l.so", "a/../../l.so")),
              StartsWith(at + "\"library\" leaves"));
  EXPECT_EQ(problem_of(replaced(good, "l.so", "l\\u0000.so")),
            at + "\"library\" holds control characters");
  EXPECT_EQ(problem_of(replaced(good, "\"abi_min\": 1", "\"abi_min\": \"1\"")),
            at + "\"abi_min\" must be a whole number, not a string");
  EXPECT_EQ(problem_of(replaced(good, "\"abi_min\": 1", "\"abi_min\": -1")),
            at + "\"abi_min\" must be a whole number, not a negative number");
  EXPECT_EQ(problem_of(replaced(good, "\"abi_max\": 1", "\"abi_max\": 4294967296")),
            at + "\"abi_max\" is 4294967296, which is not an ABI level");
  EXPECT_EQ(problem_of(replaced(good, "\"abi_min\": 1", "\"abi_min\": 2")),
            at + "\"abi_min\" is 2, above abi_max, 1");
  EXPECT_EQ(problem_of(manifest_text("l.so", R"(, "sha256": "abc")")),
            at + "\"sha256\" is not 64 hexadecimal digits");
  EXPECT_EQ(problem_of(manifest_text("l.so", R"(, "name": "b")")),
            at + "key \"name\" is there twice");
}

TEST(Manifest, refuses_what_is_no_json_object) {
  EXPECT_EQ(problem_of(""), "/plugins/acme.json: is not JSON at byte 1");
  for (const char* text : {"[]", "[[{}]]", "3", "\"name\"", "null", "true"})
    EXPECT_THAT(problem_of(text), StartsWith("/plugins/acme.json: is not a JSON object")) << text;
  const std::string good = manifest_text("l.so");
  for (size_t length = 0; length < good.size(); length++)
    EXPECT_THAT(problem_of(good.substr(0, length)), StartsWith("/plugins/acme.json: is not JSON"));
  EXPECT_THAT(problem_of(good + "}"), StartsWith("/plugins/acme.json: is not JSON"));
  EXPECT_THAT(problem_of("{\"name\": \"\xff\"}"), StartsWith("/plugins/acme.json: is not JSON"));
}

TEST(Manifest, has_a_limited_size_and_depth) {
  EXPECT_EQ(problem_of(std::string(max_manifest_bytes + 1, ' ')),
            "/plugins/acme.json: is larger than 65536 bytes");
  const std::string deep(20'000, '[');
  EXPECT_EQ(problem_of(R"({"x": )" + deep), "/plugins/acme.json: is nested deeper than 8 levels");
}

TEST(Manifest, of_another_architecture_names_both) {
  Manifest manifest = parse_manifest(manifest_text("l.so"), file).manifest;
  EXPECT_EQ(find_mismatch(manifest, file), "");
  manifest.architecture = "riscv";
  EXPECT_EQ(find_mismatch(manifest, file),
            "/plugins/acme.json: acme is built for riscv, this process is " +
                std::string(process_architecture()));
}

TEST(Manifest, of_a_future_abi_names_both_ranges) {
  Manifest manifest = parse_manifest(manifest_text("l.so"), file).manifest;
  manifest.abi_min = 7000;
  manifest.abi_max = 8000;
  EXPECT_THAT(
      find_mismatch(manifest, file),
      StartsWith("/plugins/acme.json: acme speaks ABI levels 7000 to 8000, this Backplane 1 to "));
}

TEST(Manifest, that_cannot_be_read_is_a_sentence) {
  EXPECT_EQ(read_manifest("/none.json").problem, "/none.json: is not a regular file");
  EXPECT_EQ(read_manifest("/tmp").problem, "/tmp: is not a regular file");
}

}  // namespace
}  // namespace bp::loading

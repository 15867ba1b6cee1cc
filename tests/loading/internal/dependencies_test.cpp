#include "dependencies.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loading/support.hpp"

namespace bp::loading {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> missing(ElfFile elf, const fs::path& file = "/nowhere/a.so") {
  elf.needed.push_back("libbackplane_gone.so");
  return find_missing(elf, file, "");
}

TEST(Dependencies, finds_those_of_the_system) {
  ElfFile elf;
  elf.needed = {"libc.so.6", "libm.so.6"};
  EXPECT_THAT(find_missing(elf, "/nowhere/a.so", ""), IsEmpty());
}

TEST(Dependencies, finds_by_the_librarys_own_search_path) {
  const TemporaryFolder folder;
  write_file(folder / "deps/libbackplane_gone.so", "");
  const fs::path file = folder / "a.so";
  for (const char* path : {"$ORIGIN/deps", "/none:${ORIGIN}/deps"}) {
    ElfFile elf;
    elf.runpath = path;
    EXPECT_THAT(missing(elf, file), IsEmpty()) << path;
    elf.runpath = "";
    elf.rpath = path;
    EXPECT_THAT(missing(elf, file), IsEmpty()) << path;
    elf.runpath = "/none";
    EXPECT_THAT(missing(elf, file), ElementsAre("libbackplane_gone.so")) << "runpath hides rpath";
  }
}

TEST(Dependencies, does_not_search_for_a_path) {
  ElfFile elf;
  elf.needed = {"/none/libx.so", "/proc/self/exe"};
  EXPECT_THAT(find_missing(elf, "/nowhere/a.so", ""), ElementsAre("/none/libx.so"));
}

TEST(Dependencies, survives_endless_search_paths) {
  std::string path;
  for (int i = 0; i < 10'000; i++) path += "/none:$LIB:";
  ElfFile elf;
  elf.runpath = path;
  EXPECT_THAT(missing(elf), ElementsAre("libbackplane_gone.so"));
}

TEST(Dependencies, reads_the_loaders_cache) {
  const std::string cache = read_file("/etc/ld.so.cache");
  if (cache.empty()) GTEST_SKIP() << "this system has none";
  EXPECT_THAT(read_loader_cache(cache), testing::Contains("libc.so.6"));
  for (size_t length = 0; length < cache.size(); length += 31)
    read_loader_cache(std::string_view(cache).substr(0, length));
  EXPECT_THAT(read_loader_cache(std::string(100, 'x')), IsEmpty());
}

}  // namespace
}  // namespace bp::loading

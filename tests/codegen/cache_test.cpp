// needs: cpu reference_compiler
// The compiled kernels on disk, from one process to the next.
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <span>

#include <backplane/codegen/codegen.hpp>
#include <backplane/dispatcher/transfer.hpp>
#include <backplane/loading/sha256.hpp>
#include <backplane/tensors.hpp>

#include "dispatcher/child.hpp"
#include "tools/run_program.hpp"

namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// Runs in a process of its own, and says what it built.
TEST(CacheChild, DISABLED_adds) {
  const bp::Device device = bp::device("reference_compiler:0");
  const bp::Tensor x = bp::to(bp::full({5}, 2.0), device, bp::f32);
  const bp::Tensor sum = bp::to(bp::add(x, x), bp::device("cpu"));
  std::vector<float> result(5);
  bp::copy_to_host_memory(sum, result.data());
  EXPECT_EQ(result, std::vector<float>(5, 4.0f));
  const bp::codegen::BuildCounts counts = bp::codegen::build_counts();
  std::printf("compiled %d, from cache %d\n", static_cast<int>(counts.compiled),
              static_cast<int>(counts.from_cache));
}

class Cache : public testing::Test {
 protected:
  bp::test::Child add(const std::string& place) {
    bp::test::Child child =
        bp::test::run_child("CacheChild.DISABLED_adds", {"BACKPLANE_CACHE_DIR=" + place});
    EXPECT_EQ(child.exit_code, 0) << child.output;
    return child;
  }
  void expect_built(const std::string& what) { EXPECT_THAT(add(folder).output, HasSubstr(what)); }
  std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(folder)) found.push_back(entry.path());
    return found;
  }
  fs::path file() const {
    EXPECT_EQ(files().size(), 1u);
    return files().at(0);
  }

  bp::test::TemporaryFolder parent;
  fs::path folder = parent.path() / "kernels";
};

TEST_F(Cache, a_second_start_compiles_nothing) {
  expect_built("compiled 1, from cache 0");
  expect_built("compiled 0, from cache 1");
}

TEST_F(Cache, a_truncated_or_empty_file_heals) {
  expect_built("compiled 1, from cache 0");
  const auto whole = fs::file_size(file());
  for (const std::uintmax_t size : {whole - 1, whole / 2, std::uintmax_t{0}}) {
    fs::resize_file(file(), size);
    expect_built("compiled 1, from cache 0");
    expect_built("compiled 0, from cache 1");
    EXPECT_EQ(fs::file_size(file()), whole);
  }
}

// A file that is as it was written, of bytes that the device does not want.
void poison(const fs::path& file, const std::string& binary) {
  struct {
    char magic[8] = {'b', 'p', 'k', 'e', 'r', 'n', 'e', 'l'};
    std::uint64_t version = 1, bytes = 0;
    char sum[64];
  } head;
  head.bytes = binary.size();
  bp::loading::Sha256 sum;
  sum.add(std::as_bytes(std::span(binary)));
  sum.finish().copy(head.sum, 64);
  std::ofstream stream(file, std::ios::binary);
  stream.write(reinterpret_cast<const char*>(&head), sizeof head);
  stream << binary;
}

TEST_F(Cache, a_poisoned_file_heals) {
  expect_built("compiled 1, from cache 0");
  const std::string good = bp::test::read_file(file()).substr(88);
  // No library at all; one that is cut; and one without the kernel, though a library.
  const fs::path empty = parent.write("empty.c", "");
  const fs::path other = parent.path() / "empty.so";
  ASSERT_EQ(std::system(("cc -shared -o " + other.string() + " " + empty.string()).c_str()), 0);
  for (const std::string& binary :
       {std::string("junk"), good.substr(0, good.size() / 2), bp::test::read_file(other)}) {
    poison(file(), binary);
    expect_built("compiled 1, from cache 0");
    expect_built("compiled 0, from cache 1");
  }
  // The poison is laid as it is meant to be: what is good is taken.
  poison(file(), good);
  expect_built("compiled 0, from cache 1");
}

TEST_F(Cache, where_nothing_can_be_written_all_works_and_one_line_says_so) {
  parent.write("file", "");
  for (const std::string& place : {(parent.path() / "file").string(), std::string("/proc/none")}) {
    const std::string output = add(place).output;
    EXPECT_THAT(output, HasSubstr("compiled 1, from cache 0"));
    const std::string line = "compiled kernels and measured choices are not kept";
    const auto at = output.find(line);
    EXPECT_NE(at, std::string::npos) << output;
    EXPECT_EQ(output.find(line, at + 1), std::string::npos) << output;
  }
}

TEST_F(Cache, processes_that_start_at_once_share_it) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { add(folder); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(files().size(), 1u);
  expect_built("compiled 0, from cache 1");
}

TEST_F(Cache, the_command_shows_and_clears_it) {
  expect_built("compiled 1, from cache 0");
  const std::vector<std::string> here = {"BACKPLANE_CACHE_DIR=" + folder.string()};
  const auto shown = nlohmann::json::parse(bp::test::run_backplane({"cache", "--json"}, here).out);
  EXPECT_EQ(shown["folder"], folder.string());
  EXPECT_EQ(shown["files"], 1);
  EXPECT_EQ(shown["bytes"], fs::file_size(file()));
  EXPECT_EQ(shown["limit_bytes"], 512 << 20);
  EXPECT_THAT(bp::test::run_backplane({"cache"}, here).out, HasSubstr("1 file, "));
  EXPECT_THAT(bp::test::run_backplane({"cache", "--clear"}, here).out,
              HasSubstr("1 file deleted."));
  EXPECT_TRUE(files().empty());
  expect_built("compiled 1, from cache 0");
}

}  // namespace

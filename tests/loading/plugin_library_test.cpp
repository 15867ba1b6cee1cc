#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <utility>

#include <backplane/loading/plugin_library.hpp>

#include "loading/support.hpp"

namespace bp::loading {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

thread_local std::string last_message;

bp_code set_error(const bp_host*, bp_code code, const char* message) {
  last_message = message;
  return code;
}
std::string_view said(const bp_host&) {
  return last_message;
}

// Enough of a host for the first step.
bp_host make_host() {
  bp_host host{};
  host.h = {sizeof(bp_host), BP_TYPE_HOST, nullptr};
  host.abi_min = 1;
  host.abi_max = BP_ABI_LEVEL;
  host.set_error = set_error;
  host.set_call_error = [](const bp_host* h, bp_code code, uint64_t, const char* message) {
    return set_error(h, code, message);
  };
  return host;
}

Outcome open(const fs::path& file, PluginLibrary* library) {
  static const bp_host host = make_host();
  last_message.clear();
  return PluginLibrary::open(file, host, said, library);
}

Outcome open_broken(const std::string& name) {
  PluginLibrary library;
  Outcome outcome = open(broken_plugin(name), &library);
  EXPECT_EQ(library.is_open(), outcome.ok());
  return outcome;
}

TEST(PluginLibrary, opens_a_good_plugin_and_closes_it) {
  PluginLibrary library;
  const Outcome outcome = open(broken_plugin("good"), &library);
  ASSERT_TRUE(outcome.ok()) << outcome.message;
  EXPECT_STREQ(library.plugin()->name, "minimal");
  EXPECT_EQ(library.plugin()->abi, BP_ABI_LEVEL);
  library.close();
  EXPECT_FALSE(library.is_open());
  EXPECT_EQ(library.plugin(), nullptr);
  EXPECT_FALSE(library.is_mapped());
  library.close();
}

TEST(PluginLibrary, can_be_moved) {
  PluginLibrary first;
  ASSERT_TRUE(open(broken_plugin("good"), &first).ok());
  PluginLibrary second = std::move(first);
  EXPECT_TRUE(second.is_open());
  EXPECT_EQ(second.file(), broken_plugin("good"));
  PluginLibrary third;
  third = std::move(second);
  EXPECT_TRUE(third.is_mapped());
}

TEST(PluginLibrary, names_both_levels_of_a_future_abi) {
  const Outcome outcome = open_broken("future_abi");
  EXPECT_EQ(outcome.code, BP_UNSUPPORTED);
  EXPECT_EQ(outcome.message,
            broken_plugin("future_abi").string() +
                fmt::format(": speaks ABI level 1000, this host 1 to {}; install a newer Backplane",
                            BP_ABI_LEVEL));
}

TEST(PluginLibrary, checks_the_structs) {
  EXPECT_THAT(open_broken("wrong_size").message,
              HasSubstr("bp_plugin.h.size is 24, but bp_plugin has at"));
  EXPECT_THAT(open_broken("null_copy").message,
              HasSubstr("bp_plugin.memory->copy is NULL; the eight required functions are"));
  EXPECT_EQ(open_broken("null_copy").code, BP_INTERNAL);
}

TEST(PluginLibrary, passes_on_code_and_message_of_the_plugin) {
  const Outcome outcome = open_broken("refusing");
  EXPECT_EQ(outcome.code, BP_INTERNAL);
  EXPECT_THAT(outcome.message,
              HasSubstr("bp_get_plugin_v1 returned code 7: the licence\nhas run out"));
}

TEST(PluginLibrary, explains_why_a_file_cannot_be_opened) {
  EXPECT_THAT(
      open_broken("missing_dependency").message,
      StartsWith(broken_plugin("missing_dependency").string() + ": needs libbackplane_gone.so"));
  EXPECT_THAT(open_broken("missing_symbol").message, HasSubstr(": lacks symbol nobody_has_this"));
  EXPECT_THAT(open_broken("no_export").message, HasSubstr("does not export bp_get_plugin_v1"));
  EXPECT_THAT(open_broken("not_there").message, HasSubstr("libnot_there.so: cannot be opened"));

  const TemporaryFolder folder;
  PluginLibrary library;
  EXPECT_EQ(open(write_file(folder / "a.so", ""), &library).code, BP_BAD_ARGUMENT);
}

TEST(PluginLibrary, is_not_searched_for) {
  PluginLibrary library;
  EXPECT_THAT(open("libm.so.6", &library).message, HasSubstr("not an absolute path"));
}

TEST(ExplainDlerror, names_what_is_missing) {
  const auto explained = [](const std::string& text) { return explain_dlerror(text, "/p/a.so"); };
  EXPECT_EQ(explained("libx.so.1: cannot open shared object file: No such file or directory"),
            "/p/a.so: needs libx.so.1, which was not found; install it, or add its folder to "
            "LD_LIBRARY_PATH");
  EXPECT_THAT(explained("/p/a.so: cannot open shared object file: Permission denied"),
              StartsWith("/p/a.so: cannot be opened: cannot open shared object file: Permission"));
  EXPECT_THAT(explained("/lib/libx.so: undefined symbol: f, version V"),
              StartsWith("/p/a.so: its library /lib/libx.so lacks symbol f, version V;"));
  EXPECT_THAT(explained("/lib/libc.so.6: version `GLIBC_9' not found (required by /p/a.so)"),
              HasSubstr("needs a newer library"));
  EXPECT_THAT(explained("/p/a.so: wrong ELF class: ELFCLASS32"), HasSubstr("another architecture"));
  EXPECT_THAT(explained("libx.so: invalid ELF header"),
              HasSubstr("its library libx.so is for another"));
  EXPECT_EQ(explained("out of the blue"), "/p/a.so: cannot be opened: out of the blue");
  EXPECT_EQ(explained(""), "/p/a.so: cannot be opened: ");
}

}  // namespace
}  // namespace bp::loading

#include <cstring>
#include <elf.h>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <vector>

#include <backplane/loading/elf_lint.hpp>

#include "loading/support.hpp"

namespace bp::loading {
namespace {

using testing::HasSubstr;

std::string sentence_of(const LintReport& report, std::string_view rule) {
  for (const Finding& finding : report.findings)
    if (finding.rule == rule) return finding.sentence;
  return "no finding " + std::string(rule);
}

LintReport lint_text(const std::string& bytes) {
  return lint_bytes(std::as_bytes(std::span(bytes)), "libx.so");
}

// The good plugin after `change` of its ELF header.
std::string with_header(const std::function<void(Elf64_Ehdr&)>& change) {
  std::string bytes = read_file(broken_plugin("good"));
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  change(header);
  std::memcpy(bytes.data(), &header, sizeof(header));
  return bytes;
}

TEST(ElfLint, finds_nothing_wrong_with_a_good_plugin) {
  const LintReport report = lint(broken_plugin("good"), bare_environment());
  EXPECT_FALSE(report.refused());
  for (const Finding& finding : report.findings) ADD_FAILURE() << finding.sentence;
}

TEST(ElfLint, refuses_what_is_no_file) {
  const TemporaryFolder folder;
  EXPECT_THAT(sentence_of(lint(folder / "none.so"), "not-a-file"),
              HasSubstr("none.so: does not exist"));
  EXPECT_THAT(sentence_of(lint(folder.path()), "not-a-file"), HasSubstr("is a folder"));
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(sentence_of(lint(folder / "pipe"), "not-a-file"), HasSubstr("not a regular file"));
}

TEST(ElfLint, refuses_an_empty_file) {
  const TemporaryFolder folder;
  const fs::path file = write_file(folder / "libempty.so", "");
  EXPECT_EQ(sentence_of(lint(file), "empty"), file.string() + ": is empty; build or copy it again");
}

TEST(ElfLint, refuses_a_file_cut_short_anywhere) {
  const std::string bytes = read_file(broken_plugin("good"));
  for (size_t length = 1; length < bytes.size(); length += length < 5000 ? 1 : 97) {
    const LintReport report = lint_text(bytes.substr(0, length));
    ASSERT_TRUE(report.has("truncated")) << "at length " << length;
  }
  EXPECT_TRUE(lint_text(bytes.substr(0, bytes.size() - 1)).has("truncated"));
}

TEST(ElfLint, refuses_what_is_no_elf_file) {
  EXPECT_TRUE(lint_text("#!/bin/sh\nexit 0\n").has("not-elf"));
}

TEST(ElfLint, names_both_architectures) {
  const bool is_x86 = process_architecture() == "x86_64";
  const uint16_t machine = is_x86 ? EM_AARCH64 : EM_X86_64;
  const LintReport report = lint_text(with_header([&](Elf64_Ehdr& h) { h.e_machine = machine; }));
  EXPECT_EQ(sentence_of(report, "other-architecture"),
            std::string("libx.so: is built for ") + (is_x86 ? "aarch64" : "x86_64") +
                ", this process is " + std::string(process_architecture()) +
                "; install the plugin for that");
}

TEST(ElfLint, refuses_another_class_and_byte_order) {
  const auto narrow = [](Elf64_Ehdr& h) { h.e_ident[EI_CLASS] = ELFCLASS32; };
  EXPECT_THAT(sentence_of(lint_text(with_header(narrow)), "other-architecture"),
              HasSubstr("32 bits"));
  const auto swapped = [](Elf64_Ehdr& h) {
    h.e_ident[EI_DATA] = ELFDATA2MSB;
    h.e_machine = EM_S390 << 8;
  };
  EXPECT_THAT(sentence_of(lint_text(with_header(swapped)), "other-architecture"),
              HasSubstr("built for s390 (big-endian)"));
}

TEST(ElfLint, refuses_programs_and_object_files) {
  for (const uint16_t type : {ET_EXEC, ET_REL, ET_CORE})
    EXPECT_TRUE(
        lint_text(with_header([&](Elf64_Ehdr& h) { h.e_type = type; })).has("not-a-library"));
  EXPECT_THAT(sentence_of(lint("/bin/sh"), "not-a-library"), HasSubstr("is a program"));
}

TEST(ElfLint, refuses_a_library_without_the_entry_point) {
  EXPECT_THAT(sentence_of(lint(broken_plugin("no_export")), "missing-export"),
              HasSubstr("does not export bp_get_plugin_v1"));
}

TEST(ElfLint, refuses_imports_from_backplane) {
  const LintReport report = lint(broken_plugin("imports_ours"));
  EXPECT_TRUE(report.refused());
  EXPECT_THAT(sentence_of(report, "undefined-symbol"), HasSubstr("imports bp_private_helper"));
}

TEST(ElfLint, warns_of_other_exports) {
  const LintReport report = lint(broken_plugin("exports_more"));
  EXPECT_FALSE(report.refused());
  EXPECT_THAT(sentence_of(report, "other-exports"), HasSubstr("helper_for_everybody"));
}

TEST(ElfLint, warns_of_unique_symbols) {
#ifdef __clang__
  GTEST_SKIP() << "clang makes none";
#endif
  EXPECT_THAT(sentence_of(lint(broken_plugin("unique_symbols")), "unique-symbols"),
              HasSubstr("_ZN7CounterIiE5countE"));
}

TEST(ElfLint, warns_of_an_executable_stack) {
  const LintReport report = lint(broken_plugin("executable_stack"));
  EXPECT_FALSE(report.refused());
  EXPECT_THAT(sentence_of(report, "executable-stack"), HasSubstr("-z noexecstack"));
}

TEST(ElfLint, warns_of_text_relocations) {
  const LintReport report = lint(broken_plugin("text_relocations"));
  EXPECT_FALSE(report.refused());
  EXPECT_THAT(sentence_of(report, "text-relocations"), HasSubstr("-fPIC"));
}

TEST(ElfLint, names_a_missing_dependency) {
  const LintReport report = lint(broken_plugin("missing_dependency"), bare_environment());
  EXPECT_FALSE(report.refused());
  EXPECT_THAT(sentence_of(report, "missing-dependency"), HasSubstr("needs libbackplane_gone.so"));
}

TEST(ElfLint, finds_a_dependency_through_the_library_path) {
  const TemporaryFolder folder;
  write_file(folder / "libbackplane_gone.so", "");
  Environment environment = bare_environment();
  environment.library_path = ":/nowhere:" + folder.path().string();
  EXPECT_FALSE(lint(broken_plugin("missing_dependency"), environment).has("missing-dependency"));
}

TEST(ElfLint, reads_a_library_without_section_headers) {
  const std::string bytes = with_header([](Elf64_Ehdr& h) { h.e_shoff = h.e_shnum = 0; });
  EXPECT_TRUE(lint_text(bytes).findings.empty());
}

TEST(ElfLint, survives_every_damaged_word_of_header_and_tables) {
  const std::string good = read_file(broken_plugin("imports_ours"));
  for (size_t at = 0; at + 8 <= std::min<size_t>(good.size(), 16000); at += 4)
    for (const uint64_t value :
         {uint64_t(0), ~uint64_t(0), uint64_t(1) << 63, uint64_t(0x7fffffff)}) {
      std::string bytes = good;
      std::memcpy(bytes.data() + at, &value, sizeof(value));
      lint_text(bytes);
    }
}

}  // namespace
}  // namespace bp::loading

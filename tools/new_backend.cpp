#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <fstream>
#include <sstream>

#include <backplane/tensor/error.hpp>

#include "commands.hpp"
#include "template_folder.hpp"

namespace bp::tools {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string& sentence) {
  throw Error(ErrorClass::bad_argument, "new-backend: " + sentence);
}

// The template's words for the maker, and what stands for them. In this order: no word is part of an earlier one's.
struct Names {
  std::string lower, title, upper;  // acme, Acme, ACME
};

Names names_of(const std::string& name) {
  const auto is_part = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  };
  if (name.empty() || !std::all_of(name.begin(), name.end(), is_part) || name[0] < 'a' ||
      name.back() == '_')
    refuse(
        fmt::format("'{}' is not a valid name for a backend; use small letters, digits and '_', a "
                    "letter first: acme",
                    name));
  for (const char* taken : {"cpu", "meta", "bp", "backplane"})
    if (name == taken) refuse(fmt::format("'{}' is taken; choose your device's own name", name));
  Names names{name, name, name};
  names.title[0] = static_cast<char>(std::toupper(name[0]));
  for (char& c : names.upper) c = static_cast<char>(std::toupper(c));
  return names;
}

std::string replaced(std::string text, std::string_view word, const std::string& by) {
  for (std::size_t at = text.find(word); at != std::string::npos;
       at = text.find(word, at + by.size()))
    text.replace(at, word.size(), by);
  return text;
}

std::string renamed(std::string text, const Names& names) {
  text = replaced(std::move(text), "acme", names.lower);
  text = replaced(std::move(text), "Acme", names.title);
  return replaced(std::move(text), "ACME", names.upper);
}

std::string read_file(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) refuse(fmt::format("cannot read {}", file.string()));
  return text.str();
}

void write_file(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream out(file, std::ios::binary);
  out << text;
  out.close();
  if (!out)
    refuse(
        fmt::format("cannot write {}; is the disk full, or the folder not yours?", file.string()));
}

// What a project of this language is made of, relative to the template, and where each file goes.
std::vector<std::pair<fs::path, fs::path>> files_of(const fs::path& folder, bool c11) {
  std::vector<std::pair<fs::path, fs::path>> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    const fs::path from = fs::relative(entry.path(), folder);
    const bool is_c11 = *from.begin() == "c11";
    const fs::path to = is_c11 ? fs::relative(from, "c11") : from;
    // Of two with the same purpose, the language decides; the rest is for both.
    const bool is_source =
        to.extension() == ".cpp" || to.extension() == ".hpp" || to == "CMakeLists.txt";
    if (is_c11 == c11 || (c11 && !is_source)) files.emplace_back(from, to);
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

int new_backend(const Options& options) {
  const Names names = names_of(options.name);
  const fs::path target = options.directory.empty() ? fs::path(names.lower) : options.directory;
  if (fs::exists(target) && !fs::is_empty(target))
    refuse(
        fmt::format("{} exists and is not empty; name another folder with --dir", target.string()));
  const fs::path folder = template_folder();
  for (const auto& [from, to] : files_of(folder, options.c11))
    write_file(target / renamed(to.string(), names), renamed(read_file(folder / from), names));
  fmt::print(
      "{0} is a backend in {1}. Next:\n"
      "  cmake -S {0} -B {0}/build && cmake --build {0}/build\n"
      "  export BACKPLANE_PLUGIN_PATH={2}/build\n"
      "  backplane conform --device {3}:0 --level 1\n",
      target.string(), options.c11 ? "C11" : "C++",
      fs::absolute(target).lexically_normal().string(), names.lower);
  return 0;
}

}  // namespace bp::tools

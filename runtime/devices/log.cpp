#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <functional>
#include <mutex>
#include <set>
#include <string>

#include <backplane/runtime/log.hpp>

namespace bp {
namespace {

constexpr std::string_view levels[] = {"debug", "info", "warning", "error"};
constexpr std::uint32_t usual_level = 2;

void write_line(std::uint32_t level, std::string_view text) {
  // One write, so that lines of several threads do not mix.
  const std::string line = fmt::format("backplane: {}: {}\n", levels[level < 4 ? level : 3], text);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

std::string sentence_on(std::string_view name, std::string_view value, std::string_view possible) {
  return fmt::format("{} is '{}' and counts as not set (possible: {})", name, value, possible);
}

std::uint32_t level_of_environment() {
  const char* const given = std::getenv("BACKPLANE_LOG");
  const std::string_view text = given ? given : "";
  for (std::uint32_t level = 0; level < std::size(levels); ++level)
    if (text == levels[level]) return level;
  if (!text.empty())
    write_line(usual_level,
               sentence_on("BACKPLANE_LOG", text, fmt::format("{}", fmt::join(levels, ", "))));
  return usual_level;
}

}  // namespace

std::uint32_t lowest_log_level() {
  static const std::uint32_t lowest = level_of_environment();
  return lowest;
}

void log_line(std::uint32_t level, std::string_view text) {
  if (level >= lowest_log_level()) write_line(level, text);
}

void warn_of_variable(std::string_view name, std::string_view value, std::string_view possible) {
  static std::mutex& mutex = *new std::mutex;
  static auto& warned = *new std::set<std::string, std::less<>>;
  {
    const std::lock_guard lock(mutex);
    if (!warned.emplace(name).second) return;
  }
  log_warning(sentence_on(name, value, possible));
}

}  // namespace bp

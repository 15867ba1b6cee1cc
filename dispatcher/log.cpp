#include <cstdio>
#include <cstdlib>
#include <string>

#include <backplane/dispatcher/log.hpp>

namespace bp {
namespace {

std::uint32_t lowest_level() {
  const char* wanted = std::getenv("BACKPLANE_LOG");
  const std::string_view text = wanted ? wanted : "";
  if (text == "debug") return 0;
  if (text == "info") return 1;
  if (text == "error") return 3;
  return 2;
}

}  // namespace

void log_line(std::uint32_t level, std::string_view text) {
  static const std::uint32_t lowest = lowest_level();
  static constexpr const char* names[] = {"debug", "info", "warning", "error"};
  if (level < lowest) return;
  // One write, so that lines of several threads do not mix.
  std::string line = "backplane: ";
  line += names[level < 4 ? level : 3];
  line += ": ";
  line += text;
  line += '\n';
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace bp

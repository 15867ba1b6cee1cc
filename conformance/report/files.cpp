#include "report/files.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fmt/chrono.h>
#include <fnmatch.h>
#include <fstream>
#include <sstream>

#include <backplane/loading/sha256.hpp>

#include "refuse.hpp"

namespace bp::conform {

void write_whole_file(const std::string& path, const std::string& text) {
  const std::string temporary = path + ".part";
  std::ofstream file(temporary, std::ios::binary);
  file << text;
  file.close();
  if (file.good() && std::rename(temporary.c_str(), path.c_str()) == 0) return;
  const int reason = errno;
  std::remove(temporary.c_str());
  refuse("conform: cannot write {}: {}", path, std::strerror(reason));
}

std::string read_whole_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  if (stream) text << stream.rdbuf();
  if (!stream) refuse("{}: cannot be read: {}", path, std::strerror(errno));
  return text.str();
}

bool matches_glob(std::string_view pattern, std::string_view text) {
  std::string escaped;
  for (const char c : pattern) {
    if (c == '[' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return fnmatch(escaped.c_str(), std::string(text).c_str(), 0) == 0;
}

std::string escape_markup(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default:
        // What XML forbids, even escaped.
        out += static_cast<unsigned char>(c) < ' ' && c != '\n' && c != '\t' ? '?' : c;
    }
  }
  return out;
}

std::string utc_time(long seconds) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time_t{seconds}));
}

long now_seconds() {
  return static_cast<long>(std::time(nullptr));
}

std::string sha256_of_text(const std::string& text) {
  loading::Sha256 hash;
  hash.add({reinterpret_cast<const std::byte*>(text.data()), text.size()});
  return hash.finish();
}

}  // namespace bp::conform

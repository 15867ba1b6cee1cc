// Sentences about files: what they hold is a stranger's text, and is shown short and printable.
#pragma once

#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

#include <backplane/tensor/check.hpp>

namespace bp::serialize {

inline std::string shown(std::string_view text) {
  constexpr std::size_t most = 80;
  std::string out = "'";
  for (const char c : text.substr(0, most)) {
    const bool is_printable = static_cast<unsigned char>(c) >= 0x20 && c != 0x7f;
    out += is_printable ? c : '?';
  }
  return out + (text.size() > most ? "...'" : "'");
}

// Throws bad_argument for a path that the system would cut at a zero byte, and take for another.
inline void check_path(const std::string& path) {
  BP_CHECK(path.find('\0') == std::string::npos, "{}: the path has a zero byte; choose another",
           shown(path));
}

// The system refused `what` ("can't be opened"), for the reason in `number`.
[[noreturn]] inline void throw_file_error(const std::string& file, std::string_view what,
                                          int number, std::string_view way_out = {}) {
  const bool is_full = number == ENOSPC || number == EDQUOT || number == EFBIG || number == ENOMEM;
  throw_error(is_full ? ErrorClass::out_of_memory : ErrorClass::bad_argument,
              fmt::format("{}: {}: {}{}{}", file, what, std::strerror(number),
                          way_out.empty() ? "" : "; ", way_out));
}

}  // namespace bp::serialize

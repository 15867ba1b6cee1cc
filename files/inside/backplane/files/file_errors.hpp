// Sentences about files: what they hold is a stranger's text, and is shown short and printable.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

#include <backplane/tensor/check.hpp>

namespace bp::files {

// Bytes of the character that `text` begins with; 0 for control characters, and for what is not UTF-8.
inline std::size_t printable_bytes(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const unsigned first = byte(0), second = byte(1);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  const std::size_t size = first < 0xc2   ? 0
                           : first < 0xe0 ? 2
                           : first < 0xf0 ? 3
                           : first < 0xf5 ? 4
                                          : 0;
  for (std::size_t i = 1; i < size; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  const bool is_control = first == 0xc2 && second < 0xa0;
  const bool is_overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool is_surrogate = first == 0xed && second >= 0xa0;
  const bool is_beyond = first == 0xf4 && second >= 0x90;
  return is_control || is_overlong || is_surrogate || is_beyond ? 0 : size;
}

inline std::string shown(std::string_view text) {
  constexpr std::size_t most = 80;
  std::string out = "'";
  std::size_t at = 0;
  while (at < text.size() && at < most) {
    const std::size_t size = printable_bytes(text.substr(at, 4));
    out += size > 0 ? text.substr(at, size) : "?";
    at += std::max<std::size_t>(size, 1);
  }
  return out + (at < text.size() ? "...'" : "'");
}

// Throws bad_argument for a path that the system would cut at a zero byte, and take for another.
inline void check_path(const std::string& path) {
  BP_CHECK(path.find('\0') == std::string::npos, "{}: the path has a zero byte; choose another",
           shown(path));
}

// An error that keeps the system's number, for those who must tell a damaged file from one that was not read.
class SystemError : public Error {
 public:
  SystemError(ErrorClass error_class, const std::string& message, int number)
      : Error(error_class, message), number_(number) {}
  int number() const { return number_; }

 private:
  int number_;
};

// The system refused `what` ("can't be opened"), for the reason in `number`: throws a SystemError.
[[noreturn]] inline void throw_file_error(const std::string& file, std::string_view what,
                                          int number, std::string_view way_out = {}) {
  const bool is_full = number == ENOSPC || number == EDQUOT || number == EFBIG || number == ENOMEM;
  throw SystemError(is_full ? ErrorClass::out_of_memory : ErrorClass::bad_argument,
                    fmt::format("{}: {}: {}{}{}", file, what, std::strerror(number),
                                way_out.empty() ? "" : "; ", way_out),
                    number);
}

[[noreturn]] inline void throw_no_libzip(const std::string& file) {
  throw_error(
      ErrorClass::unsupported,
      fmt::format("{}: this Backplane was built without libzip; install libzip-dev and build again",
                  file));
}

}  // namespace bp::files

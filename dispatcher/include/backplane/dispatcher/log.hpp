// Log lines from the core and from plugins, on standard error.
#pragma once

#include <cstdint>
#include <string_view>

#include <backplane/tensor/api.hpp>

namespace bp {

// `level` is one of BP_LOG_*; BACKPLANE_LOG=debug|info|warning|error sets the lowest level shown (default: warning).
BP_API void log_line(std::uint32_t level, std::string_view text);
inline void log_warning(std::string_view text) {
  log_line(2, text);
}

}  // namespace bp

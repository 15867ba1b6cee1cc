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
// The first call, or the first line, warns of a BACKPLANE_LOG that names no level.
BP_API std::uint32_t lowest_log_level();

// For an environment variable whose value says nothing, and which counts as not set. Warns of each variable once:
// "BACKPLANE_TUNE is 'fast' and counts as not set (possible: 0, kept, all)".
BP_API void warn_of_variable(std::string_view name, std::string_view value,
                             std::string_view possible);

}  // namespace bp

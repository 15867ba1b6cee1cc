// Small things that all reports share: whole files, names that match a pattern, escaped text.
#pragma once

#include <string>
#include <string_view>

namespace bp::conform {

// Throw a sentence with path and reason; a file is never left half written under its name.
void write_whole_file(const std::string& path, const std::string& text);
std::string read_whole_file(const std::string& path);

// A glob: * is any text, ? any character; [ and ] are themselves, since names are full of them.
bool matches_glob(std::string_view pattern, std::string_view text);

// For XML and HTML, between tags and in quotes.
std::string escape_markup(std::string_view text);

// "2026-11-22T10:00:00Z"
std::string utc_time(long seconds);
// Seconds since 1970.
long now_seconds();

std::string sha256_of_text(const std::string& text);

}  // namespace bp::conform

// A badge for a README: the profile, in the colour of what it is worth.
#include <fmt/format.h>

#include "report/files.hpp"
#include "report/report.hpp"

namespace bp::conform {

void write_badge(const Summary& summary, const std::string& path) {
  constexpr int label_width = 84;
  const std::string& profile = summary.profile;
  const int width = 16 + 7 * static_cast<int>(profile.size());
  const char* colour = !summary.ok ? "#b3261e" : summary.native_level >= 3 ? "#1a7f37" : "#9a6700";
  write_whole_file(
      path,
      fmt::format(
          R"(<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="20" role="img" aria-label="backplane: {1}">
<rect width="{2}" height="20" rx="3" fill="#444"/><rect x="{2}" width="{3}" height="20" rx="3" fill="{4}"/>
<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">
<text x="{5}" y="14">backplane</text><text x="{6}" y="14">{1}</text></g></svg>
)",
          label_width + width, escape_markup(profile), label_width, width, colour, label_width / 2,
          label_width + width / 2));
}

}  // namespace bp::conform

#include "wishes.hpp"

#include <cstdlib>
#include <fmt/format.h>
#include <string_view>
#include <unistd.h>

#include <backplane/runtime/log.hpp>

namespace bp::tracing {
namespace {

std::string variable(const char* name) {
  const char* text = secure_getenv(name);
  return text ? text : "";
}

void read_trace(Wishes& wishes) {
  const std::string wanted = variable("BACKPLANE_TRACE");
  const std::string process = std::to_string(getpid());
  if (wanted.empty() || wanted == "0") return;
  if (wanted != "ops" && !wanted.starts_with("ops:")) {
    log_warning(
        fmt::format("BACKPLANE_TRACE is '{}', which cannot be traced; set it to "
                    "ops, or to ops:FILE",
                    wanted));
    return;
  }
  wishes.traces = true;
  wishes.trace_file = wanted.size() > 4 ? wanted.substr(4) : "backplane-trace-%p.json";
  for (std::size_t at; (at = wishes.trace_file.find("%p")) != std::string::npos;)
    wishes.trace_file.replace(at, 2, process);
}

Wishes read() {
  Wishes wishes;
  read_trace(wishes);
  wishes.shadow = variable("BACKPLANE_SHADOW");
  if (wishes.shadow == "0") wishes.shadow.clear();
  wishes.shadow_folder = variable("BACKPLANE_SHADOW_DIR");
  if (wishes.shadow_folder.empty()) wishes.shadow_folder = ".";
  wishes.counts_folder = variable("BACKPLANE_COUNTS_DIR");
  return wishes;
}

}  // namespace

const Wishes& wishes() {
  static const Wishes* found =
      new Wishes(read());  // never destroyed: threads outlive static objects
  return *found;
}

}  // namespace bp::tracing

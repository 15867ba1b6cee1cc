#include "counts_file.hpp"

#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <backplane/dispatcher/counters.hpp>
#include <backplane/runtime/log.hpp>

namespace bp::tracing {

void write_counts(const std::string& folder) {
  nlohmann::ordered_json counts{{"program", program_invocation_name}, {"process", getpid()}};
  counts["calls"] = nlohmann::ordered_json::array();
  for (const CallCount& row : call_counts()) {
    nlohmann::ordered_json one{{"op", row.op}, {"backend", row.backend}};
    for (std::uint32_t rung = 0; rung <= static_cast<std::uint32_t>(Rung::none); ++rung)
      one[name(static_cast<Rung>(rung))] = row.calls[rung];
    counts["calls"].push_back(std::move(one));
  }
  counts["reasons"] = nlohmann::ordered_json::array();
  for (const CallReason& each : call_reasons())
    counts["reasons"].push_back(
        {{"op", each.op}, {"backend", each.backend}, {"rung", name(each.rung)}, {"why", each.why}});
  counts["copies"] = nlohmann::ordered_json::array();
  for (const CopyCount& each : copy_counts())
    counts["copies"].push_back(
        {{"from", each.from}, {"to", each.to}, {"copies", each.copies}, {"bytes", each.bytes}});
  const std::string file = fmt::format("{}/counts-{}.json", folder, getpid());
  std::ofstream stream(file);
  if (stream)
    stream << counts.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  stream.flush();
  if (!stream.good())
    log_warning(
        fmt::format("the counts of calls cannot be written to {}: {}; BACKPLANE_COUNTS_DIR "
                    "names another folder",
                    file, std::strerror(errno)));
}

}  // namespace bp::tracing

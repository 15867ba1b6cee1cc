// L1: memories besides the main one. Described, filled, exhausted, and copied between, each pair of them.
#include <fmt/format.h>

#include "trials/probes.hpp"
#include "trials/trial.hpp"

namespace bp::conform {
namespace {

std::vector<std::string> spaces_from(std::uint32_t first, const Subject& subject) {
  std::vector<std::string> names;
  for (std::uint32_t space = first; subject.num_spaces > 1 && space < subject.num_spaces; ++space)
    names.push_back(std::to_string(space));
  return names;
}
std::vector<std::string> all_spaces(const Subject& subject, int) {
  return spaces_from(0, subject);
}
std::vector<std::string> other_spaces(const Subject& subject, int) {
  return spaces_from(1, subject);
}

Json space_step(const char* what, std::uint32_t space) {
  return {{"do", what}, {"space", space}};
}

std::string fault_of_description(const Json& said, bool is_main, bool host_readable) {
  if (!said["ends"].get<bool>()) return "its name is not terminated";
  if (!said["named"].get<bool>()) return "it has no name";
  if (said["free"].get<std::uint64_t>() > said["total"].get<std::uint64_t>())
    return fmt::format("{} bytes are free of {}", said["free"].dump(), said["total"].dump());
  const bool visible = (said["flags"].get<std::uint32_t>() & BP_SPACE_HOST_VISIBLE) != 0;
  if (is_main && visible != host_readable)
    return fmt::format("main memory is {}, and of the device's BP_DEVICE_HOST_READABLE it says {}",
                       visible ? "host-visible" : "not host-visible", host_readable);
  return {};
}

// What it says is whole, and follows what is allocated.
ProbePlan describe_one(const std::string& variant, const Subject& subject) {
  const auto space = static_cast<std::uint32_t>(std::stoul(variant));
  constexpr std::uint64_t held_bytes = 8192;
  ProbePlan plan;
  const std::size_t before = plan.add(space_step("describe_space", space));
  plan.add(in_space(allocate_step(1, held_bytes), space));
  const std::size_t during = plan.add(space_step("describe_space", space));
  plan.add(object_step("release", 1));
  const bool readable = (subject.device_flags & BP_DEVICE_HOST_READABLE) != 0;
  plan.judge_after_success([=](const Json& answer) -> std::string {
    const Json &first = result_of(answer, before), &then = result_of(answer, during);
    for (const Json* said : {&first, &then})
      if (std::string why = fault_of_description(*said, space == 0, readable); !why.empty())
        return fmt::format("space {}: {}", space, why);
    const bool counts = first["total"] != 0 && first["free"] != first["total"];
    if (space != 0 && first["total"] != 0 && first["free"] == then["free"])
      return fmt::format("space {}: {} bytes are free before and after an allocation of {}", space,
                         then["free"].dump(), held_bytes);
    return counts && first["total"] != then["total"] ? "its size changes" : "";
  });
  return plan;
}

std::vector<std::string> unknown_ones(const Subject& subject, int) {
  if (subject.num_spaces < 2) return {};
  return {std::to_string(subject.num_spaces), "4294967295"};
}

// Of a space that is not there it says so, and goes on.
ProbePlan refuse_unknown(const std::string& variant, const Subject&) {
  const auto space = static_cast<std::uint32_t>(std::stoul(variant));
  ProbePlan plan;
  const std::size_t described = plan.add(space_step("describe_space", space));
  const std::size_t allocated = plan.add(in_space(allocate_step(1, 64), space));
  const std::size_t alive = plan.add({{"do", "alive"}});
  plan.judge = [=](const Json& answer) -> std::string {
    for (const std::size_t step : {described, allocated}) {
      const Json& result = result_of(answer, step);
      const char* const what = step == described ? "describe_space" : "allocate_in";
      if (code_of(result) != BP_BAD_ARGUMENT && code_of(result) != BP_UNSUPPORTED)
        return fmt::format("{} of space {}, which does not exist, says {}", what, space,
                           code_of(result));
      if (message_of(result).empty())
        return fmt::format("{} of space {}, which does not exist, fails without a message", what,
                           space);
    }
    return result_of(answer, alive).value("same", false) ? "" : "afterwards a copy fails";
  };
  return plan;
}

constexpr std::uint64_t piece_sizes[] = {1, 2, 3, 7, 8, 63, 64, 65, 257, 1000};

// All that is written there comes back, whatever the sizes of the pieces.
ProbePlan allocate_there(const std::string& variant, const Subject&) {
  const auto space = static_cast<std::uint32_t>(std::stoul(variant));
  PicturedPlan script;
  int object = 0;
  for (const std::uint64_t count : piece_sizes) {
    script.allocate(++object, count + 3, 1, space);
    script.write(object, 3, pattern_bytes(count, static_cast<unsigned>(object)));
    script.expect_part(object, 3, count, fmt::format("{} bytes in space {}", count, space));
  }
  return script.take();
}

std::vector<std::string> pairs(const Subject& subject, int) {
  std::vector<std::string> names;
  for (std::uint32_t from = 0; from < subject.num_spaces; ++from)
    for (std::uint32_t to = 0; to < subject.num_spaces; ++to)
      if (from != 0 || to != 0) names.push_back(fmt::format("{}to{}", from, to));
  return names;
}

ProbePlan copy_across(const std::string& variant, const Subject&) {
  const auto from = static_cast<std::uint32_t>(std::stoul(variant));
  const auto to = static_cast<std::uint32_t>(std::stoul(variant.substr(variant.find("to") + 2)));
  constexpr std::uint64_t room = 3000;
  PicturedPlan script;
  script.make(1, pattern_bytes(room, 5), 1, from);
  script.make(2, pattern_bytes(room, 6), 1, to);
  std::uint64_t at = 0;
  for (const std::uint64_t count : piece_sizes) {
    script.copy(2, at, 1, at * 7 % (room - count), count);
    at += count + 3;
  }
  script.plan.add(simple_step("synchronize"));
  script.expect(2, fmt::format("the target of copies from space {} to space {}", from, to));
  script.expect(1, "their source");
  return script.take();
}

std::vector<std::string> filled_spaces(const Subject& subject, int profile) {
  return subject.has_fill ? other_spaces(subject, profile) : std::vector<std::string>{};
}

ProbePlan fill_there(const std::string& variant, const Subject&) {
  const auto space = static_cast<std::uint32_t>(std::stoul(variant));
  PicturedPlan script;
  int object = 0;
  for (const std::uint64_t width : {1, 2, 4, 8, 16}) {
    script.make(++object, pattern_bytes(width * 33, 9), 16, space);
    script.fill(object, width, width * 31, pattern_bytes(width, 40));
    script.plan.add(simple_step("synchronize"));
    script.expect(object, fmt::format("a pattern of {} bytes in space {}", width, space));
  }
  return script.take();
}

// A space that is said to be host-visible is: the host reads what was copied there, and copies see what it writes.
ProbePlan show_the_host(const std::string& variant, const Subject&) {
  const auto space = static_cast<std::uint32_t>(std::stoul(variant));
  const Bytes sent = pattern_bytes(1000, 3), written = pattern_bytes(1000, 4);
  ProbePlan plan;
  plan.add(in_space(allocate_step(1, sent.size()), space));
  plan.add(write_step(1, 0, sent));
  const std::size_t seen = plan.add(in_space(object_step("host_sees", 1), space));
  Json writes = in_space(object_step("host_sees", 1), space);
  writes["bytes"] = Json::binary(written);
  plan.add(std::move(writes));
  const std::size_t read = plan.add(read_step(1, 0, written.size()));
  plan.judge_after_success([=](const Json& answer) -> std::string {
    if (result_of(answer, seen).contains("none")) return {};
    if (std::string why = differs(answer, seen, sent, "what the host reads"); !why.empty())
      return why;
    return differs(answer, read, written, "what the host wrote");
  });
  return plan;
}

// A full space is a code with a message; what was released is there again.
ProbePlan exhaust_one(const std::string& variant, const Subject&) {
  const auto space = static_cast<std::uint32_t>(std::stoul(variant));
  ProbePlan plan;
  const std::size_t filled = plan.add(space_step("fill_up", space));
  const std::size_t alive = plan.add({{"do", "alive"}});
  plan.judge = [=](const Json& answer) -> std::string {
    const Json& result = result_of(answer, filled);
    if (code_of(result) == BP_OK)
      return fmt::format("{} bytes were given out in space {}, which has {}",
                         result["given"].dump(), space, result["total"].dump());
    if (result.value("after", BP_OK) != BP_OK)
      return fmt::format("space {} stays full after all of it was released", space);
    return exhausted(answer, filled, alive, fmt::format("the full space {}", space));
  };
  return plan;
}

}  // namespace

std::vector<Probe> space_probes() {
  return {{"describe", all_spaces, describe_one},     {"unknown", unknown_ones, refuse_unknown},
          {"allocate", other_spaces, allocate_there}, {"copy", pairs, copy_across},
          {"fill", filled_spaces, fill_there},        {"host", other_spaces, show_the_host},
          {"exhaust", other_spaces, exhaust_one}};
}

}  // namespace bp::conform

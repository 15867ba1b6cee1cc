// L1: memory. Sizes, offsets, copies in all directions, fills, exhaustion, reuse. What a copy should leave alone is
// watched by the worker.
#include <algorithm>
#include <fmt/format.h>

#include "trials/probes.hpp"

namespace bp::conform {
namespace {

constexpr std::uint64_t odd_counts[] = {1,  2,  3,  5,   7,   8,   15,  16,   17,   31,  33,
                                        63, 64, 65, 127, 129, 255, 257, 1000, 4095, 4097};

std::vector<std::string> sizes(const Subject&, int profile) {
  std::vector<std::string> names = {"1",    "2",    "3",    "63",    "64",      "65",
                                    "4095", "4096", "4097", "65537", "1048576", "1048577"};
  if (profile > 0) names.insert(names.end(), {"2097152", "16777216", "67108864"});
  return names;
}

// Both ends and the middle of an allocation hold what is written there.
ProbePlan allocate(const std::string& variant, const Subject&) {
  const std::uint64_t bytes = std::stoull(variant), piece = std::min<std::uint64_t>(bytes, 300);
  std::vector<std::uint64_t> places;
  for (const std::uint64_t offset : {std::uint64_t{0}, (bytes - piece) / 2, bytes - piece})
    if (places.empty() || offset >= piece) places.push_back(offset);
  PicturedPlan script;
  script.allocate(1, bytes);
  for (const std::uint64_t offset : places)
    script.write(1, offset, pattern_bytes(piece, static_cast<unsigned>(offset + 1)));
  for (const std::uint64_t offset : places)
    script.expect_part(1, offset, piece,
                       fmt::format("{} bytes at offset {} of {}", piece, offset, bytes));
  return script.take();
}

std::vector<std::string> alignments(const Subject&, int) {
  return {"1", "4", "64", "256", "4096"};
}

ProbePlan alignment(const std::string& variant, const Subject& subject) {
  const std::uint64_t wanted = std::stoull(variant);
  const bool shows =
      (subject.device_flags & (BP_DEVICE_REAL_ADDRESSES | BP_DEVICE_HOST_READABLE)) != 0;
  ProbePlan plan;
  for (const std::uint64_t bytes : odd_counts) plan.add(raw_allocate_step(bytes, wanted));
  plan.judge_after_success([wanted, shows](const Json& answer) -> std::string {
    for (std::size_t i = 0; i < std::size(odd_counts); ++i) {
      const auto handle = result_of(answer, i)["handle"].get<std::uint64_t>();
      if (handle == 0) return "an allocation has the handle 0, which names none";
      if (shows && handle % wanted != 0)
        return fmt::format("address {:#x} is not aligned to {} bytes", handle, wanted);
    }
    return {};
  });
  return plan;
}

std::vector<std::string> offsets(const Subject&, int) {
  return {"offset0", "offset1", "offset3", "offset8", "offset63", "offset64"};
}
std::uint64_t offset_in(const std::string& variant) {
  return std::stoull(variant.substr(6));
}

ProbePlan copy(const std::string& variant, const Subject&) {
  const std::uint64_t offset = offset_in(variant);
  PicturedPlan script;
  int object = 0;
  for (const std::uint64_t count : odd_counts) {
    ++object;
    script.allocate(object, count + offset + 5);
    script.write(object, offset, pattern_bytes(count, static_cast<unsigned>(object)));
    // All of it, and a part from within.
    for (const std::uint64_t part : {std::uint64_t{0}, count / 2}) {
      script.expect_part(object, offset + part, count - part,
                         fmt::format("{} bytes at offset {}", count - part, offset + part));
      if (count == 1) break;
    }
  }
  return script.take();
}

ProbePlan copy_within(const std::string& variant, const Subject&) {
  const std::uint64_t offset = offset_in(variant);
  constexpr std::uint64_t room = 12000;
  PicturedPlan script;
  script.make(1, pattern_bytes(room, 5));
  script.make(2, pattern_bytes(room, 6));
  std::uint64_t at = 0;
  for (const std::uint64_t count : odd_counts) {
    script.copy(2, std::min(at + offset, room - count), 1, (at * 7 + offset) % (room - count),
                count);
    at += count + 3;
  }
  // Within one allocation, the regions apart, and next to each other.
  script.copy(2, 6000 + offset, 2, 100, 1001);
  script.copy(2, 6001 + offset, 2, 900 + offset, 5101);
  script.copy(2, offset, 2, 5800 + offset, 5799);
  script.plan.add(simple_step("synchronize"));
  script.expect(2, "the target of copies within the device");
  script.expect(1, "the source of copies within the device");
  return script.take();
}

std::vector<std::string> pattern_sizes(const Subject& subject, int) {
  if (!subject.has_fill) return {};
  return {"1", "2", "4", "8", "16"};
}

ProbePlan fill(const std::string& variant, const Subject&) {
  const std::uint64_t width = std::stoull(variant);
  PicturedPlan script;
  int object = 0;
  const std::uint64_t past_pieces = 65536 / width + 3;
  for (const std::uint64_t times :
       {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{3}, std::uint64_t{5}, std::uint64_t{17},
        std::uint64_t{64}, std::uint64_t{255}, std::uint64_t{4099}, past_pieces}) {
    const std::uint64_t count = times * width, before = width * (times % 5), after = 11;
    ++object;
    script.make(object, pattern_bytes(before + count + after, 9), 16);
    script.fill(object, before, count, pattern_bytes(width, static_cast<unsigned>(object) + 40));
    script.plan.add(simple_step("synchronize"));
    script.expect(object, fmt::format("{} times a pattern of {} bytes", times, width));
  }
  return script.take();
}

std::vector<std::string> large_counts(const Subject&, int profile) {
  if (profile == 0) return {};
  std::vector<std::string> counts = {"65535", "65536", "65537", "200003", "1048579"};
  if (profile > 1) counts.insert(counts.end(), {"4194305", "16777217"});
  return counts;
}

// Past the sizes of pieces that copies and fills are cut into.
ProbePlan large(const std::string& variant, const Subject& subject) {
  const std::uint64_t count = std::stoull(variant);
  constexpr std::uint64_t around = 16;  // bytes before and behind what is written
  PicturedPlan script;
  script.make(1, pattern_bytes(count, 5));
  script.make(2, pattern_bytes(count + 2 * around, 6));
  script.copy(2, around, 1, 0, count);
  script.plan.add(simple_step("synchronize"));
  script.expect(2, fmt::format("a copy of {} bytes within the device", count));
  if (subject.has_fill) {
    script.fill(2, around, count / 4 * 4, {1, 2, 3, 4});
    script.plan.add(simple_step("synchronize"));
    script.expect(2, fmt::format("a fill of {} bytes", count / 4 * 4));
  }
  return script.take();
}

std::vector<std::string> huge_counts(const Subject& subject, int profile) {
  constexpr std::uint64_t needed = std::uint64_t{1} << 30;
  if (profile == 0 || (subject.total_memory != 0 && subject.total_memory < needed)) return {};
  return {"4194311", "16777231", "67108883"};
}

// A copy of many megabytes, of which the ends and places between pieces are looked at.
ProbePlan huge(const std::string& variant, const Subject&) {
  const std::uint64_t count = std::stoull(variant);
  constexpr std::uint64_t piece = 300, around = 16;
  const std::uint64_t places[] = {0, (std::uint64_t{1} << 22) - 600, count / 2, count - piece};
  ProbePlan plan;
  for (const int object : {1, 2}) {
    Json allocation = allocate_step(object, count + 2 * around);
    allocation["sparse"] = true;
    plan.add(std::move(allocation));
  }
  unsigned seed = 1;
  for (const std::uint64_t place : places)
    plan.add(write_step(1, around + place, pattern_bytes(piece, seed++)));
  plan.add(copy_step(2, around, 1, around, count));
  plan.add(simple_step("synchronize"));
  std::vector<Expectation> reads;
  seed = 1;
  for (const std::uint64_t place : places)
    reads.push_back(
        {plan.add(read_step(2, around + place, piece)), pattern_bytes(piece, seed++),
         fmt::format("a copy of {} bytes within the device, from {} on", count, place)});
  plan.expect_reads(std::move(reads));
  return plan;
}

// What the host holds need not begin at a multiple of anything.
ProbePlan host_places(const std::string&, const Subject&) {
  PicturedPlan script;
  int object = 0;
  for (const std::uint64_t place : {1, 2, 3, 5, 8, 13})
    for (const std::uint64_t count : {3, 65, 257, 4097}) {
      script.allocate(++object, count);
      script.write(object, 0, pattern_bytes(count, static_cast<unsigned>(object)));
      script.plan.steps.back()["host_place"] = place;
      script.expect(
          object, fmt::format("{} bytes of the host's, {} behind a multiple of 16", count, place));
      script.plan.steps.back()["host_place"] = place;
    }
  return script.take();
}

// An allocation past 4 GiB, of which a few bytes are used, where there is plenty of memory.
constexpr std::uint64_t span = (std::uint64_t{1} << 32) + (1 << 20);
std::vector<std::string> far_places(const Subject& subject, int profile) {
  const bool has_room = subject.total_memory >= span + span / 2;
  return profile > 0 && has_room ? std::vector<std::string>{"offset4GiB"}
                                 : std::vector<std::string>{};
}

ProbePlan far(const std::string&, const Subject& subject) {
  constexpr std::uint64_t count = 1000, four = std::uint64_t{1} << 32;
  ProbePlan plan;
  Json allocation = allocate_step(1, span);
  allocation["sparse"] = true;
  plan.add(std::move(allocation));
  std::vector<Expectation> reads;
  const auto expect = [&](std::uint64_t offset, Bytes bytes, const char* what) {
    reads.push_back({offset, std::move(bytes), fmt::format("{} at offset {}", what, offset)});
  };
  for (const std::uint64_t offset : {std::uint64_t{64}, four / 2 - 500, four - 500, four + 4096}) {
    const Bytes bytes = pattern_bytes(count, static_cast<unsigned>(offset >> 20));
    plan.add(write_step(1, offset, bytes));
    expect(offset, bytes, "what was written");
  }
  plan.add(copy_step(1, four + 8192, 1, 64, count));
  expect(four + 8192, pattern_bytes(count, 0), "a copy from the beginning");
  plan.add(copy_step(1, 8192, 1, four + 4096, count));
  expect(8192, pattern_bytes(count, 1 << 12), "a copy from past 4 GiB");
  if (subject.has_fill) {
    plan.add(fill_step(1, four + 16384, count, {7}));
    expect(four + 16384, Bytes(count, 7), "a fill");
  }
  plan.add(simple_step("synchronize"));
  for (Expectation& each : reads) each.step = plan.add(read_step(1, each.step, count));
  plan.expect_reads(std::move(reads));
  return plan;
}

// Exhaustion is a code with a message, and the device goes on.
std::vector<std::string> too_much(const Subject& subject, int) {
  std::vector<std::string> variants = {"2^60"};
  if (subject.total_memory != 0 && !(subject.device_flags & BP_DEVICE_HOST_READABLE))
    variants.emplace_back("twice_all");
  return variants;
}

ProbePlan out_of_memory(const std::string& variant, const Subject& subject) {
  const std::uint64_t bytes = variant == "2^60" ? std::uint64_t{1} << 60 : subject.total_memory * 2;
  const bool must_fail = variant == "2^60";
  ProbePlan plan;
  const std::size_t asked = plan.add(raw_allocate_step(bytes, 64));
  const std::size_t alive = plan.add({{"do", "alive"}});
  plan.judge = [=](const Json& answer) -> std::string {
    // Memory may be promised and not there before it is touched.
    if (code_of(result_of(answer, asked)) == BP_OK && must_fail)
      return fmt::format("{} bytes were given out", bytes);
    return exhausted(answer, asked, alive, fmt::format("an allocation of {} bytes", bytes));
  };
  return plan;
}

// Released memory is given out again, and nothing that lives suffers.
ProbePlan reuse(const std::string&, const Subject&) {
  PicturedPlan script;
  for (int object = 1; object <= 60; ++object) {
    script.make(object, pattern_bytes(static_cast<std::size_t>(object * 97 % 5000 + 1),
                                      static_cast<unsigned>(object)));
    if (object % 3 == 0) script.plan.add(object_step("release", object - 1));
  }
  for (int object = 1; object <= 60; ++object)
    if (object % 3 != 2)
      script.expect(object, fmt::format("allocation {} after others were released", object));
  return script.take();
}

// ---- Memories besides the main one: described, filled, exhausted, and copied between, each pair of them

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

// ---- Host memory that the device copies from and to faster. It holds what is written, and the application's own stays its own

std::vector<std::string> host_memory_sizes(const Subject& subject, int) {
  if (!subject.has_host_memory) return {};
  return {"1", "63", "4097", "100001"};
}

Json host_memory_step(std::uint64_t bytes, bool adopts) {
  return {{"do", "host_memory"}, {"object", 1}, {"bytes", bytes}, {"adopts", adopts}};
}

// Twice, so that what the first left behind shows.
ProbePlan plan_of(const std::string& variant, bool adopts,
                  std::function<std::string(const Json&)> fault) {
  const std::uint64_t bytes = std::stoull(variant);
  ProbePlan plan;
  plan.add(allocate_step(1, bytes));
  std::vector<std::size_t> steps;
  for (int i = 0; i < 2; ++i) steps.push_back(plan.add(host_memory_step(bytes, adopts)));
  plan.judge_after_success([=](const Json& answer) -> std::string {
    for (const std::size_t step : steps) {
      const Json& result = result_of(answer, step);
      if (result.contains("none")) return {};
      if (result.contains("null")) return "it succeeded without memory";
      if (!result["same"].get<bool>())
        return fmt::format("{} bytes there and back are not the same", bytes);
      if (std::string why = fault(result); !why.empty()) return why;
    }
    return {};
  });
  return plan;
}

ProbePlan pin(const std::string& variant, const Subject&) {
  return plan_of(variant, false, [](const Json& result) -> std::string {
    return result["aligned"].get<bool>() ? "" : "the memory is not aligned as was asked for";
  });
}

ProbePlan adopt_own(const std::string& variant, const Subject&) {
  return plan_of(variant, true, [](const Json& result) -> std::string {
    if (!result["kept"].get<bool>()) return "adopt changed the application's memory";
    if (!result["still_kept"].get<bool>()) return "forget changed the application's memory";
    return result["again"] == BP_OK ? "" : "what was forgotten cannot be adopted again";
  });
}

}  // namespace

std::vector<Probe> memory_probes() {
  return {{"allocate", sizes, allocate}, {"alignment", alignments, alignment},
          {"copy", offsets, copy},       {"copy_within", offsets, copy_within},
          {"fill", pattern_sizes, fill}, {"large", large_counts, large},
          {"huge", huge_counts, huge},   {"host_places", one_variant, host_places},
          {"far", far_places, far},      {"out_of_memory", too_much, out_of_memory},
          {"reuse", one_variant, reuse}};
}

std::vector<Probe> space_probes() {
  return {{"describe", all_spaces, describe_one},     {"unknown", unknown_ones, refuse_unknown},
          {"allocate", other_spaces, allocate_there}, {"copy", pairs, copy_across},
          {"fill", filled_spaces, fill_there},        {"host", other_spaces, show_the_host},
          {"exhaust", other_spaces, exhaust_one}};
}

std::vector<Probe> host_memory_probes() {
  return {{"pin", host_memory_sizes, pin}, {"adopt", host_memory_sizes, adopt_own}};
}

}  // namespace bp::conform

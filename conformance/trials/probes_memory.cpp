// L1: memory. Sizes, offsets, copies in all directions, fills, exhaustion, reuse. What a copy should leave alone is
// watched by the worker.
#include <algorithm>
#include <fmt/format.h>

#include "trials/probes.hpp"

namespace bp::conform {
namespace {

constexpr std::uint64_t odd_counts[] = {1,  2,  3,  5,   7,   8,   15,  16,   17,   31,  33,
                                        63, 64, 65, 127, 129, 255, 257, 1000, 4095, 4097};

// Both ends and the middle of an allocation hold what is written there.
void allocate(ProbePlan& plan) {
  const std::uint64_t bytes = plan.number(), piece = std::min<std::uint64_t>(bytes, 300);
  std::vector<std::uint64_t> places;
  for (const std::uint64_t offset : {std::uint64_t{0}, (bytes - piece) / 2, bytes - piece})
    if (places.empty() || offset >= piece) places.push_back(offset);
  plan.allocate(1, bytes);
  for (const std::uint64_t offset : places) plan.write(1, offset, pattern_bytes(piece, offset + 1));
  for (const std::uint64_t offset : places)
    plan.expect_part(1, offset, piece,
                     fmt::format("{} bytes at offset {} of {}", piece, offset, bytes));
}

void alignment(ProbePlan& plan) {
  const bool shows =
      (plan.subject.device_flags & (BP_DEVICE_REAL_ADDRESSES | BP_DEVICE_HOST_READABLE)) != 0;
  for (const std::uint64_t bytes : odd_counts) plan.add(raw_allocate_step(bytes, plan.number()));
  plan.judge = [wanted = plan.number(), shows](const Answer& answer) {
    for (std::size_t i = 0; i < std::size(odd_counts); ++i) {
      const auto handle = answer[i]["handle"].get<std::uint64_t>();
      demand(handle != 0, "an allocation has the handle 0, which names none");
      demand(!shows || handle % wanted == 0, "address {:#x} is not aligned to {} bytes", handle,
             wanted);
    }
  };
}

const Variants offsets = {{"offset0", "offset1", "offset3", "offset8", "offset63", "offset64"}};
std::uint64_t offset_in(const std::string& variant) {
  return std::stoull(variant.substr(6));
}

void copy(ProbePlan& plan) {
  const std::uint64_t offset = offset_in(plan.variant);
  int object = 0;
  for (const std::uint64_t count : odd_counts) {
    ++object;
    plan.allocate(object, count + offset + 5);
    plan.write(object, offset, pattern_bytes(count, object));
    // All of it, and a part from within.
    for (const std::uint64_t part : {std::uint64_t{0}, count / 2}) {
      plan.expect_part(object, offset + part, count - part,
                       fmt::format("{} bytes at offset {}", count - part, offset + part));
      if (count == 1) break;
    }
  }
}

void copy_within(ProbePlan& plan) {
  const std::uint64_t offset = offset_in(plan.variant);
  constexpr std::uint64_t room = 12000;
  plan.make(1, pattern_bytes(room, 5));
  plan.make(2, pattern_bytes(room, 6));
  std::uint64_t at = 0;
  for (const std::uint64_t count : odd_counts) {
    plan.copy(2, std::min(at + offset, room - count), 1, (at * 7 + offset) % (room - count), count);
    at += count + 3;
  }
  // Within one allocation, the regions apart, and next to each other.
  plan.copy(2, 6000 + offset, 2, 100, 1001);
  plan.copy(2, 6001 + offset, 2, 900 + offset, 5101);
  plan.copy(2, offset, 2, 5800 + offset, 5799);
  plan.synchronize();
  plan.expect(2, "the target of copies within the device");
  plan.expect(1, "the source of copies within the device");
}

void fill(ProbePlan& plan) {
  const std::uint64_t width = plan.number(), past_pieces = 65536 / width + 3;
  int object = 0;
  for (const std::uint64_t times :
       std::vector<std::uint64_t>{1, 2, 3, 5, 17, 64, 255, 4099, past_pieces}) {
    const std::uint64_t count = times * width, before = width * (times % 5), after = 11;
    ++object;
    plan.make(object, pattern_bytes(before + count + after, 9), 16);
    plan.fill(object, before, count, pattern_bytes(width, object + 40));
    plan.synchronize();
    plan.expect(object, fmt::format("{} times a pattern of {} bytes", times, width));
  }
}

// Past the sizes of pieces that copies and fills are cut into.
void large(ProbePlan& plan) {
  const std::uint64_t count = plan.number();
  constexpr std::uint64_t around = 16;  // bytes before and behind what is written
  plan.make(1, pattern_bytes(count, 5));
  plan.make(2, pattern_bytes(count + 2 * around, 6));
  plan.copy(2, around, 1, 0, count);
  plan.synchronize();
  plan.expect(2, fmt::format("a copy of {} bytes within the device", count));
  if (!plan.subject.has_fill) return;
  plan.fill(2, around, count / 4 * 4, {1, 2, 3, 4});
  plan.synchronize();
  plan.expect(2, fmt::format("a fill of {} bytes", count / 4 * 4));
}

bool has_gigabyte(const Subject& subject) {
  return subject.total_memory == 0 || subject.total_memory >= std::uint64_t{1} << 30;
}

// Of which a few bytes are used.
void allocate_sparse(ProbePlan& plan, int object, std::uint64_t bytes) {
  Json allocation = allocate_step(object, bytes);
  allocation["sparse"] = true;
  plan.add(std::move(allocation));
}

// A copy of many megabytes, of which the ends and places between pieces are looked at.
void huge(ProbePlan& plan) {
  const std::uint64_t count = plan.number();
  constexpr std::uint64_t piece = 300, around = 16;
  const std::uint64_t places[] = {0, (std::uint64_t{1} << 22) - 600, count / 2, count - piece};
  for (const int object : {1, 2}) allocate_sparse(plan, object, count + 2 * around);
  for (std::size_t i = 0; i < std::size(places); ++i)
    plan.add(write_step(1, around + places[i], pattern_bytes(piece, i + 1)));
  plan.add(copy_step(2, around, 1, around, count));
  plan.synchronize();
  for (std::size_t i = 0; i < std::size(places); ++i)
    plan.expect_bytes(
        plan.add(read_step(2, around + places[i], piece)), pattern_bytes(piece, i + 1),
        fmt::format("a copy of {} bytes within the device, from {} on", count, places[i]));
}

// What the host holds need not begin at a multiple of anything.
void host_places(ProbePlan& plan) {
  int object = 0;
  for (const std::uint64_t place : {1, 2, 3, 5, 8, 13})
    for (const std::uint64_t count : {3, 65, 257, 4097}) {
      plan.allocate(++object, count);
      plan.write(object, 0, pattern_bytes(count, object));
      plan.steps.back()["host_place"] = place;
      plan.expect(object,
                  fmt::format("{} bytes of the host's, {} behind a multiple of 16", count, place));
      plan.steps.back()["host_place"] = place;
    }
}

// An allocation past 4 GiB, where there is plenty of memory.
constexpr std::uint64_t span = (std::uint64_t{1} << 32) + (1 << 20);
bool has_room_for_span(const Subject& subject) {
  return subject.total_memory >= span + span / 2;
}

void far(ProbePlan& plan) {
  constexpr std::uint64_t count = 1000, four = std::uint64_t{1} << 32;
  allocate_sparse(plan, 1, span);
  struct Piece {
    std::uint64_t offset;
    Bytes bytes;
    const char* what;
  };
  std::vector<Piece> pieces;
  for (const std::uint64_t offset : {std::uint64_t{64}, four / 2 - 500, four - 500, four + 4096}) {
    pieces.push_back({offset, pattern_bytes(count, offset >> 20), "what was written"});
    plan.add(write_step(1, offset, pieces.back().bytes));
  }
  plan.add(copy_step(1, four + 8192, 1, 64, count));
  pieces.push_back({four + 8192, pattern_bytes(count, 0), "a copy from the beginning"});
  plan.add(copy_step(1, 8192, 1, four + 4096, count));
  pieces.push_back({8192, pattern_bytes(count, 1 << 12), "a copy from past 4 GiB"});
  if (plan.subject.has_fill) {
    plan.add(fill_step(1, four + 16384, count, {7}));
    pieces.push_back({four + 16384, Bytes(count, 7), "a fill"});
  }
  plan.synchronize();
  for (const Piece& each : pieces)
    plan.expect_bytes(plan.add(read_step(1, each.offset, count)), each.bytes,
                      fmt::format("{} at offset {}", each.what, each.offset));
}

// Exhaustion is a code with a message, and the device goes on.
std::vector<std::string> too_much(const Subject& subject, int) {
  if (subject.total_memory != 0 && !(subject.device_flags & BP_DEVICE_HOST_READABLE))
    return {"2^60", "twice_all"};
  return {"2^60"};
}

void out_of_memory(ProbePlan& plan) {
  const bool must_fail = plan.variant == "2^60";
  const std::uint64_t bytes = must_fail ? std::uint64_t{1} << 60 : plan.subject.total_memory * 2;
  const std::size_t asked = plan.add(raw_allocate_step(bytes)), alive = plan.is_alive();
  plan.judge_alone([=](const Answer& answer) {
    // Memory may be promised and not there before it is touched.
    demand(!must_fail || answer.code(asked) != BP_OK, "{} bytes were given out", bytes);
    answer.demand_exhausted(asked, alive, fmt::format("an allocation of {} bytes", bytes));
  });
}

// Released memory is given out again, and nothing that lives suffers.
void reuse(ProbePlan& plan) {
  for (int object = 1; object <= 60; ++object) {
    plan.make(object, pattern_bytes(object * 97 % 5000 + 1, object));
    if (object % 3 == 0) plan.add(object_step("release", object - 1));
  }
  for (int object = 1; object <= 60; ++object)
    if (object % 3 != 2)
      plan.expect(object, fmt::format("allocation {} after others were released", object));
}

// ---- Memories besides the main one: described, filled, exhausted, and copied between, each pair of them

template <std::uint32_t first> std::vector<std::string> spaces(const Subject& subject, int) {
  std::vector<std::string> names;
  for (std::uint32_t space = first; subject.num_spaces > 1 && space < subject.num_spaces; ++space)
    names.push_back(std::to_string(space));
  return names;
}
const Variants other_spaces = {.find = spaces<1>};

Json space_step(const char* what, std::uint64_t space) {
  return {{"do", what}, {"space", space}};
}

void check_description(const Json& said, std::uint64_t space, bool host_readable) {
  const std::string where = fmt::format("space {}", space);
  demand(said["ends"].get<bool>(), "{}: its name is not terminated", where);
  demand(said["named"].get<bool>(), "{}: it has no name", where);
  demand(said["free"].get<std::uint64_t>() <= said["total"].get<std::uint64_t>(),
         "{}: {} bytes are free of {}", where, said["free"].dump(), said["total"].dump());
  const bool visible = (said["flags"].get<std::uint32_t>() & BP_SPACE_HOST_VISIBLE) != 0;
  demand(space != 0 || visible == host_readable,
         "{}: main memory is {}, and of the device's BP_DEVICE_HOST_READABLE it says {}", where,
         visible ? "host-visible" : "not host-visible", host_readable);
}

// What it says is whole, and follows what is allocated.
void describe_one(ProbePlan& plan) {
  const std::uint64_t space = plan.number();
  constexpr std::uint64_t held_bytes = 8192;
  const std::size_t before = plan.add(space_step("describe_space", space));
  plan.allocate(1, held_bytes, 1, space);
  const std::size_t during = plan.add(space_step("describe_space", space));
  plan.add(object_step("release", 1));
  const bool readable = (plan.subject.device_flags & BP_DEVICE_HOST_READABLE) != 0;
  plan.judge = [=](const Answer& answer) {
    const Json &first = answer[before], &then = answer[during];
    check_description(first, space, readable);
    check_description(then, space, readable);
    demand(space == 0 || first["total"] == 0 || first["free"] != then["free"],
           "space {}: {} bytes are free before and after an allocation of {}", space,
           then["free"].dump(), held_bytes);
    const bool counts = first["total"] != 0 && first["free"] != first["total"];
    demand(!counts || first["total"] == then["total"], "its size changes");
  };
}

std::vector<std::string> unknown_spaces(const Subject& subject, int) {
  if (subject.num_spaces < 2) return {};
  return {std::to_string(subject.num_spaces), "4294967295"};
}

// Of a space that is not there it says so, and goes on.
void refuse_unknown(ProbePlan& plan) {
  const std::uint64_t space = plan.number();
  const std::size_t described = plan.add(space_step("describe_space", space)),
                    allocated = plan.add(in_space(allocate_step(1, 64), space)),
                    alive = plan.is_alive();
  plan.judge_alone([=](const Answer& answer) {
    for (const std::size_t step : {described, allocated}) {
      const int code = answer.code(step);
      const std::string what =
          fmt::format("{} of space {}, which does not exist,",
                      step == described ? "describe_space" : "allocate_in", space);
      demand(code == BP_BAD_ARGUMENT || code == BP_UNSUPPORTED, "{} says {}", what, code);
      demand(!message_of(answer[step]).empty(), "{} fails without a message", what);
    }
    demand(answer[alive].value("same", false), "afterwards a copy fails");
  });
}

constexpr std::uint64_t piece_sizes[] = {1, 2, 3, 7, 8, 63, 64, 65, 257, 1000};

// All that is written there comes back, whatever the sizes of the pieces.
void allocate_there(ProbePlan& plan) {
  int object = 0;
  for (const std::uint64_t count : piece_sizes) {
    plan.allocate(++object, count + 3, 1, plan.number());
    plan.write(object, 3, pattern_bytes(count, object));
    plan.expect_part(object, 3, count, fmt::format("{} bytes in space {}", count, plan.variant));
  }
}

std::vector<std::string> pairs_of_spaces(const Subject& subject, int) {
  std::vector<std::string> names;
  for (std::uint32_t from = 0; from < subject.num_spaces; ++from)
    for (std::uint32_t to = 0; to < subject.num_spaces; ++to)
      if (from != 0 || to != 0) names.push_back(fmt::format("{}to{}", from, to));
  return names;
}

void copy_across(ProbePlan& plan) {
  const std::uint64_t from = plan.number(),
                      to = std::stoull(plan.variant.substr(plan.variant.find("to") + 2));
  constexpr std::uint64_t room = 3000;
  plan.make(1, pattern_bytes(room, 5), 1, from);
  plan.make(2, pattern_bytes(room, 6), 1, to);
  std::uint64_t at = 0;
  for (const std::uint64_t count : piece_sizes) {
    plan.copy(2, at, 1, at * 7 % (room - count), count);
    at += count + 3;
  }
  plan.synchronize();
  plan.expect(2, fmt::format("the target of copies from space {} to space {}", from, to));
  plan.expect(1, "their source");
}

void fill_there(ProbePlan& plan) {
  int object = 0;
  for (const std::uint64_t width : {1, 2, 4, 8, 16}) {
    plan.make(++object, pattern_bytes(width * 33, 9), 16, plan.number());
    plan.fill(object, width, width * 31, pattern_bytes(width, 40));
    plan.synchronize();
    plan.expect(object, fmt::format("a pattern of {} bytes in space {}", width, plan.variant));
  }
}

// A space that is said to be host-visible is: the host reads what was copied there, and copies see what it writes.
void show_the_host(ProbePlan& plan) {
  const Bytes sent = pattern_bytes(1000, 3), written = pattern_bytes(1000, 4);
  plan.make(1, sent, 1, plan.number());
  Json sees = in_space(object_step("host_sees", 1), plan.number());
  const std::size_t seen = plan.add(sees);
  sees["bytes"] = Json::binary(written);
  plan.add(std::move(sees));
  const std::size_t read = plan.add(read_step(1, 0, written.size()));
  plan.judge = [=](const Answer& answer) {
    if (answer[seen].contains("none")) return;
    answer.demand_bytes(seen, sent, "what the host reads");
    answer.demand_bytes(read, written, "what the host wrote");
  };
}

// A full space is a code with a message; what was released is there again.
void exhaust_one(ProbePlan& plan) {
  const std::size_t filled = plan.add(space_step("fill_up", plan.number())),
                    alive = plan.is_alive();
  plan.judge_alone([=, space = plan.variant](const Answer& answer) {
    const Json& result = answer[filled];
    if (code_of(result) == BP_OK)
      throw Wrong{fmt::format("{} bytes were given out in space {}, which has {}",
                              result["given"].dump(), space, result["total"].dump())};
    demand(result.value("after", BP_OK) == BP_OK,
           "space {} stays full after all of it was released", space);
    answer.demand_exhausted(filled, alive, "the full space " + space);
  });
}

// ---- Host memory that the device copies from and to faster. It holds what is written, and the application's own stays its own

const Variants host_memory_sizes = {{"1", "63", "4097", "100001"}, has<&Subject::has_host_memory>};

// Twice, so that what the first left behind shows. `facts`: what its result must say, each with why not.
void try_host_memory(ProbePlan& plan, bool adopts, std::function<void(const Json& result)> judge) {
  plan.add(allocate_step(1, plan.number()));
  for (int i = 0; i < 2; ++i)
    plan.add({{"do", "host_memory"}, {"object", 1}, {"bytes", plan.number()}, {"adopts", adopts}});
  plan.judge = [bytes = plan.number(), judge = std::move(judge)](const Answer& answer) {
    for (const std::size_t step : {1, 2}) {
      const Json& result = answer[step];
      if (result.contains("none")) return;
      demand(!result.contains("null"), "it succeeded without memory");
      demand(result["same"].get<bool>(), "{} bytes there and back are not the same", bytes);
      judge(result);
    }
  };
}

void pin(ProbePlan& plan) {
  try_host_memory(plan, false, [](const Json& result) {
    demand(result["aligned"].get<bool>(), "the memory is not aligned as was asked for");
  });
}

void adopt_own(ProbePlan& plan) {
  try_host_memory(plan, true, [](const Json& result) {
    demand(result["kept"].get<bool>(), "adopt changed the application's memory");
    demand(result["still_kept"].get<bool>(), "forget changed the application's memory");
    demand(result["again"] == BP_OK, "what was forgotten cannot be adopted again");
  });
}

}  // namespace

std::vector<ProbeFamily> memory_families() {
  const Variants sizes = {.names = {"1", "2", "3", "63", "64", "65", "4095", "4096", "4097",
                                    "65537", "1048576", "1048577"},
                          .in_normal = {"2097152", "16777216", "67108864"}},
                 large_counts = {.names = {},
                                 .in_normal = {"65535", "65536", "65537", "200003", "1048579"},
                                 .in_full = {"4194305", "16777217"}},
                 huge_counts = {{}, has_gigabyte, {"4194311", "16777231", "67108883"}};
  return {{"memory",
           1,
           {{"allocate", allocate, sizes},
            {"alignment", alignment, {{"1", "4", "64", "256", "4096"}}},
            {"copy", copy, offsets},
            {"copy_within", copy_within, offsets},
            {"fill", fill, {{"1", "2", "4", "8", "16"}, has<&Subject::has_fill>}},
            {"large", large, large_counts},
            {"huge", huge, huge_counts},
            {"host_places", host_places},
            {"far", far, {{}, has_room_for_span, {"offset4GiB"}}},
            {"out_of_memory", out_of_memory, {.find = too_much}},
            {"reuse", reuse}}},
          {"spaces",
           1,
           {{"describe", describe_one, {.find = spaces<0>}},
            {"unknown", refuse_unknown, {.find = unknown_spaces}},
            {"allocate", allocate_there, other_spaces},
            {"copy", copy_across, {.find = pairs_of_spaces}},
            {"fill", fill_there, {.applies = has<&Subject::has_fill>, .find = spaces<1>}},
            {"host", show_the_host, other_spaces},
            {"exhaust", exhaust_one, other_spaces}}},
          {"host_memory",
           1,
           {{"pin", pin, host_memory_sizes}, {"adopt", adopt_own, host_memory_sizes}}}};
}

}  // namespace bp::conform

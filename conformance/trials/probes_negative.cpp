// What must fail: with the code that is said, with a message, with nothing touched, and with a device that goes on. That
// rows refuse bad arguments is the cases' of rows.
#include <fmt/format.h>

#include "trials/probes.hpp"

namespace bp::conform {
namespace {

std::vector<std::string> bad_patterns(const Subject& subject, int) {
  if (!subject.has_fill) return {};
  return {"3", "5", "6", "7", "12"};
}

ProbePlan fill_pattern(const std::string& variant, const Subject&) {
  const std::size_t width = std::stoul(variant);
  ProbePlan plan;
  plan.add(allocate_step(1, 240, 16));
  plan.add(write_step(1, 0, pattern_bytes(240, 4)));
  const std::size_t fill = plan.add(fill_step(1, 0, width * 8, pattern_bytes(width, 9)));
  const std::size_t read = plan.add(read_step(1, 0, 240));
  plan.judge = [=](const Json& answer) -> std::string {
    if (std::string why = refused(result_of(answer, fill), BP_BAD_ARGUMENT,
                                  fmt::format("fill with a pattern of {} bytes", width));
        !why.empty())
      return why;
    return differs(answer, read, pattern_bytes(240, 4), "the target of a fill that failed");
  };
  return plan;
}

std::vector<std::string> stale_kinds(const Subject& subject, int) {
  if (!subject.numerics.checks_handles) return {};
  if (subject.has_fill) return {"stale_copy", "stale_fill"};
  return {"stale_copy"};
}

ProbePlan stale(const std::string& variant, const Subject&) {
  ProbePlan plan;
  const std::size_t used = plan.add({{"do", "raw"}, {"what", variant}});
  plan.judge = [=](const Json& answer) {
    return refused(result_of(answer, used), BP_BAD_ARGUMENT, variant + " of released memory");
  };
  return plan;
}

ProbePlan unknown_operator(const std::string&, const Subject&) {
  ProbePlan plan;
  plan.lane = "core";
  const std::size_t row =
      plan.add({{"do", "row"}, {"op", "no_such_row"}, {"args", Json::array()}, {"results", {1}}});
  plan.judge = [=](const Json& answer) -> std::string {
    const Json& result = result_of(answer, row);
    if (std::string why = refused(result, BP_BAD_ARGUMENT, "an unknown operator"); !why.empty())
      return why;
    return message_of(result).find("no_such_row") != std::string::npos
               ? ""
               : "the error does not name the operator: " + message_of(result);
  };
  return plan;
}

Json core_floats(int object, std::size_t count) {
  return core_vector(object, "f32", count, Bytes(count * 4));
}

// A bad index is found on the device: the error comes out once, names the operator, and the stream goes on.
ProbePlan error_once(const std::string&, const Subject&) {
  ProbePlan plan;
  plan.lane = "core";
  plan.add(core_floats(1, 5));
  Bytes index(16);
  index[0] = 99;
  plan.add(core_vector(2, "i64", 2, index));
  const Json args = Json::array({{{"tensor", 1}}, {{"i", 0}}, {{"tensor", 2}}});
  Json gather = core_call("gather", args, 3);
  gather["synchronize"] = false;
  const std::size_t row = plan.add(gather);
  const std::size_t first = plan.add(simple_step("synchronize")),
                    second = plan.add(simple_step("synchronize"));
  const std::size_t good = plan.add(core_call("add", {{{"tensor", 1}}, {{"tensor", 1}}}, 4));
  plan.judge = [=](const Json& answer) -> std::string {
    const bool at_once = code_of(result_of(answer, row)) != BP_OK;
    const Json& error = result_of(answer, at_once ? row : first);
    if (std::string why = refused(error, BP_BAD_ARGUMENT, "gather with index 99 of 5");
        !why.empty())
      return why;
    if (message_of(error).find("gather") == std::string::npos)
      return "the error does not name the operator: " + message_of(error);
    if (at_once && code_of(result_of(answer, first)) != BP_OK)
      return "the error comes out again at the next synchronize";
    if (code_of(result_of(answer, second)) != BP_OK)
      return "the error comes out again at the synchronize after the next";
    return code_of(result_of(answer, good)) == BP_OK
               ? ""
               : "the next call fails as well: " + message_of(result_of(answer, good));
  };
  return plan;
}

// A tensor of another device among the arguments.
ProbePlan other_device(const std::string&, const Subject&) {
  ProbePlan plan;
  plan.lane = "core";
  plan.add(core_floats(1, 5));
  Json elsewhere = core_floats(2, 5);
  elsewhere["on"] = "meta";
  plan.add(elsewhere);
  const std::size_t row = plan.add(core_call("add", {{{"tensor", 1}}, {{"tensor", 2}}}, 3));
  plan.judge = [=](const Json& answer) {
    return refused(result_of(answer, row), BP_BAD_ARGUMENT, "add of tensors of two devices");
  };
  return plan;
}

// No kernel ever sees a stride below 0: the core makes no such tensor.
ProbePlan negative_stride(const std::string&, const Subject&) {
  ProbePlan plan;
  plan.lane = "core";
  plan.add(core_floats(1, 5));
  const std::size_t row = plan.add(
      core_call("as_strided", {{{"tensor", 1}}, {{"ints", {5}}}, {{"ints", {-1}}}, {{"i", 4}}}, 2));
  plan.judge = [=](const Json& answer) {
    return refused(result_of(answer, row), BP_BAD_ARGUMENT, "as_strided with a stride of -1");
  };
  return plan;
}

}  // namespace

std::vector<Probe> negative_probes() {
  return {{"fill_pattern", bad_patterns, fill_pattern},
          {"stale_handle", stale_kinds, stale},
          {"unknown_operator", one_variant, unknown_operator},
          {"error_once", one_variant, error_once},
          {"other_device", one_variant, other_device},
          {"negative_stride", one_variant, negative_stride}};
}

}  // namespace bp::conform

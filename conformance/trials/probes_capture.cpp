// L2: work that is recorded once and replayed is done each time, all of it, once, and in order.
#include <cstring>

#include "trials/answers.hpp"
#include "trials/probes.hpp"

namespace bp::conform {
namespace {

constexpr std::size_t capture_count = 300;
constexpr int capture_times = 3;

std::vector<std::uint8_t> bytes_of_floats(const std::vector<float>& values) {
  std::vector<std::uint8_t> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::vector<std::string> with_sums(const Subject& subject, int) {
  const bool has_kernels = !subject.kernels_of("add").empty() && !subject.kernels_of("mul").empty();
  if (has_kernels || subject.compiles) return {""};
  return {};
}

Json row_into(const char* op, int a, int b, int into) {
  Json row = core_call(op, {{{"tensor", a}}, {{"tensor", b}}}, 0);
  row["into"] = {into};
  row["in_place"] = a == into;
  return row;
}

// x = (x + y) * y, z = x + y: whatever is left out, done twice or done in another order gives other numbers.
ProbePlan replay(const std::string&, const Subject&) {
  std::vector<float> x(capture_count), y(capture_count), z(capture_count);
  for (std::size_t i = 0; i < capture_count; ++i) {
    x[i] = static_cast<float>(i % 7);
    y[i] = static_cast<float>(i % 3 + 2);
  }
  ProbePlan plan;
  plan.lane = "core";
  plan.add(core_vector(1, "f32", capture_count, bytes_of_floats(x)));
  plan.add(core_vector(2, "f32", capture_count, bytes_of_floats(y)));
  plan.add(core_vector(3, "f32", capture_count, bytes_of_floats(z)));
  const std::size_t replays = plan.add(
      {{"do", "replays"},
       {"times", capture_times},
       {"steps", {row_into("add", 1, 2, 1), row_into("mul", 1, 2, 1), row_into("add", 1, 2, 3)}}});
  const std::size_t first = plan.add(object_step("values", 1)),
                    second = plan.add(object_step("values", 3));
  for (int i = 0; i < capture_times; ++i)
    for (std::size_t k = 0; k < capture_count; ++k) {
      x[k] = (x[k] + y[k]) * y[k];
      z[k] = x[k] + y[k];
    }
  plan.judge = [=](const Json& answer) -> std::string {
    const Json& result = result_of(answer, replays);
    if (code_of(result) == BP_UNSUPPORTED)
      return {};  // served by the host, which no recording holds
    if (code_of(result) != BP_OK) return error_of(result);
    if (std::string why = differs(answer, first, bytes_of_floats(x), "x after three replays");
        !why.empty())
      return why;
    return differs(answer, second, bytes_of_floats(z), "z after three replays");
  };
  return plan;
}

}  // namespace

const std::vector<Probe>& capture_probes() {
  static const std::vector<Probe> probes = {{"replay", with_sums, replay}};
  return probes;
}

}  // namespace bp::conform

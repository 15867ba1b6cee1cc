// argmax and argmin where groups share the work: see group_loops().
#include <fmt/format.h>

#include "kinds/arg_reduction_text.hpp"

namespace bp::codegen {
namespace {

constexpr const char* group_states = R"(
typedef best_t state_t;
DEVICE state_t state_of(acc_t x, i64 number) {
  state_t state;
  state.value = x;
  state.number = number;
  return state;
}
DEVICE state_t visit(state_t state, acc_t x, i64 number) {
  const int better = IS_BETTER(x, state.value);
  state.value = better ? x : state.value;
  state.number = better ? number : state.number;
  return state;
}
DEVICE state_t join_states(state_t a, state_t b) {
  const int later = IS_BETTER(b.value, a.value) || (b.number < a.number && !IS_BETTER(a.value, b.value));
  a.value = later ? b.value : a.value;
  a.number = later ? b.number : a.number;
  return a;
}
#define START_WITH(x, number) state_of(x, number)
#define START(p, at, number) state_of(take(p, at), number)
)";
constexpr const char* shuffled_states = R"(
DEVICE state_t shuffle_xor_state(state_t x, i32 by) {{
  return state_of(shuffle_xor_{}(x.value, by), shuffle_xor_i64(x.number, by));
}}
)";

constexpr const char* group_join_body = R"(
  LOCAL state_t room[TEAM_ROOM];
  const i64 own = group0 * (GROUP / TEAM) + lane / TEAM, row = own < v.outputs ? own : 0;
  state_t state = state_of(take_acc(m0 + v.from, row), load_i64(m0 + v.numbers, row));
  for (i64 part = lane % TEAM; part < v.parts; part += TEAM)
    state = join_states(state, state_of(take_acc(m0 + v.from, part * v.outputs + row),
                                        load_i64(m0 + v.numbers, part * v.outputs + row)));
  const state_t total = join_team(state, lane, room);
  if (lane % TEAM == 0 && own < v.outputs) { FINISH_STATE(total, row, 0) }
)";

}  // namespace

KernelText group_arg_reduction_text(const Operator& op, const ArgText& text,
                                    const Invocation& invocation) {
  const Dtype accumulator = accumulator_of(text.dtype);
  const Elements elements{text.dtype, accumulator, accumulator, 1, text.groups->small};
  const bool joins = text.form == ArgForm::join_parts;
  constexpr const char* names[] = {"group_rows", "group_short_rows", "group_columns"};
  const Language language = invocation.device.language();
  const GroupLoops loops = group_loops(invocation, *text.groups, "state");
  KernelText kernel;
  kernel.name = kernel_name(
      op, text.dtype, joins ? "group_join_parts" : names[static_cast<unsigned>(text.groups->form)]);
  kernel.num_memory = 2;
  kernel.values = plan_fields();
  kernel.values.push_back({"numbers"});
  kernel.values.push_back({"piece"});
  kernel.group_size = usual_group;
  kernel.helpers =
      element_functions(elements) + pack_functions(elements, text.groups->pack) +
      better_words(op, accumulator) + "typedef struct { acc_t value; i64 number; } best_t;\n" +
      group_states +
      (text.groups->form == GroupForm::columns ? "#define STATES PACK\n" : "#define STATES 1\n") +
      std::string(finish_words(text.to_parts)) +
      "#define FINISH_STATE(state, row, part) FINISH((state).value, (state).number, row, part)\n";
  if (language == Language::cuda_cxx)
    kernel.helpers += fmt::format(fmt::runtime(shuffled_states), compute_type(accumulator));
  kernel.helpers += loops.helpers;
  kernel.body = joins ? group_join_body : loops.body;
  return kernel;
}

}  // namespace bp::codegen

#include "dialect/spirv_blocks.hpp"

#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <vector>

namespace {

using bp::codegen::order_blocks;
using Words = std::vector<std::uint32_t>;

enum Opcode : std::uint32_t {
  op_function = 54,
  op_function_end = 56,
  op_loop_merge = 246,
  op_label = 248,
  op_branch = 249,
  op_branch_conditional = 250,
  op_switch = 251,
  op_return = 253,
};

Words instruction(Opcode opcode, const Words& operands = {}) {
  Words words{static_cast<std::uint32_t>(operands.size() + 1) << 16 | opcode};
  words.insert(words.end(), operands.begin(), operands.end());
  return words;
}

Words operator+(Words first, const Words& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

Words label(std::uint32_t id) {
  return instruction(op_label, {id});
}

Words jump(std::uint32_t to) {
  return instruction(op_branch, {to});
}

const Words header{0x07230203, 0x10200, 0, 100, 0};
const Words begin = instruction(op_function, {1, 2, 0, 3}), end = instruction(op_function_end),
            leave = instruction(op_return);

Words ordered(const Words& words) {
  const std::string made =
      order_blocks({reinterpret_cast<const char*>(words.data()), 4 * words.size()});
  Words back(made.size() / 4);
  if (!made.empty()) std::memcpy(back.data(), made.data(), made.size());
  return back;
}

TEST(SpirvBlocks, come_behind_those_that_lead_to_them) {
  const Words first = label(10) + instruction(op_branch_conditional, {5, 12, 11}),
              second = label(11) + jump(13), third = label(12) + jump(13), last = label(13) + leave;
  EXPECT_EQ(ordered(header + begin + first + last + second + third + end),
            header + begin + first + third + second + last + end);
  // In each function by itself.
  EXPECT_EQ(ordered(header + begin + first + last + second + third + end + begin + first + second +
                    last + third + end),
            header + begin + first + third + second + last + end + begin + first + third + second +
                last + end);
}

TEST(SpirvBlocks, of_a_loop_stay_in_their_order_and_lose_its_hints) {
  const Words hint = instruction(op_loop_merge, {13, 12, 2}), first = label(10) + jump(11),
              test = instruction(op_branch_conditional, {5, 12, 13}), body = label(12) + jump(11),
              last = label(13) + leave;
  const Words expected = header + begin + first + label(11) + test + body + last + end;
  EXPECT_EQ(ordered(header + begin + first + label(11) + hint + hint + test + body + last + end),
            expected);
  EXPECT_EQ(ordered(expected), expected);
}

// The numbers of cases are one word or two, and may look like labels.
TEST(SpirvBlocks, of_a_switch_come_behind_it) {
  const Words other = label(11) + jump(13), one = label(12) + leave, last = label(13) + leave;
  for (const Words& cases : {Words{5, 11, 11, 12}, Words{5, 11, 7, 0, 12}}) {
    const Words first = label(10) + instruction(op_switch, cases);
    const Words made =
        ordered(header + begin + one + end + begin + first + last + one + other + end);
    EXPECT_EQ(made, header + begin + one + end + begin + first + other + last + one + end);
  }
}

TEST(SpirvBlocks, that_nobody_reaches_come_last) {
  const Words first = label(10) + jump(12), lost = label(11) + leave, last = label(12) + leave;
  EXPECT_EQ(ordered(header + begin + first + lost + last + end),
            header + begin + first + last + lost + end);
}

TEST(SpirvBlocks, of_what_is_no_whole_module_stay_where_they_are) {
  const Words whole = header + begin + label(10) + jump(12) + label(12) + leave + end;
  for (std::size_t count : {std::size_t{0}, std::size_t{3}, whole.size() - 4}) {
    const Words cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(count));
    EXPECT_EQ(ordered(cut), cut) << count;
  }
  EXPECT_EQ(order_blocks("abc"), "abc");
}

}  // namespace

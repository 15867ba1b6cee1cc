// Structs as another host gives them: what lies behind them cannot be touched without a trace.
#include "worker/skew.hpp"

#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <backplane/runtime/generated/abi_sizes.hpp>

namespace bp::conform {
namespace {

bp_operator some_operator() {
  bp_operator op{};
  op.h = {sizeof op, BP_TYPE_OPERATOR, nullptr};
  op.num_nodes = 7;
  return op;
}

TEST(Skew, is_of_each_level_that_there_was_and_of_a_later_one) {
  EXPECT_THAT(skew_names(), testing::Contains("padded"));
  for (std::uint32_t level = 1; level <= BP_ABI_LEVEL; ++level)
    EXPECT_THAT(skew_names(), testing::Contains("level" + std::to_string(level)));
  EXPECT_FALSE(read_skew({{"do", "call"}}));
  EXPECT_EQ(read_skew({{"skew", "level1"}}).level, 1u);
}

TEST(Skew, cuts_a_struct_to_its_level_before_a_page_that_ends_who_looks) {
  const bp_operator op = some_operator();
  const SkewedStruct cut("bp_operator", &op, sizeof op, read_skew({{"skew", "level1"}}));
  const auto* seen = cut.as<const bp_operator>();
  EXPECT_EQ(seen->h.size, abi_size("bp_operator", 1));
  EXPECT_EQ(seen->num_nodes, 7u);
  const volatile char* behind = reinterpret_cast<const char*>(seen) + seen->h.size;
  EXPECT_DEATH(static_cast<void>(*behind), "");
}

TEST(Skew, tells_what_was_written_behind_the_known_part) {
  const bp_operator op = some_operator();
  const SkewedStruct longer("bp_operator", &op, sizeof op, read_skew({{"skew", "padded"}}));
  auto* seen = longer.as<bp_operator>();
  ASSERT_GT(seen->h.size, sizeof op);
  EXPECT_NE(seen->h.next, nullptr);
  EXPECT_EQ(longer.fault(), "");
  reinterpret_cast<char*>(seen)[sizeof op] = 1;
  EXPECT_THAT(longer.fault(), testing::HasSubstr("wrote to byte 80 of a bp_operator"));
}

TEST(Skew, of_a_call_is_that_of_all_that_it_points_to) {
  std::int64_t shape[1] = {3}, strides[1] = {1};
  bp_tensor tensor{};
  tensor.size = sizeof tensor;
  tensor.dl.shape = shape;
  tensor.dl.strides = strides;
  const bp_tensor* list[] = {&tensor, &tensor};
  bp_value args[2] = {{BP_TENSOR, 0, {}}, {BP_TENSOR_LIST, 2, {}}};
  args[0].u.tensor = &tensor;
  args[1].u.ptr = list;
  bp_tensor* outputs[] = {nullptr};
  const bp_operator op = some_operator();
  bp_call call{};
  call.h = {sizeof call, BP_TYPE_CALL, nullptr};
  call.args = args;
  call.num_args = 2;
  call.outputs = outputs;
  call.num_outputs = 1;

  SkewedCall given(call, &op, read_skew({{"skew", "padded"}}));
  const bp_call& seen = *given.get();
  EXPECT_GT(seen.h.size, sizeof call);
  EXPECT_GT(seen.args[0].u.tensor->size, sizeof tensor);
  EXPECT_EQ(seen.args[0].u.tensor->dl.shape, shape);
  const auto* const* seen_list = static_cast<const bp_tensor* const*>(seen.args[1].u.ptr);
  EXPECT_GT(seen_list[1]->size, sizeof tensor);
  given.show(0, tensor);
  EXPECT_GT(seen.outputs[0]->size, sizeof tensor);
  EXPECT_EQ(given.fault(), "");
  reinterpret_cast<char*>(seen.outputs[0])[sizeof tensor + 500] = 1;
  EXPECT_THAT(given.fault(), testing::HasSubstr("bp_tensor"));
}

}  // namespace
}  // namespace bp::conform

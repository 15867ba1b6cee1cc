// The tree that programs keep: each value reads as what it is, and as nothing else.
#include <backplane/core_ops/creation.hpp>
#include <backplane/core_ops/generated/all.hpp>
#include <backplane/state/state.hpp>

#include "autograd/tensors.hpp"

namespace bp::test {
namespace {

using testing::HasSubstr;

TEST(State, reads_as_what_it_is) {
  EXPECT_TRUE(State().is_none());
  EXPECT_TRUE(State(true).as_bool());
  EXPECT_EQ(State(7).as_int(), 7);
  EXPECT_EQ(State(7).as_double(), 7.0);
  EXPECT_EQ(State(0.5).as_double(), 0.5);
  EXPECT_EQ(State("plain").as_text(), "plain");
  const Tensor a = empty({2}, f32, meta_device);
  EXPECT_TRUE(State(a).as_tensor().is_same(a));
  EXPECT_EQ(State(State::List{1, "two"}).as_list()[1].as_text(), "two");
}

TEST(State, says_what_it_is_when_read_as_something_else) {
  const auto sentence = [](const auto& read) { return sentence_of(read); };
  EXPECT_THAT(sentence([] { State(0.5).as_int(); }),
              HasSubstr("expected an int and found a float"));
  EXPECT_THAT(sentence([] { State(1).as_bool(); }), HasSubstr("expected a bool and found an int"));
  EXPECT_THAT(sentence([] { State().as_tensor(); }), HasSubstr("a tensor and found None"));
  EXPECT_THAT(sentence([] { State("a").at("b"); }), HasSubstr("a dict and found a text"));
  EXPECT_THAT(sentence([] {
                State::dict({{"a", 1}}).at("b");
              }),
              HasSubstr("no 'b' among 1 entries"));
}

TEST(State, of_names_keeps_their_order_and_replaces_in_place) {
  State state;
  state.set("b", 1);
  state.set("a", State::dict({{"inner", 2.5}}));
  state.set("b", "again");
  ASSERT_EQ(state.size(), 2u);
  EXPECT_EQ(state.entries()[0].first, "b");
  EXPECT_EQ(state.at("b").as_text(), "again");
  EXPECT_EQ(state.at("a").at("inner").as_double(), 2.5);
  EXPECT_EQ(state.find("c"), nullptr);
}

}  // namespace
}  // namespace bp::test

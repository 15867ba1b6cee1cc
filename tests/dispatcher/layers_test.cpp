// needs: cpu
#include <gtest/gtest.h>

#include <backplane/dispatcher/call.hpp>
#include <backplane/dispatcher/layers.hpp>
#include <backplane/dispatcher/registry.hpp>
#include <backplane/tensors.hpp>

namespace {

std::vector<std::string> seen;

void profile_handler(const bp::Call& call, const bp::Level*) {
  seen.push_back(std::string("profile ") + call.op.name());
  bp::redispatch_below(bp::Layer::profile, call);
}
void trace_handler(const bp::Call& call, const bp::Level*) {
  seen.push_back(std::string("trace ") + call.op.name());
  bp::redispatch_below(bp::Layer::trace, call);
}
void special_add(const bp::Call& call, const bp::Level*) {
  seen.push_back("special add");
  bp::redispatch_below(bp::Layer::trace, call);
}

class Layers : public testing::Test {
 protected:
  void SetUp() override {
    seen.clear();
    bp::set_layer_fallback(bp::Layer::profile, profile_handler);
    bp::set_layer_fallback(bp::Layer::trace, trace_handler);
  }
  void TearDown() override {
    bp::set_layer_fallback(bp::Layer::profile, nullptr);
    bp::set_layer_fallback(bp::Layer::trace, nullptr);
    bp::set_layer_handler(*bp::find_operator("add"), bp::Layer::trace, nullptr);
  }
  bp::Tensor a = bp::ones({2}), b = bp::ones({2});
};

TEST_F(Layers, without_one_a_call_goes_straight_to_the_kernel) {
  bp::add(a, b);
  EXPECT_TRUE(seen.empty());
}

TEST_F(Layers, included_ones_see_every_call_outermost_first) {
  bp::IncludeLayers include(bp::key_of(bp::Layer::trace) | bp::key_of(bp::Layer::profile));
  const bp::Tensor c = bp::add(a, b);
  EXPECT_EQ(seen, (std::vector<std::string>{"profile add", "trace add"}));
  EXPECT_EQ(bp::item<float>(bp::select(c, 0, 0)), 2.0f);
}

TEST_F(Layers, a_tensors_key_brings_its_layer) {
  a.impl()->keys = bp::key_of(bp::Layer::trace);
  bp::add(a, b);
  EXPECT_EQ(seen, std::vector<std::string>{"trace add"});
  seen.clear();
  bp::add(b, b);
  EXPECT_TRUE(seen.empty());
}

TEST_F(Layers, excluded_ones_see_nothing) {
  bp::IncludeLayers include(bp::key_of(bp::Layer::trace));
  bp::ExcludeLayers exclude(bp::key_of(bp::Layer::trace));
  bp::add(a, b);
  EXPECT_TRUE(seen.empty());
}

TEST_F(Layers, an_operators_own_handler_goes_before_the_fallback) {
  bp::set_layer_handler(*bp::find_operator("add"), bp::Layer::trace, special_add);
  bp::IncludeLayers include(bp::key_of(bp::Layer::trace));
  bp::add(a, b);
  bp::mul(a, b);
  EXPECT_EQ(seen, (std::vector<std::string>{"special add", "trace mul"}));
}

TEST_F(Layers, views_and_in_place_calls_are_seen_too) {
  bp::IncludeLayers include(bp::key_of(bp::Layer::trace));
  bp::transpose(bp::view(a, {2, 1}), 0, 1);
  bp::add_(a, b);
  EXPECT_EQ(seen, (std::vector<std::string>{"trace view", "trace transpose", "trace add"}));
}

}  // namespace

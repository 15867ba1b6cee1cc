// For tests of kernels/: the card, and results of the same call on cpu.
#pragma once

#include <cmath>
#include <cstdlib>

#include <backplane/tensors.hpp>

#include "dispatcher/calls.hpp"

namespace bp::test {

class NativeKernels : public testing::Test {
 protected:
  // Another device may be named, to try the tests themselves where there is no card.
  static std::string name() {
    const char* other = std::getenv("BACKPLANE_TEST_CARD");
    return other ? other : "cuda:0";
  }
  static bool has_card() { return name() == "cuda:0"; }

  void SetUp() override {
    try {
      card_ = device(name());
    } catch (const Error&) {
      GTEST_SKIP() << "cuda:0 is not on this machine";
    }
  }

  Tensor there(const Tensor& tensor) const { return to_device(tensor, card_); }
  static Tensor here(const Tensor& tensor) { return to_device(tensor, host_device()); }

  // How the operator was served since `served` was made, which only a card can say.
  static void expect_served(const Served& served, const std::string& expected) {
    if (has_card()) {
      EXPECT_EQ(served.since(), expected);
    }
  }

  Device card_;
};

}  // namespace bp::test

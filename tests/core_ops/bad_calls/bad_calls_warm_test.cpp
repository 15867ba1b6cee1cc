// needs: cpu once
// Wrong calls one after the other, each followed by a good one.
#include <gtest/gtest.h>

#include "bad_calls.hpp"

namespace bp::test {
namespace {

TEST(warm_bad_calls, end_in_a_sentence_of_their_operator) {
  make_warm_calls("cpu", 0, 6000);
}

TEST(warm_bad_calls, may_be_recorded) {
  make_recorded_calls("cpu", 0, 6000);
}

TEST(warm_bad_calls, may_be_without_elements) {
  make_calls_without_elements("cpu");
}

}  // namespace
}  // namespace bp::test

// needs: reference reference_primitives
// Wrong calls on devices that compute everything by the host, and everything by primitives.
#include <gtest/gtest.h>

#include "bad_calls.hpp"

namespace bp::test {
namespace {

class BadCallsOf : public testing::TestWithParam<const char*> {};

TEST_P(BadCallsOf, end_in_a_sentence_of_their_operator) {
  make_warm_calls(GetParam(), 0, 2000);
}

TEST_P(BadCallsOf, may_be_without_elements) {
  make_calls_without_elements(GetParam());
}

INSTANTIATE_TEST_SUITE_P(devices, BadCallsOf, testing::Values("reference", "reference_primitives"));

}  // namespace
}  // namespace bp::test

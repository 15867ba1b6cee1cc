// needs: cpu slow
// All of them: 30,000.
#include <gtest/gtest.h>

#include "bad_calls.hpp"

namespace bp::test {
namespace {

TEST(all_bad_calls, end_in_a_sentence_when_cold) {
  make_cold_calls(0, 15000);
}

TEST(all_bad_calls, end_in_a_sentence_when_warm) {
  make_warm_calls("cpu", 0, 15000);
}

}  // namespace
}  // namespace bp::test

// needs: level_zero
#include "backends/host_calls_checks.hpp"
#include "backends/level_zero/direct_device.hpp"

namespace {

class LevelZeroHostCalls : public direct::LevelZero {};

TEST_P(LevelZeroHostCalls, come_in_order_and_later_work_waits) {
  direct::expect_functions_in_order_and_later_work_waits(on());
}

TEST_P(LevelZeroHostCalls, of_two_streams_may_wait_for_each_other) {
  direct::expect_functions_of_two_streams_may_wait_for_each_other(on());
}

TEST_P(LevelZeroHostCalls, are_called_once_each_and_in_order) {
  direct::expect_many_functions_once_each_and_in_order(on());
}

TEST_P(LevelZeroHostCalls, of_many_threads_all_come) {
  direct::expect_functions_of_many_threads_all_come(on());
}

TEST_P(LevelZeroHostCalls, are_refused_while_a_stream_records) {
  direct::expect_functions_are_refused_while_a_stream_records(on());
}

BP_BOTH_KINDS_OF_LISTS(LevelZeroHostCalls);

}  // namespace

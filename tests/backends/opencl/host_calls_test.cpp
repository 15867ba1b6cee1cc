// needs: opencl
#include "backends/host_calls_checks.hpp"
#include "backends/opencl/direct_device.hpp"

namespace {

class OpenClHostCalls : public direct::OpenCl {};

TEST_F(OpenClHostCalls, come_in_order_and_later_work_waits) {
  direct::expect_functions_in_order_and_later_work_waits(*this);
}

TEST_F(OpenClHostCalls, of_two_streams_may_wait_for_each_other) {
  direct::expect_functions_of_two_streams_may_wait_for_each_other(*this);
}

TEST_F(OpenClHostCalls, are_called_once_each_and_in_order) {
  direct::expect_many_functions_once_each_and_in_order(*this);
}

TEST_F(OpenClHostCalls, of_many_threads_all_come) {
  direct::expect_functions_of_many_threads_all_come(*this);
}

TEST_F(OpenClHostCalls, are_refused_while_a_stream_records) {
  direct::expect_functions_are_refused_while_a_stream_records(*this);
}

}  // namespace

// needs: cuda
#include "backends/cuda/direct_device.hpp"
#include "backends/host_calls_checks.hpp"

namespace {

class CudaHostCalls : public direct::Cuda {};

TEST_F(CudaHostCalls, come_in_order_and_later_work_waits) {
  direct::expect_functions_in_order_and_later_work_waits(*this);
}

TEST_F(CudaHostCalls, are_called_once_each_and_in_order) {
  direct::expect_many_functions_once_each_and_in_order(*this);
}

TEST_F(CudaHostCalls, of_many_threads_all_come) {
  direct::expect_functions_of_many_threads_all_come(*this);
}

TEST_F(CudaHostCalls, are_refused_while_a_stream_records) {
  direct::expect_functions_are_refused_while_a_stream_records(*this);
}

}  // namespace

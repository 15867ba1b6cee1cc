// needs: cuda
// Streams and events of the CUDA backend.
#include <optional>

#include "backends/cuda/direct_device.hpp"
#include "backends/queue_checks.hpp"

namespace {

class CudaQueue : public direct::Cuda {
 protected:
  direct::Spinner& spinner() {
    if (!spinner_) spinner_.emplace(*this, compile(direct::spin), 8'000'000);
    return *spinner_;
  }
  void TearDown() override { spinner_.reset(); }

 private:
  std::optional<direct::Spinner> spinner_;
};

TEST_F(CudaQueue, copies_and_launches_return_before_the_work_is_done) {
  direct::expect_copies_and_launches_return_before_the_work_is_done(spinner(), direct::Reads::wait);
}

TEST_F(CudaQueue, a_query_alone_sees_the_end) {
  direct::expect_a_query_alone_sees_the_end(spinner());
}

TEST_F(CudaQueue, an_event_orders_two_streams) {
  direct::expect_an_event_orders_two_streams(spinner(), direct::Reads::wait);
}

TEST_F(CudaQueue, measures_the_work_between_events) {
  direct::expect_measures_the_work_between_events(spinner());
}

TEST_F(CudaQueue, serves_eight_threads_on_eight_streams) {
  direct::expect_eight_threads_use_eight_streams(*this);
}

TEST_F(CudaQueue, a_forked_child_is_told_so) {
  direct::expect_a_forked_child_is_told_so(*this);
}

}  // namespace

// needs: cpu opencl
// Streams of a driver's own, ordered by events alone, with memory that changes hands without record_stream.
#include "dispatcher/side_stream_stress.hpp"

namespace bp::test {
namespace {

TEST(SideStreams, find_what_they_computed_on_four_threads) {
  SideStreamStress stress({{device("cpu")}, {device("opencl"), false, 1000000}});
  EXPECT_EQ(stress.run(4, 1000), 0);
}

}  // namespace
}  // namespace bp::test

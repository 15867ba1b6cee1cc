// needs: cpu cuda
// Memory in the order of streams, of the driver's pool. That it is nobody else's too early, and that nothing waits, the
// conformance suite asks (stream_memory.*).
#include <gmock/gmock.h>

#include <backplane/extensions/capture.h>
#include <backplane/extensions/stream_memory.h>

#include "backends/cuda/direct_device.hpp"
#include "backends/cuda/native.hpp"

namespace {

constexpr uint64_t gib = uint64_t{1} << 30;

class CudaStreamMemory : public direct::Cuda {
 protected:
  const bp_stream_memory& pool() { return extension<bp_stream_memory>(BP_STREAM_MEMORY); }

  bp_code allocate(uint64_t bytes, bp_stream* stream, bp_handle* out) {
    return pool().allocate(device().get(), bytes, 256, stream, out);
  }
  bp_handle allocate(uint64_t bytes, bp_stream* stream) {
    bp_handle handle = 0;
    EXPECT_EQ(allocate(bytes, stream, &handle), BP_OK) << fake::Host::last_message();
    EXPECT_EQ(handle % 256, 0u);
    return handle;
  }
  uint64_t free_bytes() {
    bp_space_info info{};
    info.h = {sizeof info, BP_TYPE_SPACE_INFO, nullptr};
    EXPECT_EQ(memory().describe_space(device().get(), 0, &info), BP_OK);
    return info.free_bytes;
  }
};

TEST_F(CudaStreamMemory, is_kept_for_the_next_until_it_is_trimmed) {
  const uint64_t before = free_bytes();
  bp_stream* stream = make_stream();
  const bp_handle first = allocate(gib, stream);
  pool().release(device().get(), first, stream);
  const bp_handle second = allocate(gib, stream);
  EXPECT_EQ(second, first) << "the same stream has it again at once";
  pool().release(device().get(), second, stream);
  ASSERT_EQ(device().synchronize(stream), BP_OK);
  EXPECT_LE(free_bytes(), before - gib / 2) << "a synchronization gave it back";
  pool().trim(device().get());
  EXPECT_GE(free_bytes(), before - gib / 8);
  destroy(stream);
}

TEST_F(CudaStreamMemory, is_not_trimmed_while_it_is_used) {
  bp_stream* stream = make_stream();
  const std::vector<int32_t> sent(1 << 20, 7);
  const bp_handle source = upload(sent), held = allocate(4 << 20, stream);
  const bp_region to{held, 0, 4 << 20}, from{source, 0, 4 << 20};
  ASSERT_EQ(memory().copy(device().get(), &to, &from, BP_COPY_WITHIN, stream), BP_OK);
  pool().trim(device().get());
  ASSERT_EQ(device().synchronize(stream), BP_OK);
  EXPECT_EQ(download<int32_t>(held, sent.size()), sent);
  memory().release(device().get(), held);  // which ends it as well
  destroy(stream);
  device().release(source);
}

TEST_F(CudaStreamMemory, that_there_is_not_is_told_with_what_is_held) {
  const bp_handle held = allocate(gib, nullptr);
  bp_handle none = 0;
  EXPECT_EQ(allocate(uint64_t{1} << 50, nullptr, &none), BP_OUT_OF_MEMORY);
  EXPECT_THAT(fake::Host::last_message(),
              testing::ContainsRegex("of the card's [0-9]+ bytes [0-9]+ are free, 1073741824 are "
                                     "allocated here"));
  pool().release(device().get(), held, nullptr);
}

TEST_F(CudaStreamMemory, is_not_given_to_a_stream_that_records) {
  const auto& capture = extension<bp_capture>(BP_CAPTURE);
  bp_stream* stream = make_stream();
  ASSERT_EQ(capture.begin(device().get(), stream), BP_OK);
  bp_handle none = 0;
  EXPECT_EQ(allocate(4096, stream, &none), BP_BAD_ARGUMENT);
  ASSERT_EQ(capture.end(device().get(), stream, nullptr), BP_OK);
  const bp_handle some = allocate(4096, stream);
  pool().release(device().get(), some, stream);
  EXPECT_EQ(device().synchronize(stream), BP_OK);
  destroy(stream);
}

class CudaLargeTensors : public bp::test::NativeKernels {};

TEST_F(CudaLargeTensors, come_and_go_in_the_order_of_their_streams) {
  using namespace bp::test;
  constexpr std::int64_t count = 4 << 20;  // 16 MiB each
  const bp::Tensor one = bp::ones({count}, bp::f32, card_);
  const bp::Stream first(card_), second(card_);
  for (int round = 0; round < 50; ++round) {
    const bp::StreamGuard guard(round % 2 ? second : first);
    const bp::Tensor two = bp::add(one, one);
    const bp::Tensor three = bp::add(two, one);
    if (round % 10 == 0) {
      EXPECT_EQ(values(bp::sum(three))[0], 3.0f * count) << round;
    }
  }
  bp::synchronize(card_);
  const bp::MemoryStatistics now = bp::memory_statistics(card_);
  EXPECT_LT(now.reserved_bytes, std::uint64_t{80} << 20) << "the allocator kept what went";
  EXPECT_GE(now.num_backend_allocations, 100u);
}

}  // namespace

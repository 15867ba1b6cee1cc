// needs: level_zero
// Streams and events of the Level Zero backend.
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "backends/level_zero/direct_device.hpp"

namespace {

class LevelZeroQueue : public direct::LevelZero {
 protected:
  // Busy for about a tenth of a second.
  void keep_busy(bp_stream* stream) {
    if (module_ == nullptr) {
      module_ = on().compile(direct::spin);
      function_ = on().find(module_, "spin");
      scratch_ = on().upload(std::vector<uint32_t>(1, 1));
    }
    const uint64_t rounds = 60'000'000;
    EXPECT_EQ(on().launch(function_, 1, {on().argument(scratch_), on().argument(&rounds)}, stream),
              BP_OK)
        << fake::Host::last_message();
  }
  void TearDown() override {
    if (module_ != nullptr) {
      on().release(module_);
      device().release(scratch_);
    }
    LevelZero::TearDown();
  }

 private:
  bp_module* module_ = nullptr;
  bp_function* function_ = nullptr;
  bp_handle scratch_ = 0;
};

TEST_P(LevelZeroQueue, copies_and_launches_return_before_the_work_is_done) {
  BP_SKIP_WITHOUT_A_TOOL_CHAIN();
  bp_stream* stream = on().make_stream();
  EXPECT_EQ(device().queue().query_stream(device().get(), stream), BP_OK);
  int32_t value = 41, got = 0;
  const bp_handle handle = device().allocate(4);
  keep_busy(stream);
  ASSERT_EQ(device().from_host(handle, &value, 4, stream), BP_OK);
  ASSERT_EQ(device().to_host(&got, handle, 4, stream), BP_OK);
  EXPECT_EQ(device().queue().query_stream(device().get(), stream), BP_RETRY);
  ASSERT_EQ(device().synchronize(stream), BP_OK);
  EXPECT_EQ(got, 41);
  EXPECT_EQ(device().queue().query_stream(device().get(), stream), BP_OK);
  device().release(handle);
  on().destroy(stream);
}

TEST_P(LevelZeroQueue, a_synchronized_stream_is_idle_at_once) {
  bp_stream* stream = on().make_stream();
  const bp_handle handle = device().allocate(4);
  int32_t value = 41;
  for (int i = 0; i < 200; ++i) {
    ASSERT_EQ(device().from_host(handle, &value, 4, stream), BP_OK);
    ASSERT_EQ(device().synchronize(stream), BP_OK);
    ASSERT_EQ(device().queue().query_stream(device().get(), stream), BP_OK) << i;
  }
  device().release(handle);
  on().destroy(stream);
}

TEST_P(LevelZeroQueue, a_query_alone_sees_the_end) {
  BP_SKIP_WITHOUT_A_TOOL_CHAIN();
  bp_stream* stream = on().make_stream();
  keep_busy(stream);
  bp_code code = BP_RETRY;
  for (int i = 0; i < 10'000 && code == BP_RETRY; ++i) {
    code = device().queue().query_stream(device().get(), stream);
    if (code == BP_RETRY) usleep(1000);
  }
  EXPECT_EQ(code, BP_OK);
  on().destroy(stream);
}

TEST_P(LevelZeroQueue, an_event_orders_two_streams) {
  BP_SKIP_WITHOUT_A_TOOL_CHAIN();
  bp_stream *writer = on().make_stream(), *reader = on().make_stream();
  bp_event* written = on().make_event();
  EXPECT_EQ(device().queue().query_event(device().get(), written), BP_OK);  // never recorded
  EXPECT_EQ(device().queue().synchronize_event(device().get(), written), BP_OK);
  int32_t value = 41, got = 0;
  const bp_handle handle = on().upload(std::vector<int32_t>{1});
  keep_busy(writer);
  ASSERT_EQ(device().from_host(handle, &value, 4, writer), BP_OK);
  ASSERT_EQ(device().queue().record_event(device().get(), written, writer), BP_OK);
  ASSERT_EQ(device().queue().wait_event(device().get(), reader, written), BP_OK);
  ASSERT_EQ(device().to_host(&got, handle, 4, reader), BP_OK);
  EXPECT_EQ(device().queue().query_event(device().get(), written), BP_RETRY);
  ASSERT_EQ(device().synchronize(reader), BP_OK);
  EXPECT_EQ(got, 41);
  EXPECT_EQ(device().queue().query_event(device().get(), written), BP_OK);
  EXPECT_EQ(device().queue().synchronize_event(device().get(), written), BP_OK);
  on().destroy(written);
  device().release(handle);
  ASSERT_EQ(device().synchronize(writer), BP_OK);
  on().destroy(writer);
  on().destroy(reader);
}

TEST_P(LevelZeroQueue, measures_the_work_between_events) {
  BP_SKIP_WITHOUT_A_TOOL_CHAIN();
  bp_event *start = on().make_event(), *end = on().make_event();
  double ns = 0;
  EXPECT_EQ(device().queue().elapsed(device().get(), start, end, &ns), BP_BAD_ARGUMENT);
  ASSERT_EQ(device().queue().record_event(device().get(), start, nullptr), BP_OK);
  keep_busy(nullptr);
  ASSERT_EQ(device().queue().record_event(device().get(), end, nullptr), BP_OK);
  ASSERT_EQ(device().synchronize(), BP_OK);
  ASSERT_EQ(device().queue().elapsed(device().get(), start, end, &ns), BP_OK);
  EXPECT_GE(ns, 1e6);
  EXPECT_LT(ns, 60e9);
  on().destroy(start);
  on().destroy(end);
}

TEST_P(LevelZeroQueue, serves_eight_threads_on_eight_streams) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([this, t] {
      bp_stream* stream = on().make_stream();
      for (int i = 0; i < 20; ++i) {
        const bp_handle handle = device().allocate(256);
        std::vector<int> sent(64, t * 1000 + i), got(64);
        EXPECT_EQ(device().from_host(handle, sent.data(), 256, stream), BP_OK);
        EXPECT_EQ(device().to_host(got.data(), handle, 256, stream), BP_OK);
        EXPECT_EQ(device().synchronize(stream), BP_OK);
        EXPECT_EQ(got, sent);
        device().release(handle);
      }
      on().destroy(stream);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_P(LevelZeroQueue, a_forked_child_is_told_so) {
  const bp_handle handle = device().allocate(8);
  const pid_t child = fork();
  if (child == 0) {
    char bytes[8] = {};
    bp_handle other = 0;
    const bool told = device().synchronize() == BP_DEVICE_LOST &&
                      fake::Host::last_message().find("fork") != std::string::npos &&
                      device().from_host(handle, bytes, 8) == BP_DEVICE_LOST &&
                      device().queue().query_stream(device().get(), nullptr) == BP_DEVICE_LOST &&
                      on().memory().allocate(device().get(), 8, 64, &other) == BP_DEVICE_LOST;
    _exit(told ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  device().release(handle);
}

// Each record takes a fresh place, and a wait keeps the one that it waits for.
TEST_P(LevelZeroQueue, an_event_moves_on_while_streams_still_wait_for_where_it_was) {
  bp_stream *writer = on().make_stream(), *reader = on().make_stream();
  bp_event* written = on().make_event();
  const bp_handle handle = on().upload(std::vector<int32_t>{0});
  std::vector<int32_t> sent(300), got(300);
  for (int i = 0; i < 300; ++i) {
    const auto place = static_cast<size_t>(i);
    sent[place] = i;
    ASSERT_EQ(device().from_host(handle, &sent[place], 4, writer), BP_OK);
    ASSERT_EQ(device().queue().record_event(device().get(), written, writer), BP_OK);
    ASSERT_EQ(device().queue().wait_event(device().get(), reader, written), BP_OK);
    ASSERT_EQ(device().to_host(&got[place], handle, 4, reader), BP_OK);
    ASSERT_EQ(device().queue().record_event(device().get(), written, reader), BP_OK);
    ASSERT_EQ(device().queue().wait_event(device().get(), writer, written), BP_OK);
  }
  ASSERT_EQ(device().synchronize(reader), BP_OK);
  EXPECT_EQ(got, sent);
  ASSERT_EQ(device().synchronize(writer), BP_OK);
  on().destroy(written);
  device().release(handle);
  on().destroy(writer);
  on().destroy(reader);
}

TEST_P(LevelZeroQueue, urgent_streams_are_streams) {
  for (const int32_t priority : {-1, 0, 1}) {
    bp_stream* stream = nullptr;
    ASSERT_EQ(device().queue().create_stream(device().get(), priority, &stream), BP_OK)
        << fake::Host::last_message();
    EXPECT_EQ(device().synchronize(stream), BP_OK);
    on().destroy(stream);
  }
}

BP_BOTH_KINDS_OF_LISTS(LevelZeroQueue);

}  // namespace

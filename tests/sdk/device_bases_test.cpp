// What plugin/ offers to backends beside plugin.hpp, without any device: copies in pieces, fills, launches, recordings,
// streams, batches.
#include <cstring>
#include <functional>
#include <gmock/gmock.h>
#include <map>
#include <numeric>
#include <thread>
#include <vector>

#include <backplane/plugin.hpp>
#include <backplane/plugin/batches.hpp>
#include <backplane/plugin/binaries.hpp>
#include <backplane/plugin/capture.hpp>
#include <backplane/plugin/compiler.hpp>
#include <backplane/plugin/discovery.hpp>
#include <backplane/plugin/fills.hpp>
#include <backplane/plugin/interop.hpp>
#include <backplane/plugin/kernel_instances.hpp>
#include <backplane/plugin/launch_limits.hpp>
#include <backplane/plugin/peer.hpp>
#include <backplane/plugin/staging.hpp>
#include <backplane/plugin/streams.hpp>

#include "sdk/fake_host.hpp"

namespace {

// Errors go to a host.
class DeviceBases : public testing::Test {
 protected:
  DeviceBases() { bp::detail::the_host = &host_.table; }
  ~DeviceBases() override { bp::detail::the_host = nullptr; }

 private:
  fake::Host host_;
};

// ---- Staging -----------------------------------------------------------------------------------------

struct Piece {
  char* address = nullptr;
  std::function<void()> pending;  // the copy that the device has not made yet
};
using Copies = bp::StagedCopies<Piece>;

// A device that does nothing before it is waited for.
class LazyDevice {
 public:
  explicit LazyDevice(size_t bytes) : memory(bytes) {
    for (size_t i = 0; i < 2; ++i) {
      pinned_[i].resize(Copies::piece_bytes);
      copies.pieces[i].address = pinned_[i].data();
    }
  }

  bp::Status write(const std::vector<char>& from) {
    return copies.write(from.data(), from.size(), wait, [&](Piece& piece, uint64_t at, uint64_t n) {
      return give(piece, [this, &piece, at, n] { std::memcpy(&memory[at], piece.address, n); });
    });
  }
  bp::Status read(std::vector<char>& to) {
    return copies.read(to.data(), to.size(), wait, [&](Piece& piece, uint64_t at, uint64_t n) {
      return give(piece, [this, &piece, at, n] { std::memcpy(piece.address, &memory[at], n); });
    });
  }
  void finish() {
    for (Piece& piece : copies.pieces) (void)wait(piece);
  }

  std::vector<char> memory;
  Copies copies;
  int num_given = 0, fails_at = -1;

 private:
  static bp::Status wait(Piece& piece) {
    if (piece.pending) std::exchange(piece.pending, nullptr)();
    return bp::ok;
  }
  bp::Status give(Piece& piece, std::function<void()> copy) {
    if (num_given++ == fails_at) return bp::device_lost("the device is gone");
    EXPECT_FALSE(piece.pending) << "a piece was given that is still in use";
    piece.pending = std::move(copy);
    return bp::ok;
  }

  std::vector<char> pinned_[2];
};

std::vector<char> many_bytes(size_t count) {
  std::vector<char> bytes(count);
  uint32_t state = 1;
  for (char& byte : bytes) byte = static_cast<char>((state = state * 1664525u + 1013904223u) >> 24);
  return bytes;
}

TEST_F(DeviceBases, staged_copies_arrive_whole_in_both_directions) {
  for (const size_t bytes :
       {size_t{1}, size_t{Copies::piece_bytes}, size_t{Copies::piece_bytes + 1},
        size_t{5 * Copies::piece_bytes - 7}}) {
    const std::vector<char> sent = many_bytes(bytes);
    LazyDevice device(bytes);
    ASSERT_TRUE(device.write(sent).is_ok());
    device.finish();
    EXPECT_TRUE(device.memory == sent) << bytes;
    std::vector<char> got(bytes);
    ASSERT_TRUE(device.read(got).is_ok());
    EXPECT_TRUE(got == sent) << bytes;
  }
}

TEST_F(DeviceBases, a_staged_copy_ends_with_the_first_failure) {
  const std::vector<char> sent = many_bytes(4 * Copies::piece_bytes);
  LazyDevice device(sent.size());
  device.fails_at = 1;
  EXPECT_EQ(device.write(sent).code(), BP_DEVICE_LOST);
  EXPECT_EQ(device.num_given, 2);
}

// ---- Fills -------------------------------------------------------------------------------------------

TEST_F(DeviceBases, a_fill_by_copies_repeats_the_pattern_over_its_pieces) {
  std::vector<char> filled(300'001);
  int num_copies = 0, num_waits = 0;
  const auto copy = [&](uint64_t at, const void* from, uint64_t bytes) {
    std::memcpy(&filled[at], from, bytes);
    ++num_copies;
    return bp::Status(bp::ok);
  };
  const auto wait = [&] {
    ++num_waits;
    return bp::Status(bp::ok);
  };
  ASSERT_TRUE(bp::fill_by_copies(filled.size(), "abcd", 4, copy, wait).is_ok());
  for (size_t i = 0; i < filled.size(); ++i) ASSERT_EQ(filled[i], "abcd"[i % 4]) << i;
  EXPECT_EQ(num_copies, 2);
  EXPECT_EQ(num_waits, 1);
}

TEST_F(DeviceBases, a_fill_that_fails_still_waits_for_what_it_gave) {
  int num_waits = 0;
  const bp::Status status = bp::fill_by_copies(
      300'000, "ab", 2,
      [&](uint64_t at, const void*, uint64_t) {
        return at == 0 ? bp::Status(bp::ok) : bp::device_lost("gone");
      },
      [&] {
        ++num_waits;
        return bp::Status(bp::ok);
      });
  EXPECT_EQ(status.code(), BP_DEVICE_LOST);
  EXPECT_EQ(num_waits, 1);
}

TEST_F(DeviceBases, patterns_are_powers_of_two_up_to_16_bytes) {
  for (const uint32_t bytes : {1u, 2u, 4u, 8u, 16u}) EXPECT_TRUE(bp::check_pattern(bytes).is_ok());
  for (const uint32_t bytes : {0u, 3u, 6u, 32u})
    EXPECT_EQ(bp::check_pattern(bytes).code(), BP_BAD_ARGUMENT) << bytes;
  EXPECT_EQ(fake::Host::last_message(),
            "fill: a pattern of 32 bytes; 1, 2, 4, 8 or 16 are possible");
}

// ---- Launches ----------------------------------------------------------------------------------------

bp_launch launch_of(uint64_t groups, uint64_t items, uint32_t num_arguments = 0) {
  bp_launch launch{};
  launch.groups[0] = groups;
  launch.items[0] = items;
  launch.groups[1] = launch.groups[2] = launch.items[1] = launch.items[2] = 1;
  launch.num_arguments = num_arguments;
  return launch;
}

std::string refusal(const bp::LaunchLimits& limits, const bp_launch& launch) {
  if (limits.takes(launch, 2)) return "taken";
  EXPECT_EQ(limits.refuse("k", launch, 2).code(), BP_BAD_ARGUMENT);
  return fake::Host::last_message();
}

TEST_F(DeviceBases, a_launch_is_refused_with_the_first_limit_that_it_breaks) {
  bp::LaunchLimits limits;
  std::fill_n(limits.items, 3, 64);
  limits.all_items = 100;
  limits.groups[1] = 7;
  EXPECT_EQ(refusal(limits, launch_of(UINT64_MAX - 1, 64, 2)), "taken");
  EXPECT_EQ(refusal(limits, launch_of(0, 1, 2)), "k: 0 groups of 1 work-items along dimension 0");
  EXPECT_EQ(refusal(limits, launch_of(1, 0, 2)), "k: 1 groups of 0 work-items along dimension 0");
  EXPECT_EQ(refusal(limits, launch_of(1, 65, 2)),
            "k: a group of 65 work-items along dimension 0; this device takes 64");
  EXPECT_EQ(refusal(limits, launch_of(1, 1, 3)), "k: launched with 3 arguments, and it has 2");
  bp_launch launch = launch_of(1, 64, 2);
  launch.items[2] = 2;
  EXPECT_EQ(refusal(limits, launch),
            "k: a group of 128 work-items; this kernel takes at most 100 on this device");
  launch = launch_of(1, 1, 2);
  launch.groups[1] = 8;
  EXPECT_EQ(refusal(limits, launch), "k: 8 groups along dimension 1; this device takes 7");
}

TEST_F(DeviceBases, a_kernel_that_needs_more_local_memory_than_there_is_is_unsupported) {
  bp::LaunchLimits limits;
  limits.local_memory = 100;
  EXPECT_TRUE(limits.check_local_memory("k", 100).is_ok());
  EXPECT_EQ(limits.check_local_memory("k", 101).code(), BP_UNSUPPORTED);
  EXPECT_EQ(fake::Host::last_message(),
            "k: it needs 101 bytes of local memory for a group, and the device has 100");
}

using Instance = bp::KernelInstance<int>;

bp_launch_argument memory_argument(bp_handle handle) {
  bp_launch_argument made{BP_LAUNCH_MEMORY, 0, {}};
  made.u.handle = handle;
  return made;
}
bp_launch_argument value_argument(const int32_t& value) {
  bp_launch_argument made{BP_LAUNCH_BYTES, sizeof value, {}};
  made.u.bytes = &value;
  return made;
}

// Which arguments a launch gives to the driver: "01", or the message that refuses it.
std::string set_by(Instance& instance, std::vector<bp_launch_argument> arguments,
                   uint64_t generation = 1, uint32_t refused = 99) {
  bp_launch launch{};
  launch.arguments = arguments.data();
  std::string set;
  const bp::Status status = instance.set_arguments("k", launch, generation,
                                                   [&](uint32_t index, const bp_launch_argument&) {
                                                     if (index == refused)
                                                       return std::string("DRIVER_SAYS_NO");
                                                     set += static_cast<char>('0' + index);
                                                     return std::string();
                                                   });
  return status.is_ok() ? set : fake::Host::last_message();
}

TEST_F(DeviceBases, only_arguments_that_changed_are_set) {
  Instance instance(0, 2);
  const int32_t one = 1, another_one = 1, two = 2;
  EXPECT_EQ(set_by(instance, {memory_argument(8), value_argument(one)}), "01");
  EXPECT_EQ(set_by(instance, {memory_argument(8), value_argument(another_one)}), "");
  EXPECT_EQ(set_by(instance, {memory_argument(8), value_argument(two)}), "1");
  EXPECT_EQ(set_by(instance, {memory_argument(9), value_argument(two)}), "0");
  // The handle may be another allocation's by now.
  EXPECT_EQ(set_by(instance, {memory_argument(9), value_argument(two)}, 2), "0");
}

TEST_F(DeviceBases, an_argument_that_was_refused_is_set_again) {
  Instance instance(0, 2);
  const int32_t one = 1;
  const std::vector<bp_launch_argument> arguments{memory_argument(8), value_argument(one)};
  EXPECT_EQ(set_by(instance, arguments, 1, 1),
            "k: argument 1, of 4 bytes, does not suit the kernel: DRIVER_SAYS_NO");
  EXPECT_EQ(set_by(instance, arguments), "1");
  EXPECT_EQ(set_by(instance, {memory_argument(8), bp_launch_argument{}}),
            "k: argument 1, of 0 bytes, does not suit the kernel: neither memory nor bytes");
}

TEST_F(DeviceBases, each_thread_takes_an_instance_of_its_own_until_there_are_enough) {
  bp::KernelInstances<Instance> instances;
  instances.add_first(std::make_unique<Instance>(0, 0));
  int num_made = 0;
  const auto make = [&]() -> std::unique_ptr<Instance> {
    if (num_made == 2) return nullptr;
    return std::make_unique<Instance>(++num_made, 0);
  };
  Instance& first = instances.take(make);
  Instance& second = instances.take(make);
  Instance& third = instances.take(make);
  EXPECT_EQ(first.kernel + second.kernel + third.kernel, 0 + 1 + 2);
  // None is left and none can be made: it waits for the first.
  std::thread waits([&] { instances.take(make).mutex.unlock(); });
  first.mutex.unlock();
  waits.join();
  second.mutex.unlock();
  EXPECT_EQ(&instances.take(make), &first);
  first.mutex.unlock();
  third.mutex.unlock();
}

// ---- A backend whose streams record ------------------------------------------------------------------

struct Line {
  bp::Status synchronize() { return bp::refuse_in_recording(recording, "synchronize"); }
  bp::Status query() { return bp::Status::from_host(BP_RETRY); }
  bool is_recording() const { return recording; }

  bool recording = false;
  int num_replays = 0;
};

struct Point {
  bp::Status record(Line& line) {
    on = &line;
    return bp::ok;
  }
  bp::Status make_wait(Line&) { return bp::ok; }
  bp::Status query() { return bp::ok; }
  bp::Status synchronize() { return bp::ok; }
  static bp::Result<double> elapsed(Point& start, Point& end) {
    return start.on == end.on ? 1.0 : 2.0;
  }
  Line* on = nullptr;
};

struct Recorder : bp::StreamBackend<Recorder, Line, Point> {
  bp::Result<bp::Handle> allocate(uint64_t, uint64_t) { return bp::Handle{1}; }
  void release(bp::Handle) {}
  bp::Status copy(bp::Region, bp::Region, bp::Direction, Line*) { return bp::ok; }
  bp::Result<Line*> create_stream(int32_t) { return new Line; }
  bp::Result<Point*> create_event() { return new Point; }
  Line& default_queue() { return line; }
  Line line;
};

struct Graph {
  static inline int alive = 0;
  Graph() { ++alive; }
  ~Graph() { --alive; }
  static bp::Status begin(Recorder&, Line& line) {
    line.recording = true;
    return bp::ok;
  }
  static bp::Result<std::unique_ptr<Graph>> end(Recorder&, Line& line, bool keep) {
    line.recording = false;
    if (!keep) return bp::ok;
    return std::make_unique<Graph>();
  }
  bp::Status replay(Line& line) {
    ++line.num_replays;
    return bp::ok;
  }
};

TEST_F(DeviceBases, a_null_stream_is_the_default_one_and_events_know_theirs) {
  constexpr bp_queue queue = bp::detail::queue_of<Recorder>();
  Recorder recorder;
  auto* device = reinterpret_cast<bp_device*>(&recorder);
  bp_stream* stream = nullptr;
  bp_event *start = nullptr, *end = nullptr;
  ASSERT_EQ(queue.create_stream(device, 0, &stream), BP_OK);
  ASSERT_EQ(queue.create_event(device, &start), BP_OK);
  ASSERT_EQ(queue.create_event(device, &end), BP_OK);
  EXPECT_EQ(queue.query_stream(device, stream), BP_RETRY);
  EXPECT_EQ(queue.record_event(device, start, nullptr), BP_OK);
  EXPECT_EQ(reinterpret_cast<Point*>(start)->on, &recorder.line);
  EXPECT_EQ(queue.record_event(device, end, stream), BP_OK);
  double ns = 0;
  EXPECT_EQ(queue.elapsed(device, start, end, &ns), BP_OK);
  EXPECT_EQ(ns, 2.0);
  queue.destroy_event(device, start);
  queue.destroy_event(device, end);
  queue.destroy_stream(device, stream);
}

TEST_F(DeviceBases, recordings_begin_and_end_in_turn) {
  constexpr bp_capture capture = bp::capture_of<Recorder, Graph>();
  Recorder recorder;
  auto* device = reinterpret_cast<bp_device*>(&recorder);
  bp_graph* graph = nullptr;
  EXPECT_EQ(capture.end(device, nullptr, &graph), BP_BAD_ARGUMENT);
  EXPECT_EQ(fake::Host::last_message(), "capture: this stream records nothing; begin first");
  ASSERT_EQ(capture.begin(device, nullptr), BP_OK);
  EXPECT_EQ(capture.begin(device, nullptr), BP_BAD_ARGUMENT);
  EXPECT_EQ(fake::Host::last_message(),
            "capture: this stream records already; end that recording first");
  EXPECT_EQ(recorder.synchronize(nullptr).code(), BP_UNSUPPORTED);
  EXPECT_EQ(fake::Host::last_message(),
            "synchronize: this stream records its work, and a recording cannot hold that");
  ASSERT_EQ(capture.end(device, nullptr, nullptr), BP_OK);  // dropped
  EXPECT_EQ(Graph::alive, 0);
  ASSERT_EQ(capture.begin(device, nullptr), BP_OK);
  ASSERT_EQ(capture.end(device, nullptr, &graph), BP_OK);
  EXPECT_EQ(Graph::alive, 1);
  EXPECT_EQ(capture.replay(device, graph, nullptr), BP_OK);
  EXPECT_EQ(recorder.line.num_replays, 1);
  capture.release(device, graph);
  EXPECT_EQ(Graph::alive, 0);
}

// ---- Devices that were found, binaries, kinds of handles ----------------------------------------------

int num_looks = 0;
bp::FoundDevices<int> look() {
  ++num_looks;
  return {{10, 11}, ""};
}

TEST_F(DeviceBases, devices_that_were_found_are_looked_for_once) {
  EXPECT_EQ(bp::found_once<look>().at("acme", 1), 11);
  EXPECT_EQ(bp::found_once<look>().count(), 2u);
  EXPECT_EQ(num_looks, 1);
  EXPECT_TRUE(bp::found_once<look>().probe().is_ok());
  EXPECT_THROW((void)bp::found_once<look>().at("acme", 2), bp::Failure);
  EXPECT_EQ(fake::Host::last_message(), "there is no acme:2; the drivers here offer 2 devices");
  const bp::FoundDevices<int> none{{}, "no driver is installed"};
  EXPECT_EQ(none.probe().code(), BP_UNSUPPORTED);
  EXPECT_EQ(fake::Host::last_message(), "no driver is installed");
}

TEST_F(DeviceBases, a_kind_of_handle_that_nobody_knows_is_told) {
  EXPECT_TRUE(bp::is_kind("acme.queue", "acme.queue"));
  EXPECT_FALSE(bp::is_kind(nullptr, "acme.queue"));
  EXPECT_EQ(bp::unknown_kind("stream", nullptr).code(), BP_BAD_ARGUMENT);
  EXPECT_EQ(fake::Host::last_message(),
            "interop: a stream of kind '(none)', which this backend does not know");
}

TEST_F(DeviceBases, a_shape_that_is_asked_for_replaces_the_devices_own) {
  const char* const name = "BP_TEST_SHAPE";
  EXPECT_EQ(bp::shape_asked_for(name, BP_SHAPE_CPU), BP_SHAPE_CPU);
  setenv(name, "gpu", 1);
  EXPECT_EQ(bp::shape_asked_for(name, BP_SHAPE_CPU), BP_SHAPE_GPU);
  setenv(name, "cpu", 1);
  EXPECT_EQ(bp::shape_asked_for(name, BP_SHAPE_GPU), BP_SHAPE_CPU);
  unsetenv(name);
  EXPECT_EQ(bp::dtypes_of_c(true, true) ^ bp::dtypes_of_c(false, false),
            1u << BP_F16 | 1u << BP_F64 | 1u << BP_COMPLEX128);
}

TEST_F(DeviceBases, bytes_that_are_no_binary_are_told_with_their_number) {
  EXPECT_TRUE(bp::given_binary(nullptr, 7).empty());
  EXPECT_EQ(bp::given_binary("code", 2), "co");
  EXPECT_EQ(bp::refuse_binary("add f32", 7).code(), BP_BAD_ARGUMENT);
  EXPECT_EQ(fake::Host::last_message(),
            "add f32: 7 bytes that are not a binary of this backend, or not all of it");
}

// ---- Batches -----------------------------------------------------------------------------------------

struct Shaped {
  Shaped(std::vector<int64_t> sizes, std::vector<int64_t> steps) : shape(sizes), strides(steps) {
    tensor.dl.ndim = static_cast<int32_t>(shape.size());
    tensor.dl.shape = shape.data();
    tensor.dl.strides = strides.data();
  }
  std::vector<int64_t> shape, strides;
  bp_tensor tensor{};
};

TEST_F(DeviceBases, batches_that_lie_behind_each_other_are_joined) {
  Shaped a({2, 3, 4, 5}, {60, 20, 5, 1}), b({2, 3, 5, 6}, {90, 30, 6, 1}),
      out({2, 3, 4, 6}, {72, 24, 6, 1});
  const bp::Batches batches(bp::Out(&out.tensor), bp::In(&a.tensor), bp::In(&b.tensor));
  EXPECT_EQ(batches.innermost().size, 6);
  EXPECT_EQ(batches.innermost().strides, (bp::Batches::Strides{20, 30, 24}));
  EXPECT_EQ(batches.count_outer(), 1);
}

TEST_F(DeviceBases, a_broadcast_batch_does_not_move) {
  Shaped a({2, 3, 4, 5}, {60, 20, 5, 1}), b({3, 5, 6}, {30, 6, 1}),
      out({2, 3, 4, 6}, {72, 24, 6, 1});
  const bp::Batches batches(bp::Out(&out.tensor), bp::In(&a.tensor), bp::In(&b.tensor));
  EXPECT_EQ(batches.innermost().size, 3);
  EXPECT_EQ(batches.innermost().strides, (bp::Batches::Strides{20, 30, 24}));
  ASSERT_EQ(batches.count_outer(), 2);
  EXPECT_EQ(batches.offsets_of(0), (bp::Batches::Strides{0, 0, 0}));
  EXPECT_EQ(batches.offsets_of(1), (bp::Batches::Strides{60, 0, 72}));
}

TEST_F(DeviceBases, matrices_alone_are_one_batch) {
  Shaped a({4, 5}, {5, 1}), b({5, 6}, {6, 1}), out({4, 6}, {6, 1});
  const bp::Batches batches(bp::Out(&out.tensor), bp::In(&a.tensor), bp::In(&b.tensor));
  EXPECT_EQ(batches.innermost().size, 1);
  EXPECT_EQ(batches.count_outer(), 1);
}

}  // namespace

// An application's context, queues and memory, and the maker's handles of ours.
#include <fmt/format.h>
#include <thread>

#include <backplane/runtime/capturing.hpp>
#include <backplane/runtime/dlpack.hpp>
#include <backplane/runtime/interop.hpp>

#include "dlpack_producer.hpp"
#include "fake_plugin.hpp"

namespace bp::test {
namespace {

// The fake device with bp.interop; its queues are FakeStreams, of which the test makes its own.
struct InteropPlugin : FakePlugin {
  static constexpr const char* device_kinds[] = {"acme.context", "acme.card", nullptr};
  static constexpr const char* stream_kinds[] = {"acme.queue", nullptr};
  static constexpr const char* event_kinds[] = {"acme.event", nullptr};
  static constexpr const char* memory_kinds[] = {"acme.buffer", nullptr};
  static constexpr std::uint64_t to_native = 1000;  // a buffer's number and its handle

  bp_interop table{};
  std::atomic<int> num_adopted{0}, num_forgotten{0}, memory_adopted{0}, memory_forgotten{0};
  std::atomic<bp_code> adopt_code{BP_OK};
  std::uint64_t adopted_bytes = 0;
  std::string opened_with;

  InteropPlugin() {
    make_asynchronous();
    plugin.extension = [](void* self, const char* name, std::uint32_t) -> const bp_header* {
      return std::strcmp(name, BP_INTEROP) == 0 ? &me(self).table.h : nullptr;
    };
    table.h = {sizeof table, BP_TYPE_EXTENSION, nullptr};
    table.device_kinds = device_kinds;
    table.stream_kinds = stream_kinds;
    table.event_kinds = event_kinds;
    table.memory_kinds = memory_kinds;
    table.device_handle = [](bp_device*, const char* kind, std::uint64_t* out) {
      return *out = std::strlen(kind), bp_code{BP_OK};
    };
    table.stream_handle = [](bp_device* device, bp_stream* stream, const char*,
                             std::uint64_t* out) {
      FakeStream* native = stream ? fake(stream) : &of(device).only_stream;
      return *out = reinterpret_cast<std::uint64_t>(native), bp_code{BP_OK};
    };
    table.event_handle = [](bp_device*, bp_event* event, const char*, std::uint64_t* out) {
      return *out = reinterpret_cast<std::uint64_t>(event), bp_code{BP_OK};
    };
    table.memory_handle = [](bp_device*, bp_handle handle, const char*, std::uint64_t* out) {
      return *out = handle + to_native, bp_code{BP_OK};
    };
    table.adopt_stream = adopt_stream;
    table.forget_stream = [](bp_device* device, bp_stream*) { ++me(device).num_forgotten; };
    table.adopt_memory = adopt_memory;
    table.forget_memory = [](bp_device* device, bp_handle) { ++me(device).memory_forgotten; };
    table.open = open_within;
  }
  static InteropPlugin& me(void* self) { return static_cast<InteropPlugin&>(of(self)); }
  static InteropPlugin& me(bp_device* device) { return static_cast<InteropPlugin&>(of(device)); }

  static bp_code adopt_stream(bp_device* device, const bp_native* queue, bp_stream** out) {
    if (me(device).adopt_code != BP_OK) return say(me(device).adopt_code, "not this card's");
    ++me(device).num_adopted;
    return *out = reinterpret_cast<bp_stream*>(queue->value), bp_code{BP_OK};
  }
  static bp_code adopt_memory(bp_device* device, const bp_native* memory, std::uint64_t bytes,
                              bp_handle* out) {
    if (me(device).adopt_code != BP_OK) return say(me(device).adopt_code, "not this card's");
    ++me(device).memory_adopted;
    me(device).adopted_bytes = bytes;
    return *out = memory->value - to_native, bp_code{BP_OK};
  }
  static bp_code open_within(void* self, std::uint32_t index, const bp_native* adopted,
                             std::uint32_t count, bp_device** out) {
    for (std::uint32_t i = 0; i < count; ++i)
      me(self).opened_with += fmt::format("{}={} ", adopted[i].kind, adopted[i].value);
    return open(self, index, out);
  }
};

struct Interop : testing::Test {
  Device device() {
    if (!registered) registered.emplace(acme);
    device_record(registered->device());
    return registered->device();
  }
  static NativeHandle handle_of(FakeStream& queue) {
    return {"acme.queue", reinterpret_cast<std::uint64_t>(&queue)};
  }
  // Given to a queue as the application does it.
  void give(FakeStream& queue, std::function<void()> work) {
    const std::lock_guard lock(acme.mutex);
    queue.work.push_back(std::move(work));
    ++queue.given;
  }
  void finish(FakeStream& queue) {
    const std::lock_guard lock(acme.mutex);
    FakePlugin::run(queue, ~0ull);
  }

  InteropPlugin acme;
  std::optional<Registered> registered;
};

// ---- Handles out ----

TEST_F(Interop, handles_come_out_by_kind_and_the_first_one_unasked) {
  const Stream stream(device());
  Event event(device());
  EXPECT_EQ(native_handle(device()).kind, "acme.context");
  EXPECT_EQ(native_handle(device(), "acme.card").value, 9u);
  EXPECT_EQ(native_handle(stream).value, reinterpret_cast<std::uint64_t>(&acme.stream_of(stream)));
  EXPECT_EQ(native_handle(event).kind, "acme.event");
  const Tensor tensor = empty_tensor({4}, f32, device());
  const NativeMemory memory = native_memory(tensor);
  EXPECT_EQ(memory.handle.value, tensor.impl()->storage->handle + InteropPlugin::to_native);
  EXPECT_EQ(memory.byte_offset, tensor.impl()->abi.dl.byte_offset);
  EXPECT_EQ(native_memory(empty_tensor({0}, f32, device())).handle.value, 0u);
  const NativeKinds kinds = native_kinds(device());
  EXPECT_EQ(kinds.device, (std::vector<std::string>{"acme.context", "acme.card"}));
  EXPECT_EQ(kinds.memory, std::vector<std::string>{"acme.buffer"});
}

TEST_F(Interop, a_kind_that_is_not_there_is_an_error_that_lists_those_that_are) {
  EXPECT_EQ(text_of([&] { native_handle(device(), "cuda.context"); }),
            "native_handle: acme:0 has no handle of kind 'cuda.context' for a device; there is "
            "acme.context, acme.card");
}

TEST_F(Interop, a_backend_without_the_extension_hands_out_addresses_alone) {
  FakePlugin plain("plain");
  const Registered only(plain);
  EXPECT_EQ(text_of([&] { native_handle(Stream(only.device())); }),
            "native_handle: plain:0 has no native handle for a stream; a plugin provides them with "
            "the extension 'bp.interop'");
  const Tensor tensor = empty_tensor({4}, f32, only.device());
  EXPECT_EQ(native_memory(tensor).handle.kind, BP_NATIVE_ADDRESS);
  EXPECT_EQ(native_memory(tensor).handle.value, reinterpret_cast<std::uint64_t>(tensor.data_ptr()));
  EXPECT_EQ(native_kinds(only.device()).memory, std::vector<std::string>{"address"});
  EXPECT_EQ(error_of([&] {
              adopt_stream(only.device(), {"acme.queue", 1});
            }).error_class(),
            ErrorClass::unsupported);
  EXPECT_EQ(error_of([&] {
              adopt_context(only.device(), {{"acme.context", 1}});
            }).error_class(),
            ErrorClass::unsupported);
}

TEST_F(Interop, a_table_of_an_older_header_is_one_with_less) {
  acme.table.h.size = offsetof(bp_interop, adopt_stream);
  EXPECT_EQ(native_handle(device()).value, 12u);
  EXPECT_EQ(error_of([&] {
              adopt_stream(device(), {{}, 1});
            }).error_class(),
            ErrorClass::unsupported);
}

// ---- The application's context ----

TEST_F(Interop, a_device_is_opened_within_what_the_application_gives) {
  registered.emplace(acme);
  adopt_context(registered->device(), {{"acme.card", 7}, {"acme.context", 8}});
  EXPECT_EQ(text_of([&] {
              adopt_context(registered->device(), {{"acme.moon", 7}});
            }),
            "adopt_context: acme:0 has no handle of kind 'acme.moon' for a device; there is "
            "acme.context, acme.card");
  device();
  EXPECT_EQ(acme.opened_with, "acme.card=7 acme.context=8 ");
  EXPECT_EQ(text_of([&] {
              adopt_context(device(), {{"acme.card", 7}});
            }),
            "adopt_context: acme:0 is open already; call it before the device's first use");
}

// ---- The application's queues ----

TEST_F(Interop, work_goes_to_the_applications_queue_and_its_end_is_waited_for) {
  device();
  auto queue = std::make_unique<FakeStream>();
  bool done = false;
  {
    const Stream stream = adopt_stream(device(), handle_of(*queue));
    const StreamGuard guard(stream);
    EXPECT_EQ(native_handle(Stream::current(device())).value,
              reinterpret_cast<std::uint64_t>(queue.get()));
    give(*queue, [&] { done = true; });
    EXPECT_FALSE(stream.query());
    EXPECT_EQ(acme.num_forgotten, 0);
  }
  EXPECT_TRUE(done);
  EXPECT_EQ(acme.num_forgotten, 1);
  queue.reset();
  synchronize(device());
}

TEST_F(Interop, one_queue_is_one_stream_however_often_it_is_adopted) {
  device();
  FakeStream queue, other;
  StreamImpl* impl = nullptr;
  {
    const Stream a = adopt_stream(device(), handle_of(queue));
    const Stream b = adopt_stream(device(), handle_of(queue));
    const Stream c = adopt_stream(device(), handle_of(other));
    EXPECT_EQ(a.impl(), b.impl());
    EXPECT_NE(a.impl(), c.impl());
    impl = c.impl();
  }
  EXPECT_EQ(acme.num_forgotten, acme.num_adopted);
  std::vector<StreamImpl*> impls;
  for (int i = 0; i < 10; ++i) impls.push_back(adopt_stream(device(), handle_of(queue)).impl());
  std::sort(impls.begin(), impls.end());
  impls.erase(std::unique(impls.begin(), impls.end()), impls.end());
  EXPECT_LE(impls.size(), 2u) << "each adoption left something behind";
  EXPECT_NE(impl, nullptr);
}

TEST_F(Interop, memory_outlives_the_queue_that_it_was_made_for) {
  device();
  auto queue = std::make_unique<FakeStream>();
  Tensor kept, shared = empty_tensor({1000}, f32, device());
  {
    const Stream stream = adopt_stream(device(), handle_of(*queue));
    record_stream(shared, stream);
    const StreamGuard guard(stream);
    kept = empty_tensor({1000}, f32, device());
  }
  queue.reset();
  kept = {};
  shared = {};
  // More than what the default stream had: it has inherited the rest.
  const int num_allocations = acme.num_allocations;
  std::vector<Tensor> tensors;
  for (int i = 0; i < 700; ++i) tensors.push_back(empty_tensor({1000}, f32, device()));
  EXPECT_EQ(acme.num_allocations, num_allocations);
}

// While the last holder waits for the queue's work, nobody else can hold the stream.
TEST_F(Interop, memory_in_use_by_a_queue_that_goes_is_given_to_nobody) {
  static std::atomic<bool> is_waiting, is_over;
  static FakeStream* going;
  static FakeStream
      queue;  // which the fake's events look at as long as they live: until the device is closed
  going = &queue;
  is_waiting = is_over = false;
  acme.queue.synchronize = [](bp_device* on, bp_stream* stream) {
    if (FakePlugin::fake(stream) == going && !is_waiting.exchange(true))
      while (!is_over) std::this_thread::yield();
    return FakePlugin::synchronize(on, stream);
  };
  const auto place_of = [](const Tensor& tensor) {
    return std::pair(tensor.impl()->storage->handle, tensor.impl()->abi.dl.byte_offset);
  };
  std::optional<Stream> stream = adopt_stream(device(), handle_of(queue));
  Tensor shared = empty_tensor({1 << 20}, f32, device());
  const auto place = place_of(shared);
  record_stream(shared, *stream);
  give(queue, [] {});
  std::thread last([&] { stream.reset(); });
  while (!is_waiting) std::this_thread::yield();
  shared = {};
  Tensor next = empty_tensor({1 << 20}, f32, device());
  EXPECT_NE(place_of(next), place);
  is_over = true;
  last.join();
  next = {};
  synchronize(device());
}

TEST_F(Interop, a_tensor_over_memory_outlives_the_queue_that_was_current) {
  device();
  auto queue = std::make_unique<FakeStream>();
  int deleted = 0;
  Tensor tensor;
  {
    const StreamGuard guard(adopt_stream(device(), handle_of(*queue)));
    tensor = tensor_from_memory(
        {"acme.buffer", 5000}, 0, {2}, {1}, f32, device(),
        [](void* count) { ++*static_cast<int*>(count); }, &deleted);
  }
  queue.reset();
  tensor = {};
  EXPECT_EQ(deleted, 1);
}

TEST_F(Interop, an_error_that_nobody_asked_for_comes_out_of_the_default_stream) {
  device();
  FakeStream queue;
  {
    const Stream stream = adopt_stream(device(), handle_of(queue));
    queue.late_error = BP_STREAM_LOST;
  }
  EXPECT_EQ(error_of([&] { Stream::default_of(device()).synchronize(); }).error_class(),
            ErrorClass::stream_lost);
}

TEST_F(Interop, a_graph_keeps_the_queue) {
  device();
  FakeStream queue;
  {
    std::optional<GraphMemory> memory;
    {
      const Stream stream = adopt_stream(device(), handle_of(queue));
      memory.emplace(*stream.impl());
    }
    EXPECT_EQ(acme.num_forgotten, 0);
  }
  EXPECT_EQ(acme.num_forgotten, 1);
}

TEST_F(Interop, a_queue_of_another_card_is_refused) {
  device();
  FakeStream queue;
  acme.adopt_code = BP_BAD_ARGUMENT;
  EXPECT_EQ(text_of([&] { adopt_stream(device(), handle_of(queue)); }),
            "adopt_stream: not this card's (plugin acme, device acme:0)");
  acme.adopt_code = BP_OK;
  EXPECT_EQ(text_of([&] {
              adopt_stream(device(), {"cuda.stream", 1});
            }),
            "adopt_stream: acme:0 has no handle of kind 'cuda.stream' for a stream; there is "
            "acme.queue");
  EXPECT_EQ(acme.num_adopted, 0);
}

TEST_F(Interop, a_backend_with_an_adopted_queue_is_not_unloaded) {
  device();
  FakeStream queue;
  const Stream stream = adopt_stream(device(), handle_of(queue));
  const std::string error = text_of([&] { unregister_backend(*registered->backend); });
  EXPECT_NE(error.find("1 stream of acme:0"), std::string::npos) << error;
}

TEST_F(Interop, threads_adopt_and_wait_at_once) {
  device();
  std::vector<FakeStream> queues(3);
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        const StreamGuard guard(adopt_stream(device(), handle_of(queues[(t + i) % 3])));
        const Tensor tensor = empty_tensor({1000}, f32, device());
        if (i % 10 == 0) synchronize(device());
      }
    });
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(acme.num_forgotten, acme.num_adopted);
}

// ---- One waits for the other ----

TEST_F(Interop, the_applications_queue_waits_for_a_stream_and_the_caller_does_not) {
  const Stream stream(device());
  FakeStream queue;
  std::string order;
  acme.give_work(stream, [&] { order += "ours "; });
  make_native_wait(stream, handle_of(queue));
  give(queue, [&] { order += "theirs "; });
  acme.give_work(stream, [&] { order += "later "; });
  EXPECT_EQ(order, "");
  finish(queue);
  EXPECT_EQ(order, "ours theirs ");
  EXPECT_EQ(acme.num_forgotten, 1);
  stream.synchronize();
}

TEST_F(Interop, a_stream_waits_for_the_applications_queue) {
  const Stream stream(device());
  FakeStream queue;
  std::string order;
  give(queue, [&] { order += "theirs "; });
  wait_for_native(stream, handle_of(queue));
  acme.give_work(stream, [&] { order += "ours "; });
  EXPECT_EQ(order, "");
  stream.synchronize();
  EXPECT_EQ(order, "theirs ours ");
}

TEST_F(Interop, a_consumer_of_dlpack_waits_for_the_current_stream) {
  const Tensor tensor = empty_tensor({4}, f32, device());
  FakeStream queue;
  std::string order;
  acme.give_work(Stream::current(device()), [&] { order += "ours "; });
  DlpackExport options;
  options.consumer_stream = handle_of(queue).value;
  DLManagedTensor* out = to_dlpack(tensor, options);
  give(queue, [&] { order += "theirs "; });
  finish(queue);
  EXPECT_EQ(order, "ours theirs ");
  const Managed& managed = *Managed::of(out);
  EXPECT_EQ(reinterpret_cast<std::uint64_t>(managed.tensor.data),
            tensor.impl()->storage->handle + InteropPlugin::to_native);
  EXPECT_EQ(managed.tensor.byte_offset, tensor.impl()->abi.dl.byte_offset);
  from_dlpack(out);
  acme.adopt_code = BP_BAD_ARGUMENT;
  EXPECT_NE(text_of([&] { to_dlpack(tensor, options); }).find("not this card's"),
            std::string::npos);
  EXPECT_EQ(tensor.impl()->refs.load(), 1u) << "the refused export holds the tensor";
}

TEST_F(Interop, where_the_device_cannot_wait_the_caller_does) {
  acme.table.adopt_stream = nullptr;
  acme.table.forget_stream = nullptr;
  const Stream stream(device());
  bool done = false;
  acme.give_work(stream, [&] { done = true; });
  make_native_wait(stream, {"acme.queue", 1});
  EXPECT_TRUE(done);
  EXPECT_THROW(wait_for_native(stream, {"acme.queue", 1}), Error);
}

// ---- The application's memory ----

TEST_F(Interop, memory_is_adopted_and_forgotten_but_never_released) {
  device();
  const int held = acme.num_held;
  std::string order;
  {
    const Tensor tensor = tensor_from_memory(
        {"acme.buffer", 5000}, 64, {2, 3}, {3, 1}, f32, device(),
        [](void* text) { *static_cast<std::string*>(text) += "deleted"; }, &order);
    EXPECT_EQ(tensor.impl()->abi.dl.byte_offset, 64u);
    EXPECT_EQ(tensor.storage_offset(), 0);
    EXPECT_EQ(acme.adopted_bytes, 64u + 24u);
    EXPECT_EQ(native_memory(tensor).handle.value, 5000u);
    EXPECT_EQ(native_memory(tensor).byte_offset, 64u);
    EXPECT_THROW(unregister_backend(*registered->backend), Error);
  }
  EXPECT_EQ(order, "") << "its stream has not been asked whether it is done";
  synchronize(device());
  EXPECT_EQ(order, "deleted");
  EXPECT_EQ(acme.memory_forgotten, 1);
  EXPECT_EQ(acme.num_held, held);
}

TEST_F(Interop, memory_that_the_device_refuses_stays_the_applications) {
  device();
  acme.adopt_code = BP_BAD_ARGUMENT;
  int deleted = 0;
  const auto adopt = [&](NativeHandle memory) {
    return tensor_from_memory(
        memory, 0, {2}, {1}, f32, device(), [](void* count) { ++*static_cast<int*>(count); },
        &deleted);
  };
  EXPECT_EQ(text_of([&] {
              adopt({"acme.buffer", 5000});
            }),
            "tensor_from_memory: not this card's (plugin acme, device acme:0)");
  EXPECT_EQ(text_of([&] {
              adopt({"acme.buffer", 0});
            }),
            "tensor_from_memory: the memory is null for shape [2]");
  EXPECT_EQ(text_of([&] {
              adopt({"address", 5000});
            }),
            "tensor_from_memory: acme:0 has no handle of kind 'address' for memory; there is "
            "acme.buffer");
  EXPECT_EQ(deleted, 0);
  EXPECT_EQ(num_live_storages(device()), 0);
}

TEST_F(Interop, dlpack_gives_buffers_by_the_devices_first_kind) {
  acme.edit_info = [](bp_device_info& info, std::uint32_t) { info.dl_device_type = 4; };
  device();
  Producer<Managed> theirs({1}, {2});
  theirs.managed.tensor.device = {4, 0};
  theirs.managed.tensor.data = reinterpret_cast<void*>(5000);
  theirs.managed.tensor.byte_offset = 8;
  {
    const Tensor tensor = from_dlpack(theirs.get());
    EXPECT_EQ(tensor.impl()->storage->handle, 5000 - InteropPlugin::to_native);
    EXPECT_EQ(acme.adopted_bytes, 16u);
  }
  synchronize(device());
  EXPECT_EQ(theirs.num_deleted, 1);
  EXPECT_EQ(acme.memory_forgotten, 1);
}

}  // namespace
}  // namespace bp::test

// The memories of a device: described, allocated in, counted, and given back, each for itself.
#include <thread>

#include <backplane/runtime/spaces.hpp>

#include "fake_plugin.hpp"

namespace bp::test {
namespace {

constexpr std::uint64_t kib = 1 << 10;
constexpr std::uint64_t sram_bytes = 64 * kib;

// Memory 1 is small and fast, memory 2 is seen by the host.
struct SpacesPlugin : FakePlugin {
  std::map<bp_handle, std::uint64_t> in_sram;
  bp_code describe_code = BP_OK;
  bool is_terminated = true;
  std::string sram_name = "sram";
  int num_described = 0;

  SpacesPlugin() {
    flags = BP_DEVICE_CAN_SUBALLOCATE | BP_DEVICE_SYNCHRONOUS;
    edit_info = [](bp_device_info& info, std::uint32_t) { info.num_spaces = 3; };
    memory.describe_space = describe_space;
    memory.allocate_in = allocate_in;
    memory.release = release_any;
  }

  static SpacesPlugin& mine(bp_device* device) { return static_cast<SpacesPlugin&>(of(device)); }

  std::uint64_t used() const {
    std::uint64_t sum = 0;
    for (const auto& [handle, bytes] : in_sram) sum += bytes;
    return sum;
  }
  static bp_code describe_space(bp_device* device, std::uint32_t space, bp_space_info* out) {
    SpacesPlugin& me = mine(device);
    ++me.num_described;
    if (me.describe_code != BP_OK) return me.fail(me.describe_code, "no idea");
    if (space > 2) return me.fail(BP_BAD_ARGUMENT, "no such space");
    EXPECT_GE(out->h.size, sizeof(bp_space_info));
    const char* names[] = {"hbm", me.sram_name.c_str(), "window"};
    std::strcpy(out->name, names[space]);
    if (!me.is_terminated) std::memset(out->name, 'x', sizeof out->name);
    out->flags = space == 1 ? BP_SPACE_FAST : space == 2 ? BP_SPACE_HOST_VISIBLE : 0;
    out->total_bytes = space == 1 ? sram_bytes : mib;
    out->free_bytes = out->total_bytes - (space == 1 ? me.used() : 0);
    return BP_OK;
  }
  static bp_code allocate_in(bp_device* device, std::uint32_t space, std::uint64_t bytes,
                             std::uint64_t alignment, bp_handle* out) {
    SpacesPlugin& me = mine(device);
    EXPECT_TRUE(space == 1 || space == 2);
    if (space == 1 && me.used() + bytes > sram_bytes) return me.fail(BP_OUT_OF_MEMORY, "full");
    const bp_code code = me.allocate_now(bytes, alignment, out);
    if (code == BP_OK && space == 1) me.in_sram[*out] = bytes;
    return code;
  }
  static void release_any(bp_device* device, bp_handle handle) {
    mine(device).in_sram.erase(handle);
    release(device, handle);
  }
};

struct Spaces : testing::Test {
  SpacesPlugin fake;
  std::optional<Registered> registered;
  Device device() {
    if (!registered) registered.emplace(fake);
    return registered->device();
  }
  Tensor in(std::uint32_t space, std::uint64_t bytes) {
    return empty_tensor_in(space, {static_cast<std::int64_t>(bytes)}, u8, device());
  }
};

TEST_F(Spaces, are_described_by_index) {
  const std::vector<MemorySpace> spaces = memory_spaces(device());
  ASSERT_EQ(spaces.size(), 3u);
  EXPECT_EQ(spaces[1].name, "sram");
  EXPECT_EQ(spaces[1].index, 1u);
  EXPECT_EQ(spaces[1].total_bytes, sram_bytes);
  EXPECT_EQ(spaces[1].free_bytes, sram_bytes);
  EXPECT_TRUE(spaces[1].is_fast);
  EXPECT_FALSE(spaces[1].is_host_visible);
  EXPECT_FALSE(spaces[2].is_fast);
  EXPECT_TRUE(spaces[2].is_host_visible);
  EXPECT_EQ(find_memory_space(device(), "window"), 2u);
  EXPECT_STREQ(error_of([&] { find_memory_space(device(), "l2"); }).what(),
               "find_memory_space: acme:0 has no 'l2'; it has 0 'hbm', 1 'sram', 2 'window'");
  const Tensor held = in(1, 4 * kib);
  EXPECT_EQ(memory_spaces(device())[1].free_bytes, sram_bytes - 4 * kib);
}

TEST_F(Spaces, of_a_device_that_says_nothing_are_one) {
  fake.memory.describe_space = nullptr;
  fake.memory.allocate_in = nullptr;
  fake.edit_info = nullptr;
  fake.total_memory = 5 * mib;
  const std::vector<MemorySpace> spaces = memory_spaces(device());
  ASSERT_EQ(spaces.size(), 1u);
  EXPECT_EQ(spaces[0].name, "device memory");
  EXPECT_EQ(spaces[0].total_bytes, 5 * mib);
  EXPECT_STREQ(error_of([&] { in(1, 4); }).what(),
               "allocate: acme:0 has no memory space 1; it has 0 'device memory'");
}

TEST_F(Spaces, hold_tensors_that_know_where_they_are) {
  const Tensor tensor = empty_tensor_in(1, {4, 8}, f32, device());
  EXPECT_EQ(memory_space_of(tensor), 1u);
  EXPECT_EQ(tensor.impl()->storage->space, 1u);
  EXPECT_TRUE(tensor.is_contiguous());
  EXPECT_EQ(memory_space_of(make_view(tensor, {8}, {1}, 8)), 1u);
  EXPECT_EQ(memory_space_of(empty_tensor({4}, f32, device())), 0u);
  const Tensor across = empty_strided_tensor_in(1, {4, 8}, {1, 4}, f32, device());
  EXPECT_FALSE(across.is_contiguous());
  EXPECT_EQ(memory_space_of(across), 1u);
}

TEST_F(Spaces, show_the_host_what_it_may_see) {
  EXPECT_NO_THROW(static_cast<unsigned char*>(in(2, 64).data_ptr())[63] = 1);
  EXPECT_EQ(error_of([&] { in(1, 64).data_ptr(); }).error_class(), ErrorClass::bad_argument);
  EXPECT_EQ(error_of([&] { in(0, 64).data_ptr(); }).error_class(), ErrorClass::bad_argument);
}

TEST_F(Spaces, are_cached_and_counted_apart) {
  in(1, 10 * kib);
  const int asked = fake.num_allocations;
  in(1, 10 * kib);
  EXPECT_EQ(fake.num_allocations, asked);
  const Tensor main = in(0, 8 * kib), small = in(1, 2 * kib);
  EXPECT_EQ(memory_statistics(device(), 1).allocated_bytes, 2 * kib);
  EXPECT_EQ(memory_statistics(device(), 1).reserved_bytes, 10 * kib);
  EXPECT_EQ(memory_statistics(device()).allocated_bytes, 8 * kib);
  EXPECT_EQ(num_live_storages(device()), 2);
  EXPECT_EQ(memory_snapshot(device(), 1).size(),
            2u);  // the tensor's, and what is left of its segment
  const std::uint64_t main_reserved = memory_statistics(device()).reserved_bytes;
  empty_cache(device(), 1);  // the tensor holds its segment
  EXPECT_EQ(memory_statistics(device(), 1).reserved_bytes, 10 * kib);
  EXPECT_EQ(memory_statistics(device()).reserved_bytes, main_reserved);
}

// What was freed in pieces must not stand in the way.
TEST_F(Spaces, that_are_small_are_used_to_their_end) {
  {
    std::vector<Tensor> pieces;
    for (int i = 0; i < 16; ++i) pieces.push_back(in(1, sram_bytes / 16));
  }
  EXPECT_NO_THROW(in(1, sram_bytes));
}

TEST_F(Spaces, that_are_full_are_named_with_what_they_hold) {
  const Tensor most = in(1, 60 * kib);
  const Error full = error_of([&] { in(1, 8 * kib); });
  EXPECT_EQ(full.error_class(), ErrorClass::out_of_memory);
  EXPECT_STREQ(
      full.what(),
      "acme:0 sram: out of memory: asked 8.00 KiB; held by tensors 60.00 KiB in 1 block "
      "(largest 60.00 KiB), cached 0 B; total 64.00 KiB; free tensors or move them to main "
      "memory with to_space() (plugin acme: full)");
  EXPECT_NO_THROW(in(1, 4 * kib));
  EXPECT_NO_THROW(in(0, 8 * kib));
  const int asked = fake.num_allocations;
  EXPECT_STREQ(
      error_of([&] { in(1, sram_bytes + 1); }).what(),
      "acme:0 sram: out of memory: asked 65537 bytes, but one allocation has at most 65536; "
      "use smaller tensors or main memory");
  EXPECT_EQ(fake.num_allocations, asked);
}

TEST_F(Spaces, take_a_limit_of_their_own) {
  set_memory_limit(device(), 16 * kib, 1);
  EXPECT_NO_THROW(in(0, mib));
  const Tensor held = in(1, 16 * kib);
  EXPECT_EQ(error_of([&] { in(1, kib); }).error_class(), ErrorClass::out_of_memory);
}

TEST_F(Spaces, hold_nothing_for_a_tensor_without_elements) {
  const Tensor empty = empty_tensor_in(1, {0, 4}, f32, device());
  EXPECT_EQ(memory_space_of(empty), 1u);
  EXPECT_EQ(memory_statistics(device(), 1).reserved_bytes, 0u);
  EXPECT_TRUE(resize_empty_tensor(empty, {4}));
  EXPECT_EQ(memory_space_of(empty), 1u);
  EXPECT_EQ(fake.in_sram.size(), 1u);
}

TEST_F(Spaces, keep_the_memory_of_other_streams_until_these_are_done) {
  fake.make_asynchronous();
  fake.memory.release = SpacesPlugin::release_any;
  const Stream other(device());
  std::optional<Tensor> tensor = in(1, 40 * kib);
  fake.give_work(other);
  record_stream(*tensor, other);
  tensor.reset();
  EXPECT_FALSE(other.query());
  EXPECT_NO_THROW(in(1, 40 * kib));  // there is no room for both: it waits for the other stream
  EXPECT_TRUE(other.query());
}

TEST_F(Spaces, of_a_plugin_that_cannot_describe_them_keep_the_device_closed) {
  fake.describe_code = BP_INTERNAL;
  const Error error = error_of([&] { in(0, 4); });
  EXPECT_EQ(error.error_class(), ErrorClass::internal);
  EXPECT_NE(std::string(error.what()).find("describe_space of space 1: no idea"), std::string::npos)
      << error.what();
  fake.describe_code = BP_OK;
  EXPECT_NO_THROW(in(1, 4));
}

TEST_F(Spaces, have_names_that_end_or_one_by_number) {
  fake.sram_name = "";
  EXPECT_EQ(memory_spaces(device())[1].name, "space 1");
  fake.is_terminated = false;
  EXPECT_EQ(error_of([&] { memory_spaces(device()); }).error_class(), ErrorClass::internal);
  fake.is_terminated = true;
}

TEST_F(Spaces, are_none_of_meta) {
  EXPECT_STREQ(error_of([] { memory_spaces(meta_device); }).what(),
               "memory_spaces: meta has no memory");
  EXPECT_EQ(error_of([] { empty_tensor_in(1, {2}, f32, meta_device); }).error_class(),
            ErrorClass::bad_argument);
}

}  // namespace
}  // namespace bp::test

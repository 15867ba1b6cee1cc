// needs: cpu
// The device cpu:0: what it says of itself, its memory, its threads.
#include <numeric>
#include <sched.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "direct_call.hpp"

namespace {

using namespace bp_test;

fake::Device& device() {
  return CpuPlugin::get().device();
}

TEST(CpuDevice, says_what_it_is) {
  const bp_plugin& plugin = CpuPlugin::get().plugin();
  uint32_t count = 0;
  ASSERT_EQ(plugin.devices(plugin.self, &count, nullptr), BP_OK);
  ASSERT_EQ(count, 1u);
  bp_device_info info{};
  info.h = {sizeof info, BP_TYPE_DEVICE_INFO, nullptr};
  ASSERT_EQ(plugin.devices(plugin.self, &count, &info), BP_OK);
  EXPECT_NE(std::string(info.name), "");
  EXPECT_EQ(info.dl_device_type, BP_DL_CPU);
  EXPECT_EQ(info.flags, BP_DEVICE_REAL_ADDRESSES | BP_DEVICE_HOST_READABLE |
                            BP_DEVICE_CAN_SUBALLOCATE | BP_DEVICE_SYNCHRONOUS);
  EXPECT_GT(info.total_memory, uint64_t{1} << 28);
}

TEST(CpuDevice, has_the_cores_that_the_process_may_use) {
  const bp_plugin& plugin = CpuPlugin::get().plugin();
  const auto num_cores = [&] {
    uint32_t count = 1;
    bp_device_info info{};
    info.h = {sizeof info, BP_TYPE_DEVICE_INFO, nullptr};
    EXPECT_EQ(plugin.devices(plugin.self, &count, &info), BP_OK);
    EXPECT_EQ(info.numa_node, -1);
    return info.num_cores;
  };
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  EXPECT_EQ(num_cores(), static_cast<uint32_t>(CPU_COUNT(&before)));
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(num_cores(), 1u);
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

TEST(CpuDevice, tells_how_much_memory_is_free) {
  bp_space_info info{};
  info.h = {sizeof info, BP_TYPE_SPACE_INFO, nullptr};
  const bp_memory& memory = *CpuPlugin::get().plugin().memory;
  ASSERT_EQ(memory.describe_space(device().get(), 0, &info), BP_OK);
  EXPECT_STREQ(info.name, "host");
  EXPECT_GT(info.free_bytes, 0u);
  EXPECT_LT(info.free_bytes, info.total_bytes);
  EXPECT_EQ(memory.describe_space(device().get(), 1, &info), BP_BAD_ARGUMENT);
}

TEST(CpuDevice, fills_only_what_an_older_host_knows) {
  const bp_plugin& plugin = CpuPlugin::get().plugin();
  uint32_t count = 1;
  bp_device_info info{};
  info.h = {offsetof(bp_device_info, total_memory), BP_TYPE_DEVICE_INFO, nullptr};
  ASSERT_EQ(plugin.devices(plugin.self, &count, &info), BP_OK);
  EXPECT_EQ(info.num_spaces, 1u);
  EXPECT_EQ(info.total_memory, 0u);
}

TEST(CpuDevice, aligns_small_and_large_blocks) {
  const bp_memory& memory = *CpuPlugin::get().plugin().memory;
  for (uint64_t bytes : {1ull, 100ull, 4096ull, (2ull << 20) - 1, 2ull << 20, (64ull << 20) + 5}) {
    for (uint64_t alignment : {0ull, 64ull, 4096ull, 4ull << 20}) {
      bp_handle handle = 0;
      ASSERT_EQ(memory.allocate(device().get(), bytes, alignment, &handle), BP_OK);
      EXPECT_EQ(handle % std::max<uint64_t>(alignment, 64), 0u);
      if (bytes >= 2ull << 20) {
        EXPECT_EQ(handle % (2ull << 20), 0u);
      }
      reinterpret_cast<char*>(handle)[0] = 1;
      reinterpret_cast<char*>(handle)[bytes - 1] = 1;
      device().release(handle);
    }
  }
}

TEST(CpuDevice, says_when_memory_is_out) {
  const bp_memory& memory = *CpuPlugin::get().plugin().memory;
  for (uint64_t bytes : {uint64_t{1} << 50, UINT64_MAX - 100}) {
    bp_handle handle = 7;
    EXPECT_EQ(memory.allocate(device().get(), bytes, 64, &handle), BP_OUT_OF_MEMORY);
    EXPECT_EQ(handle, 0u);
    EXPECT_EQ(fake::Host::last_message(), "cpu: no memory for " + std::to_string(bytes) + " bytes");
  }
}

TEST(CpuDevice, copies_every_size_at_any_alignment) {
  for (uint64_t bytes : {1ull, 4095ull, (1ull << 20) + 17, (17ull << 20) + 333}) {
    std::vector<unsigned char> from(bytes + 3);
    for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<unsigned char>(i * 31 + i / 251);
    std::vector<unsigned char> to(bytes + 9, 0xee);
    ASSERT_EQ(device().copy({reinterpret_cast<bp_handle>(to.data()), 5, bytes},
                            {reinterpret_cast<bp_handle>(from.data()), 3, bytes}, BP_COPY_WITHIN),
              BP_OK);
    EXPECT_TRUE(std::equal(from.begin() + 3, from.end(), to.begin() + 5)) << bytes;
    EXPECT_EQ(to[4], 0xee);
    EXPECT_EQ(to[bytes + 5], 0xee);
  }
}

TEST(CpuDevice, fills_every_size_with_every_pattern) {
  const bp_memory& memory = *CpuPlugin::get().plugin().memory;
  unsigned char pattern[16];
  std::iota(pattern, pattern + 16, static_cast<unsigned char>(1));
  for (uint32_t size : {1u, 2u, 4u, 8u, 16u}) {
    for (uint64_t count : {1ull, 33ull, (1ull << 20) + 1, (17ull << 20) / size + 3}) {
      const uint64_t bytes = count * size;
      std::vector<unsigned char> to(bytes + 32, 0xee);
      const bp_region region{reinterpret_cast<bp_handle>(to.data()), 16, bytes};
      ASSERT_EQ(memory.fill(device().get(), &region, pattern, size, nullptr), BP_OK);
      uint64_t wrong = 0;
      for (uint64_t i = 0; i < bytes; ++i) wrong += to[16 + i] != pattern[i % size];
      EXPECT_EQ(wrong, 0u) << size << " x " << count;
      EXPECT_EQ(to[15], 0xee);
      EXPECT_EQ(to[16 + bytes], 0xee);
    }
  }
}

// libgomp's threads do not follow a fork: without care the child waits for them forever.
TEST(CpuDevice, works_in_a_child_of_fork) {
  Data a(BP_F32, {300, 300});
  Data b(BP_F32, {300, 300});
  Data out(BP_F32, {300, 300});
  run("full", {none(), value(1.0), none(), none()}, {&a});
  run("full", {none(), value(2.0), none(), none()}, {&b});
  run("matmul", {value(a), value(b)}, {&out});  // starts the pool
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    Data again(BP_F32, {300, 300});
    const bp_code code = CpuPlugin::get().run("matmul", {value(a), value(b)}, {&again});
    _exit(code == BP_OK && again.at<float>(89999) == 600.0f ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(CpuDevice, serves_several_threads_at_once) {
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (int round = 0; round < 20; ++round) {
        const int64_t k = 40 + thread;
        Data a(BP_F32, {64, k});
        Data b(BP_F32, {k, 64});
        Data out(BP_F32, {64, 64});
        run("full", {none(), value(1.0), none(), none()}, {&a});
        run("full", {none(), value(1.0), none(), none()}, {&b});
        run("matmul", {value(a), value(b)}, {&out});
        if (out.at<float>(round) == static_cast<float>(k)) ++right;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 80);
}

}  // namespace

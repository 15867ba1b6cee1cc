// What a backend with a compiler does, whatever its language: asked of a device, with a module that has the kernel
// axpb.
#pragma once

#include <algorithm>
#include <thread>

#include "backends/direct_device.hpp"

namespace direct {

inline void expect_axpb_works(DirectDevice& on, bp_function* function) {
  const bp_handle x = on.upload(std::vector<float>{9, 1, 2, 3}), y = on.opened().allocate(32);
  const AxpbValues values{4, 16, 10, 0.5f};
  ASSERT_EQ(on.launch(function, 3, {on.argument(x), on.argument(y), on.argument(&values)}), BP_OK)
      << fake::Host::last_message();
  const std::vector<float> got = on.download<float>(y, 7);
  EXPECT_EQ(std::vector<float>(got.begin() + 4, got.end()),
            (std::vector<float>{10.5f, 20.5f, 30.5f}));
  on.opened().release(x);
  on.opened().release(y);
}

inline void expect_no_more_described_than_the_caller_knows(DirectDevice& on) {
  bp_compiler_info info{};
  info.h = {offsetof(bp_compiler_info, max_group), BP_COMPILER_INFO_TYPE, nullptr};
  info.compute_units = 77;
  ASSERT_EQ(on.compiler().describe(on.opened().get(), &info), BP_OK);
  EXPECT_NE(info.identity, nullptr);
  EXPECT_EQ(info.compute_units, 77u);
}

// The module has the kernel place(memory), which writes to [3][2][4] of u64, for each work-item of as many, its place
// in its group along dimension 0, plus 10 times its group's number there, plus 100 times the work-items of dimension
// 2.
inline void expect_launches_over_three_dimensions(DirectDevice& on, bp_module* module) {
  const bp_handle out = on.opened().allocate(4 * 2 * 3 * 8);
  const bp_launch_argument arguments[] = {on.argument(out)};
  bp_launch made{};
  made.h = {sizeof made, BP_LAUNCH_TYPE, nullptr};
  made.function = on.find(module, "place");
  const uint64_t groups[] = {2, 2, 1}, items[] = {2, 1, 3};
  std::copy_n(groups, 3, made.groups);
  std::copy_n(items, 3, made.items);
  made.arguments = arguments;
  made.num_arguments = 1;
  ASSERT_EQ(on.compiler().launch(on.opened().get(), &made, nullptr), BP_OK);
  const std::vector<uint64_t> got = on.download<uint64_t>(out, 24);
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_EQ(got[i], i % 4 % 2 + 10 * (i % 4 / 2) + 300) << i;
  on.release(module);
  on.opened().release(out);
}

inline void expect_a_second_launch_sees_every_argument_that_changed(DirectDevice& on,
                                                                    bp_module* module) {
  bp_function* function = on.find(module, "axpb");
  const bp_handle x = on.upload(std::vector<float>{1, 2}), y = on.opened().allocate(64),
                  z = on.opened().allocate(64);
  AxpbValues values{0, 0, 1, 0};
  const auto launch = [&](bp_handle from, bp_handle to) {
    return on.launch(function, 2, {on.argument(from), on.argument(to), on.argument(&values)});
  };
  ASSERT_EQ(launch(x, y), BP_OK);
  values.shift = 5;
  ASSERT_EQ(launch(y, z), BP_OK);
  ASSERT_EQ(launch(y, y), BP_OK);
  EXPECT_EQ(on.download<float>(z, 2), (std::vector<float>{6, 7}));
  EXPECT_EQ(on.download<float>(y, 2), (std::vector<float>{6, 7}));
  for (bp_handle handle : {x, y, z}) on.opened().release(handle);
  on.release(module);
}

// An allocation that ended and one that began may share their handle; a launch must not mistake one for the other.
inline void expect_a_launch_is_not_fooled_by_memory_that_was_released(DirectDevice& on,
                                                                      bp_module* module) {
  bp_function* function = on.find(module, "axpb");
  const bp_handle x = on.upload(std::vector<float>{1, 2});
  const AxpbValues values{0, 0, 2, 1};
  for (int i = 0; i < 100; ++i) {
    const bp_handle y = on.opened().allocate(8);
    ASSERT_EQ(on.launch(function, 2, {on.argument(x), on.argument(y), on.argument(&values)}),
              BP_OK);
    ASSERT_EQ(on.download<float>(y, 2), (std::vector<float>{3, 5})) << i;
    on.opened().release(y);
  }
  on.opened().release(x);
  on.release(module);
}

inline void expect_says_which_argument_does_not_suit(DirectDevice& on, bp_module* module) {
  bp_function* function = on.find(module, "axpb");
  const bp_handle x = on.opened().allocate(64);
  const int32_t small = 1;
  const AxpbValues values{0, 0, 1, 0};
  EXPECT_EQ(on.launch(function, 1, {on.argument(x)}), BP_BAD_ARGUMENT);
  EXPECT_EQ(fake::Host::last_message(), "axpb: launched with 1 arguments, and it has 3");
  EXPECT_EQ(on.launch(function, 1, {on.argument(x), on.argument(&small), on.argument(&values)}),
            BP_BAD_ARGUMENT);
  EXPECT_EQ(fake::Host::last_message().rfind("axpb: argument 1, of 4 bytes", 0), 0u)
      << fake::Host::last_message();
  on.opened().release(x);
  on.release(module);
}

// The module has a kernel k(memory).
inline void expect_says_when_a_group_is_too_large(DirectDevice& on, bp_module* module) {
  bp_compiler_info info{};
  info.h = {sizeof info, BP_COMPILER_INFO_TYPE, nullptr};
  ASSERT_EQ(on.compiler().describe(on.opened().get(), &info), BP_OK);
  const bp_handle out = on.opened().allocate(64);
  const uint64_t group = info.max_group[0] * 2;
  bp_function* function = on.find(module, "k");
  EXPECT_EQ(on.launch(function, group, {on.argument(out)}, nullptr, group), BP_BAD_ARGUMENT);
  EXPECT_EQ(fake::Host::last_message(), "k: a group of " + std::to_string(group) +
                                            " work-items along dimension 0; this device takes " +
                                            std::to_string(info.max_group[0]));
  EXPECT_EQ(on.launch(function, 0, {on.argument(out)}), BP_BAD_ARGUMENT);
  on.opened().release(out);
  on.release(module);
}

inline std::vector<char> binary_of(DirectDevice& on, bp_module* module) {
  uint64_t bytes = 0;
  EXPECT_EQ(on.compiler().binary(on.opened().get(), module, &bytes, nullptr), BP_OK);
  std::vector<char> binary(bytes);
  EXPECT_EQ(on.compiler().binary(on.opened().get(), module, &bytes, binary.data()), BP_OK);
  return binary;
}

inline bp_code load_axpb(DirectDevice& on, const std::vector<char>& binary, bp_module** out) {
  return on.compiler().load(on.opened().get(), "axpb", binary.data(), binary.size(), out);
}

inline void expect_a_binary_runs_after_it_was_loaded(DirectDevice& on, bp_module* compiled) {
  const std::vector<char> binary = binary_of(on, compiled);
  on.release(compiled);
  bp_module* loaded = nullptr;
  ASSERT_EQ(load_axpb(on, binary, &loaded), BP_OK) << fake::Host::last_message();
  expect_axpb_works(on, on.find(loaded, "axpb"));
  EXPECT_FALSE(binary_of(on, loaded).empty());
  on.release(loaded);
}

inline void expect_a_broken_binary_is_refused_wherever_it_broke(DirectDevice& on,
                                                                bp_module* module) {
  const std::vector<char> whole = binary_of(on, module);
  on.release(module);
  for (const size_t length :
       {size_t{0}, size_t{5}, size_t{24}, whole.size() / 2, whole.size() - 1}) {
    std::vector<char> cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(length));
    bp_module* loaded = nullptr;
    EXPECT_EQ(load_axpb(on, cut, &loaded), BP_BAD_ARGUMENT) << length;
    EXPECT_EQ(loaded, nullptr);
  }
  for (const size_t place :
       {size_t{0}, size_t{9}, size_t{20}, whole.size() / 2, whole.size() - 1}) {
    std::vector<char> spoiled = whole;
    spoiled[place] ^= 4;
    bp_module* loaded = nullptr;
    EXPECT_EQ(load_axpb(on, spoiled, &loaded), BP_BAD_ARGUMENT) << place;
  }
}

// Each thread on a stream of its own.
inline void expect_eight_threads_launch_one_function(DirectDevice& on, bp_module* module) {
  bp_function* function = on.find(module, "axpb");
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      bp_stream* stream = on.make_stream();
      const bp_handle x = on.upload(std::vector<float>(64, static_cast<float>(t))),
                      y = on.opened().allocate(256);
      for (int i = 0; i < 100; ++i) {
        const AxpbValues values{0, 0, 100, static_cast<float>(i)};
        ASSERT_EQ(
            on.launch(function, 64, {on.argument(x), on.argument(y), on.argument(&values)}, stream),
            BP_OK);
        float got[64];
        ASSERT_EQ(on.opened().to_host(got, y, 256, stream), BP_OK);
        ASSERT_EQ(on.opened().synchronize(stream), BP_OK);
        ASSERT_EQ(got[0], static_cast<float>(100 * t + i));
        ASSERT_EQ(got[63], static_cast<float>(100 * t + i));
      }
      on.opened().release(x);
      on.opened().release(y);
      on.destroy(stream);
    });
  }
  for (std::thread& thread : threads) thread.join();
  on.release(module);
}

}  // namespace direct

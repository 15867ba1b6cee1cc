// What a backend with a compiler does, whatever its language: asked of a device, with a module that has the kernel axpb.
#pragma once

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

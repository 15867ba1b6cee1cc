// Defaults of the process and of threads.
#include <thread>

#include <backplane/runtime/settings.hpp>

#include "fake_plugin.hpp"

namespace bp::test {
namespace {

TEST(Settings, the_default_dtype_is_floating) {
  EXPECT_EQ(default_dtype(), f32);
  set_default_dtype(f64);
  EXPECT_EQ(default_dtype(), f64);
  EXPECT_EQ(text_of([] { set_default_dtype(i64); }),
            "set_default_dtype: int64 is not a floating type; take float16, bfloat16, float32 or "
            "float64");
  set_default_dtype(f32);
}

TEST(Settings, threads_can_be_counted_and_chosen) {
  const std::uint32_t before = num_threads();
  EXPECT_GE(before, 1u);
  set_num_threads(3);
  EXPECT_EQ(num_threads(), 3u);
  EXPECT_EQ(error_of([] { set_num_threads(0); }).error_class(), ErrorClass::bad_argument);
  set_num_threads(before);
}

TEST(Settings, deterministic_is_off_until_asked_for) {
  EXPECT_FALSE(deterministic());
  set_deterministic(true);
  EXPECT_TRUE(deterministic());
  set_deterministic(false);
}

TEST(Settings, tf32_is_not_allowed_until_asked_for) {
  EXPECT_FALSE(allow_tf32());
  set_allow_tf32(true);
  EXPECT_TRUE(allow_tf32());
  set_allow_tf32(false);
}

TEST(Settings, a_guard_sets_the_device_of_its_thread) {
  FakePlugin fake;
  Device found;
  {
    const Registered acme(fake);
    EXPECT_FALSE(get_default_device(found));
    {
      const DeviceGuard guard(acme.device());
      EXPECT_TRUE(get_default_device(found));
      EXPECT_EQ(found, acme.device());
      std::thread([] {
        Device other;
        EXPECT_FALSE(get_default_device(other));
      }).join();
    }
    EXPECT_FALSE(get_default_device(found));
    set_default_device(acme.device());
    EXPECT_TRUE(get_default_device(found));
    const DeviceGuard meta(meta_device);
    EXPECT_TRUE(get_default_device(found));
    EXPECT_EQ(found, meta_device);
  }
  EXPECT_FALSE(get_default_device(found)) << "the device is gone";
  EXPECT_EQ(text_of([] { set_default_device({200}); }),
            "set_default_device: there is no device number 200");
}

}  // namespace
}  // namespace bp::test

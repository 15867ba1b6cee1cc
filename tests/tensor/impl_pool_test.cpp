#include <atomic>
#include <cstdlib>
#include <gtest/gtest.h>
#include <new>
#include <thread>
#include <vector>

#include <backplane/tensor/error.hpp>

#include "test_storage.hpp"

namespace {
std::atomic<bool> memory_is_out{false};
}

// What TensorImpls are allocated with, made to fail on demand.
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  if (memory_is_out) return nullptr;
  const auto align = static_cast<std::size_t>(alignment);
  return std::aligned_alloc(align, (size + align - 1) / align * align);
}
void operator delete(void* ptr, std::align_val_t) noexcept {
  std::free(ptr);
}

namespace bp {
namespace {

using test::make_meta_tensor;
using test::make_range;
using test::TestStorage;

TEST(impl_pool, aligns_impls_to_cache_lines) {
  const Tensor tensor = make_meta_tensor({2});
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.impl()) % 64, 0u);
}

TEST(impl_pool, keeps_more_than_it_pools_working) {
  for (int round = 0; round < 3; ++round) {
    std::vector<Tensor> tensors;
    for (int i = 0; i < 1000; ++i) tensors.push_back(make_meta_tensor({i}));
    for (int i = 0; i < 1000; ++i) ASSERT_EQ(tensors[i].numel(), i);
  }
}

TEST(impl_pool, takes_back_what_another_thread_made) {
  std::vector<Tensor> tensors;
  std::thread([&] {
    for (int i = 0; i < 600; ++i) tensors.push_back(make_range({3}));
  }).join();
  EXPECT_EQ(TestStorage::alive, 600);
  std::thread([&] { tensors.resize(100); }).join();
  tensors.clear();
  EXPECT_EQ(TestStorage::alive, 0);
}

TEST(impl_pool, works_while_a_thread_ends) {
  struct Last {
    Tensor tensor;
    ~Last() {
      tensor = Tensor();
      tensor = make_range({2});
    }
  };
  std::thread([] {
    // Made before the pool is first used, so destroyed after the pool has ended.
    static thread_local Last last;
    last.tensor = make_range({2});
    make_range({3});
  }).join();
  EXPECT_EQ(TestStorage::alive, 0);
}

TEST(impl_pool, works_in_static_destructors) {
  // Its failure is a crash, or a leak that the sanitizer reports.
  static const Tensor tensor = make_meta_tensor({2});
  EXPECT_TRUE(tensor.defined());
}

TEST(impl_pool, says_when_memory_is_out_and_goes_on) {
  std::thread([] {  // whose pool is empty
    memory_is_out = true;
    try {
      take_impl();
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_EQ(error.error_class(), ErrorClass::out_of_memory);
    }
    memory_is_out = false;
    EXPECT_EQ(make_meta_tensor({2}).numel(), 2);
  })
      .join();
}

}  // namespace
}  // namespace bp

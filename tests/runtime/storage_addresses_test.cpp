// Addresses that name storages: of memory that the host reads, of memory that it cannot, and what is nobody's.
#include <thread>
#include <vector>

#include <backplane/runtime/allocator.hpp>
#include <backplane/runtime/storage_addresses.hpp>

#include "fake_plugin.hpp"

namespace bp::test {
namespace {

char* moved(void* address, std::int64_t bytes) {
  return static_cast<char*>(address) + bytes;
}

struct StorageAddresses : testing::TestWithParam<bool> {
  StorageAddresses() {
    if (!GetParam()) fake.make_asynchronous();  // the host cannot read its memory
    acme = std::make_unique<Registered>(fake);
    owner = empty_tensor({6}, f32, acme->device());
    storage = owner.impl()->storage;
  }
  FakePlugin fake;
  std::unique_ptr<Registered> acme;
  Tensor owner;
  Storage* storage = nullptr;
};

TEST_P(StorageAddresses, are_found_at_every_byte_and_nowhere_else) {
  void* const address = give_address(owner);
  if (GetParam()) {
    EXPECT_EQ(address, owner.data_ptr());
  }
  for (const std::int64_t offset :
       {std::int64_t{0}, std::int64_t{5}, std::int64_t(storage->bytes) - 1}) {
    const StorageAt found = storage_at(moved(address, offset));
    ASSERT_TRUE(found.bytes.defined()) << offset;
    EXPECT_TRUE(found.bytes.shares_storage(owner));
    EXPECT_EQ(found.offset, offset);
    EXPECT_EQ(found.bytes.numel(), static_cast<std::int64_t>(storage->bytes));
  }
  EXPECT_FALSE(storage_at(moved(address, -1)).bytes.defined());
  EXPECT_FALSE(
      storage_at(moved(address, static_cast<std::int64_t>(storage->bytes))).bytes.defined());
  EXPECT_TRUE(take_back_address(address));
  EXPECT_FALSE(storage_at(address).bytes.defined());
}

TEST_P(StorageAddresses, hold_the_storage_until_they_are_taken_back) {
  void* const address = give_address(owner);
  EXPECT_EQ(storage->refs.load(), 2u);
  void* const again = give_address(owner);
  EXPECT_TRUE(take_back_address(again));
  EXPECT_TRUE(storage_at(address).bytes.defined());
  EXPECT_TRUE(take_back_address(address));
  EXPECT_EQ(storage->refs.load(), 1u);
  EXPECT_FALSE(take_back_address(address));
}

TEST_P(StorageAddresses, name_all_of_a_storage_by_any_of_its_tensors) {
  void* const address = give_address(make_view(owner, {2}, {1}, 4));
  EXPECT_EQ(storage_at(moved(address, 3)).offset, 3);
  EXPECT_EQ(storage_at(address).bytes.numel(), static_cast<std::int64_t>(storage->bytes));
  EXPECT_TRUE(take_back_address(address));
}

TEST_P(StorageAddresses, serve_threads_at_once) {
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        const Tensor mine = empty_tensor({1 + i % 7}, f32, acme->device());
        void* const address = give_address(mine);
        EXPECT_TRUE(storage_at(moved(address, 2)).bytes.shares_storage(mine));
        EXPECT_TRUE(take_back_address(address));
      }
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(StorageAddressesOfNothing, are_refused) {
  int here = 0;
  EXPECT_FALSE(storage_at(&here).bytes.defined());
  EXPECT_FALSE(storage_at(nullptr).bytes.defined());
  EXPECT_FALSE(take_back_address(&here));
  EXPECT_THROW(give_address(Tensor()), Error);
}

// Else the shorter of two would hide the end of the longer.
TEST(StorageAddressesOfOneBlock, are_given_once_at_a_time) {
  FakePlugin fake;
  const Registered acme{fake};
  std::vector<float> block(64);
  const Tensor few = tensor_from_blob(block.data(), {4}, {1}, f32, acme.device(), nullptr, nullptr),
               many =
                   tensor_from_blob(block.data(), {64}, {1}, f32, acme.device(), nullptr, nullptr);
  void* const address = give_address(few);
  EXPECT_EQ(address, block.data());
  EXPECT_THROW(give_address(many), Error);
  EXPECT_EQ(storage_at(address).bytes.numel(), 16);
  EXPECT_TRUE(take_back_address(address));
  EXPECT_EQ(give_address(many), address);
  EXPECT_EQ(storage_at(&block[63]).offset, 252);
  EXPECT_TRUE(take_back_address(address));
}

INSTANTIATE_TEST_SUITE_P(Memory, StorageAddresses, testing::Values(true, false),
                         [](const auto& of) { return of.param ? "of_the_host" : "of_the_device"; });

}  // namespace
}  // namespace bp::test

#include "node_memory.hpp"

#include <cstdint>
#include <new>

namespace bp::autograd {
namespace {

constexpr std::size_t step = 64, num_classes = 16;
constexpr std::uint32_t most_kept = 256;  // of each class

struct FreeBlock {
  FreeBlock* next;
};

// Plain data, since blocks are still returned while a thread ends; `Closer` gives back what is kept.
struct Pool {
  FreeBlock* first[num_classes];
  std::uint32_t count[num_classes];
  bool opened, closed;
};
constinit thread_local Pool pool{};

struct Closer {
  ~Closer() {
    pool.closed = true;
    for (std::size_t i = 0; i < num_classes; ++i) {
      while (FreeBlock* block = pool.first[i]) {
        pool.first[i] = block->next;
        ::operator delete(block);
      }
    }
  }
};

void open_pool() {
  static thread_local Closer closer;
  static_cast<void>(closer);
  pool.opened = true;
}

}  // namespace

void* take_block(std::size_t bytes) {
  const std::size_t place = (bytes - 1) / step;
  if (place >= num_classes) return ::operator new(bytes);
  if (FreeBlock* block = pool.first[place]) [[likely]] {
    pool.first[place] = block->next;
    --pool.count[place];
    return block;
  }
  return ::operator new((place + 1) * step);
}

void return_block(void* memory, std::size_t bytes) noexcept {
  if (!memory) return;
  const std::size_t place = (bytes - 1) / step;
  if (place >= num_classes || pool.closed || pool.count[place] == most_kept)
    return ::operator delete(memory);
  if (!pool.opened) open_pool();
  auto* block = static_cast<FreeBlock*>(memory);
  block->next = pool.first[place];
  pool.first[place] = block;
  ++pool.count[place];
}

}  // namespace bp::autograd

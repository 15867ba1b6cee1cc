// Small blocks for nodes and tensors' records, kept by each thread: a recorded call takes two or three.
#pragma once

#include <cstddef>

namespace bp::autograd {

void* take_block(std::size_t bytes);
void return_block(void* block, std::size_t bytes) noexcept;

// For classes whose objects come and go with every recorded call.
struct Pooled {
  static void* operator new(std::size_t bytes) { return take_block(bytes); }
  static void operator delete(void* block, std::size_t bytes) noexcept {
    return_block(block, bytes);
  }
};

}  // namespace bp::autograd

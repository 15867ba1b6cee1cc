// An application with OpenCL kernels of its own uses tensors beside them: one context, one queue, the same buffers. No
// number is copied and nobody waits on the host between the two.
#include <cmath>
#include <cstdlib>
#include <iostream>

#include <backplane/backplane.hpp>
#include <backplane/runtime/interop.hpp>

#include "kernels.hpp"

namespace {

constexpr std::int64_t rows = 48, columns = 64, steps = 10;

std::uint64_t value_of(const void* object) {
  return reinterpret_cast<std::uint64_t>(object);
}

// The application's buffer as a tensor, which releases it when the last tensor over it is gone.
bp::Tensor tensor_over(cl_mem grid, bp::Device device) {
  return bp::tensor_from_memory(
      {"opencl.mem", value_of(grid)}, 0, {rows, columns}, {columns, 1}, bp::f32, device,
      [](void* buffer) {
        clReleaseMemObject(static_cast<cl_mem>(buffer));
        std::cout << "the buffer is released\n";
      },
      grid);
}

// A step of the application's kernel, from a tensor to a tensor: where do they lie?
void spread(const Heat& heat, const bp::Tensor& from, const bp::Tensor& to) {
  const bp::NativeMemory source = bp::native_memory(from), target = bp::native_memory(to);
  heat.spread(reinterpret_cast<cl_mem>(source.handle.value), source.byte_offset / sizeof(float),
              reinterpret_cast<cl_mem>(target.handle.value), target.byte_offset / sizeof(float),
              rows, columns);
}

// Calls that Backplane did not serve by a kernel or a view on the device itself: these copy.
std::uint64_t num_served_elsewhere() {
  std::uint64_t calls = 0;
  for (const bp::CallCount& count : bp::call_counts())
    calls += count.calls[static_cast<int>(bp::Rung::host)] +
             count.calls[static_cast<int>(bp::Rung::legalized)];
  return calls;
}

bool say(const char* what, bool holds) {
  std::cout << what << (holds ? ": yes\n" : ": NO\n");
  return holds;
}

int run() {
  const Heat heat;
  const bp::Device device = bp::device("opencl:0");
  bp::adopt_context(device, {{"opencl.context", value_of(heat.context())}});
  const bp::StreamGuard guard(
      bp::adopt_stream(device, {"opencl.command_queue", value_of(heat.queue())}));

  std::vector<float> hot(rows * columns, 0.0F);
  hot[static_cast<std::size_t>(rows / 2 * columns + columns / 2)] = 1000;
  const cl_mem buffer = heat.make_grid(hot);
  bp::Tensor grid = tensor_over(buffer, device);                        // their memory
  const bp::Tensor next = bp::empty({rows, columns}, bp::f32, device);  // our memory
  bp::Tensor total;
  for (std::int64_t step = 0; step < steps; ++step) {
    spread(heat, grid, next);  // their kernel reads their buffer and writes ours
    bp::mul_(next, 0.5);       // our kernels, in the order of their queue
    bp::add_out(grid, next, next);
    total = bp::sum(grid);
  }

  const bool is_ours = bp::native_memory(grid).handle.value == value_of(buffer);
  const double heat_left = bp::item<float>(total);
  std::cout << "heat after " << steps << " steps: " << std::round(heat_left) << '\n';
  bool good = say("the tensor's memory is the application's cl_mem", is_ours);
  good &= say("all of Backplane's calls ran on the device", num_served_elsewhere() == 0);
  good &= say("the heat is what it was", std::fabs(heat_left - 1000) < 0.1);
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace

int main() {
  try {
    return run();
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return EXIT_FAILURE;
  }
}

// matmul by CLBlast, for pairs of matrices, where it is installed and the host has measured that it is faster than
// the generated kernel. BACKPLANE_OPENCL_CLBLAST=0 leaves it out; =1 also offers it on processors, where it reached 8
// to 14 GFLOP/s untuned, generated kernels 150, and where the first product compiles for seconds.
#include <cstdlib>
#include <string_view>

#include <backplane/plugin.hpp>

#include "constants.hpp"
#include "device.hpp"
#include "kernels/clblast.hpp"

namespace opencl {
namespace {

using clblast::Product;

// False if rows or columns do not lie next to each other, or the memory is not a buffer.
bool describe(Memory& memory, const bp::AnyTensor& tensor, Product::Matrix& matrix) {
  const int64_t row = tensor.stride(0), column = tensor.stride(1);
  const int64_t rows = tensor.size(0), columns = tensor.size(1);
  matrix.transposed = column != 1 || row < columns;
  if (matrix.transposed && (row != 1 || column < rows)) return false;
  matrix.stride = static_cast<uint64_t>(matrix.transposed ? column : row);
  matrix.memory = memory.buffer(tensor.handle());
  matrix.offset = tensor.byte_offset() / tensor.itemsize();
  return matrix.memory != nullptr && tensor.byte_offset() % tensor.itemsize() == 0;
}

bool describe(Memory& memory, bp::In a, bp::In b, bp::Out c, Product& product) {
  product.dtype = c.dtype();
  product.m = static_cast<uint64_t>(a.size(0));
  product.k = static_cast<uint64_t>(a.size(1));
  product.n = static_cast<uint64_t>(b.size(1));
  return product.k != 0 && describe(memory, a, product.a) && describe(memory, b, product.b);
}

bool is_allowed_on(cl_device_id device) {
  const char* asked = std::getenv("BACKPLANE_OPENCL_CLBLAST");
  if (asked != nullptr && *asked != '\0') return std::string_view(asked) != "0";
  return (device_value<cl_device_type>(device, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU) == 0;
}

bool is_of_use() {
  for (const FoundDevice& found : found_devices())
    if (is_allowed_on(found.id)) return clblast::is_there();
  return false;
}

bool takes(bp::Stream stream, bp::In a, bp::In b, bp::Out c) {
  auto& device = stream.device<Device>();
  Product product;
  if (!is_allowed_on(device.id()) || !describe(device.memory(), a, b, c, product)) return false;
  if (product.m * product.n * product.k < constants::offered_product) return false;
  return device.queue_of(stream.native<Queue>()).recording() == nullptr;
}

bp::Status matmul(bp::Stream stream, bp::In a, bp::In b, bp::Out c) {
  auto& device = stream.device<Device>();
  Product product;
  if (!describe(device.memory(), a, b, c, product) || !describe(device.memory(), c, product.c) ||
      product.c.transposed)
    return bp::Status::from_host(BP_UNSUPPORTED);
  Queue& queue = device.queue_of(stream.native<Queue>());
  bp::Status multiplied = bp::ok;
  const bp::Status given = queue.submit("matmul", [&](cl_command_queue commands) -> cl_int {
    multiplied = clblast::multiply(product, commands);
    return CL_SUCCESS;
  });
  return given.is_ok() ? multiplied : given;
}

}  // namespace
}  // namespace opencl

BP_KERNELS(opencl_matmul) {
  if (!opencl::is_of_use()) return;
  k.add<bp::op::matmul>(opencl::matmul)
      .dtypes(bp::f32, bp::f64)
      .layouts(bp::strided)
      .rank(bp::op::matmul::place::input, 2, 2)
      .rank(bp::op::matmul::place::other, 2, 2)
      .capturable()
      .measured()
      .supports(opencl::takes);
}

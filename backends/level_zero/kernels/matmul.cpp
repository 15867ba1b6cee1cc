// matmul of pairs of f32 matrices by the module that was made when the plugin was built. The host measures it against the
// generated kernel; where that cannot be made, for want of a tool chain, it is the only one on the device.
#include <algorithm>

#include <backplane/extensions/compiler.h>
#include <backplane/plugin.hpp>

#include "constants.hpp"
#include "device.hpp"
#include "kernels/modules.hpp"
#include "module.hpp"

namespace level_zero {
namespace {

// As in matmul.cl.
struct MatmulValues {
  int64_t a, b, c;
  int64_t m, n, k;
};
enum MatmulConstant : uint32_t { height_constant = 0, vectors_constant = 1 };

using constants::MatmulBlock;

MatmulBlock matmul_block(const bp_compiler_info& info) {
  if (info.shape == BP_SHAPE_GPU) return constants::block_of_gpu;
  return info.vector_bytes >= 64 ? constants::block_of_64_bytes : constants::block_of_fewer_bytes;
}

// The kernel of one device, made at the first call.
struct MatmulKernel {
  MatmulBlock block;
  std::unique_ptr<Module> module;
  Function* function;
};

std::unique_ptr<MatmulKernel> make_matmul(Device& device) {
  bp_compiler_info info{};
  info.h = {sizeof info, BP_COMPILER_INFO_TYPE, nullptr};
  const auto require_ok = [](bp::Status status) {
    if (!status.is_ok()) throw bp::Failure{status};
  };
  require_ok(device.compiler().describe(info));
  auto made = std::make_unique<MatmulKernel>();
  made->block = matmul_block(info);
  bp::Result<std::unique_ptr<Module>> module = Module::specialize(
      device, "matmul_f32", matmul_module(),
      {{height_constant, made->block.height}, {vectors_constant, made->block.vectors}});
  require_ok(module.status());
  made->module = std::move(module.value());
  bp::Result<Function*> function = made->module->find("matmul_f32");
  require_ok(function.status());
  made->function = function.value();
  return made;
}

bool takes_matmul(bp::Stream, bp::In a, bp::In b, bp::Out) {
  return a.size(0) > 0 && b.size(1) > 0 && a.size(1) > 0;
}

bp::Status matmul(bp::Stream stream, bp::In a, bp::In b, bp::Out c) {
  auto& device = stream.device<Device>();
  const MatmulKernel& kernel = device.made_once<MatmulKernel>(make_matmul);
  const MatmulValues values{static_cast<int64_t>(a.byte_offset()),
                            static_cast<int64_t>(b.byte_offset()),
                            static_cast<int64_t>(c.byte_offset()),
                            a.size(0),
                            b.size(1),
                            a.size(1)};
  bp_launch_argument arguments[4] = {};
  const bp::Handle handles[] = {a.handle(), b.handle(), c.handle()};
  for (size_t i = 0; i < 3; ++i) {
    arguments[i].kind = BP_LAUNCH_MEMORY;
    arguments[i].u.handle = handles[i];
  }
  arguments[3].kind = BP_LAUNCH_BYTES;
  arguments[3].bytes = sizeof values;
  arguments[3].u.bytes = &values;
  const auto blocks = [](int64_t size, uint32_t of) {
    return (static_cast<uint64_t>(size) + of - 1) / of;
  };
  bp_launch launch{};
  launch.groups[0] = blocks(values.m, kernel.block.height);
  launch.groups[1] = blocks(values.n, 8 * kernel.block.vectors);
  launch.groups[2] = 1;
  std::fill_n(launch.items, 3, 1);
  launch.arguments = arguments;
  launch.num_arguments = 4;
  return kernel.function->launch(launch, device, device.queue_of(stream.native<Queue>()));
}

}  // namespace
}  // namespace level_zero

BP_KERNELS(level_zero_matmul) {
  using place = bp::op::matmul::place;
  k.add<bp::op::matmul>(level_zero::matmul)
      .dtypes(bp::f32)
      .rank(place::input, 2, 2)
      .rank(place::other, 2, 2)
      .deterministic()
      .capturable()
      .measured()
      .supports(level_zero::takes_matmul);
}

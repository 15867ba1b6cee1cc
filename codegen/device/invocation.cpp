#include "device/invocation.hpp"

#include <algorithm>
#include <bit>

#include <backplane/tensor/check.hpp>

#include "constants.hpp"

namespace bp::codegen {

void Invocation::require(Dtype dtype) const {
  // What is only stored is computed in f32.
  Dtype computed = dtype;
  if (dtype == Dtype::f16 || dtype == Dtype::bf16 || dtype == Dtype::f8_e4m3fn ||
      dtype == Dtype::f8_e5m2 || dtype == Dtype::complex64)
    computed = Dtype::f32;
  if (dtype == Dtype::complex128) computed = Dtype::f64;
  if (!(info().compute_dtypes >> index(computed) & 1u))
    throw_error(ErrorClass::unsupported, fmt::format("{}: {} cannot compute in {}", call.op->name,
                                                     device.record().name, name(computed)));
}

bp_region Invocation::scratch(std::uint64_t bytes) {
  bp_region region{};
  const bp_code code =
      host_.workspace(&host_, &call, std::max<std::uint64_t>(bytes, 1), 64, &region);
  if (code != BP_OK) throw_plugin_message(code, "scratch memory");
  return region;
}

void Invocation::launch(bp_function* function, const Grid& grid, const bp_handle* memory,
                        std::size_t num_memory, const Values& values) {
  constexpr std::size_t most = 64;
  if (num_memory + 1 > most)
    throw_error(ErrorClass::internal, "codegen: a kernel has too many arguments");
  bp_launch_argument arguments[most];
  for (std::size_t i = 0; i < num_memory; ++i) {
    arguments[i].kind = BP_LAUNCH_MEMORY;
    arguments[i].bytes = 0;
    arguments[i].u.handle = memory[i];
  }
  static constexpr std::int64_t nothing = 0;
  arguments[num_memory].kind = BP_LAUNCH_BYTES;
  arguments[num_memory].bytes = values.bytes() ? values.bytes() : 8;
  arguments[num_memory].u.bytes = values.bytes() ? values.data() : &nothing;

  bp_launch launch{};
  launch.h = {sizeof(bp_launch), BP_LAUNCH_TYPE, nullptr};
  launch.function = function;
  for (int i = 0; i < 3; ++i) {
    std::uint64_t group = grid.group[i];
    if (group == 0)
      group = for_cpu() ? 1 : std::min<std::uint64_t>(constants::usual_group, info().max_group[0]);
    launch.items[i] = group;
    // A division costs as much as all the rest here, and groups are powers of two but for odd devices.
    const std::uint64_t up = grid.items[i] + group - 1;
    const std::uint64_t groups =
        std::has_single_bit(group) ? up >> std::countr_zero(group) : up / group;
    launch.groups[i] = std::max<std::uint64_t>(1, groups);
  }
  launch.arguments = arguments;
  launch.num_arguments = static_cast<std::uint32_t>(num_memory) + 1;
  launch.number = call.number;
  clear_plugin_error();
  const bp_code code = device.api().launch(call.device, &launch, call.stream);
  if (code != BP_OK) throw_plugin_message(code, "launch");
}

}  // namespace bp::codegen

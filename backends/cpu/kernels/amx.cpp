#include "amx.hpp"

#if defined(__x86_64__)
#  include <cpuid.h>
#  include <sys/syscall.h>
#  include <unistd.h>
#endif

namespace bp::cpu {
namespace {

#if defined(__x86_64__)
bool ask_for_amx() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned bf16 = 1u << 22, tiles = 1u << 24;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d & bf16) == 0 || (d & tiles) == 0)
    return false;
  if (!__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512dq") ||
      !__builtin_cpu_supports("avx512bf16"))
    return false;
  // arch_prctl's, newer than some headers.
  constexpr int request_permission = 0x1023, tile_data = 18;
  return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
}
#else
bool ask_for_amx() {
  return false;
}
#endif

}  // namespace

bool has_amx_bf16() {
  static const bool allowed = ask_for_amx();
  return allowed;
}

}  // namespace bp::cpu

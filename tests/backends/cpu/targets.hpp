// Running a test once for each instruction set that this machine has and the plugin was compiled for.
#pragma once

#include <dlfcn.h>
#include <string>

#include "backends/cpu/direct_call.hpp"

namespace bp_test {

// Highway's own bits (hwy/detect_targets.h); without the ones named, its scalar code remains.
inline void use_targets(int64_t bits) {
  // The plugin's copy of the library, which dlopen finds loaded: this program does not link it.
  CpuPlugin& cpu = CpuPlugin::get();
  void* library = dlopen("libhwy.so.1", RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(library, nullptr) << "Highway is not a shared library here";
  using SetTargets = void (*)(int64_t);
  const auto set =
      reinterpret_cast<SetTargets>(dlsym(library, "_ZN3hwy26SetSupportedTargetsForTestEl"));
  ASSERT_NE(set, nullptr);
  set(bits);
  dlclose(library);
  ASSERT_EQ(cpu.plugin().init(cpu.plugin().self), BP_OK);  // compiles its programs again
}

template <class F> void for_each_target(F&& f) {
#if defined(__x86_64__)
  struct Target {
    const char* name;
    int64_t bits;
    bool is_here;
  };
  const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool has_avx512 = __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  for (const Target& target :
       {Target{"scalar", int64_t{1} << 62, true}, Target{"avx2", int64_t{1} << 9, has_avx2},
        Target{"avx512", int64_t{1} << 8, has_avx512}}) {
    if (!target.is_here) continue;
    use_targets(target.bits);
    f(std::string(target.name));
  }
  use_targets(0);
#else
  f(std::string("native"));
#endif
}

}  // namespace bp_test

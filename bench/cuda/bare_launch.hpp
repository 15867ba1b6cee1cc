// What a launch costs without us: an empty kernel of seven arguments, given to the driver as fast as it takes it.
#pragma once

#include <cstdio>
#include <dlfcn.h>

#include "on_device.hpp"

namespace bench {

// The driver's functions by their types; its header comes with a toolkit, which this program does not need.
struct BareLaunch {
  using Init = int (*)(unsigned);
  using Context = int (*)(void**, int);
  using SetCurrent = int (*)(void*);
  using Load = int (*)(void**, const void*);
  using GetFunction = int (*)(void**, void*, const char*);
  using MakeStream = int (*)(void**, unsigned);
  using Launch = int (*)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                         unsigned, void*, void**, void**);
  Launch launch = nullptr;
  void *function = nullptr, *stream = nullptr;

  // False without a driver, or where a step fails.
  bool prepare() {
    static constexpr const char* text =
        ".version 7.0\n.target sm_75\n.address_size 64\n"
        ".visible .entry empty(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d, .param "
        ".u64 e,"
        " .param .u64 f, .param .u64 g) { ret; }\n";
    void* library = dlopen("libcuda.so.1", RTLD_NOW);
    const auto find = [&]<class Function>(Function& to, const char* name) {
      to = library ? reinterpret_cast<Function>(dlsym(library, name)) : nullptr;
      return to != nullptr;
    };
    Init init;
    Context retain;
    SetCurrent set_current;
    Load load;
    GetFunction get_function;
    MakeStream make_stream;
    void *context = nullptr, *module = nullptr;
    constexpr unsigned non_blocking = 1;
    return find(init, "cuInit") && find(retain, "cuDevicePrimaryCtxRetain") &&
           find(set_current, "cuCtxSetCurrent") && find(load, "cuModuleLoadData") &&
           find(get_function, "cuModuleGetFunction") && find(make_stream, "cuStreamCreate") &&
           find(launch, "cuLaunchKernel") && init(0) == 0 && retain(&context, 0) == 0 &&
           set_current(context) == 0 && load(&module, text) == 0 &&
           get_function(&function, module, "empty") == 0 && make_stream(&stream, non_blocking) == 0;
  }

  void operator()() {
    unsigned long long value = 0;
    void* arguments[] = {&value, &value, &value, &value, &value, &value, &value};
    launch(function, 1, 1, 1, 256, 1, 1, 0, stream, arguments, nullptr);
  }
};

}  // namespace bench

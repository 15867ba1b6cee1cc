// Inline variables of C++ become unique symbols, which plugins share in spite of RTLD_LOCAL.
#include <backplane/abi.h>

template <typename T> struct Counter { static inline int count = 0; };

extern "C" bp_code bp_get_plugin_v1(const bp_host*, uint32_t*, const bp_plugin**) {
  return ++Counter<int>::count > 0 ? BP_UNSUPPORTED : BP_OK;
}

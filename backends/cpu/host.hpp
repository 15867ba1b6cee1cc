// What the host gave us, and how this plugin tells it of errors.
#pragma once

#include <exception>
#include <new>
#include <string>

#include <backplane/abi.h>

namespace bp::cpu {

// The host's table; NULL before bp_get_plugin_v1.
const bp_host* host();

// Sets this thread's error record and returns `code`.
bp_code fail(bp_code code, const char* message);
inline bp_code fail(bp_code code, const std::string& message) {
  return fail(code, message.c_str());
}

// Runs `body`, which returns bp_code, and turns what it throws into a code: nothing crosses the ABI.
template <class F> bp_code guarded(const char* what, F&& body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return fail(BP_OUT_OF_MEMORY, "cpu: out of host memory");
  } catch (const std::exception& error) {
    try {
      return fail(BP_INTERNAL, std::string(what) + ": " + error.what());
    } catch (...) {
      return fail(BP_INTERNAL, what);
    }
  } catch (...) {
    return fail(BP_INTERNAL, what);
  }
}

}  // namespace bp::cpu

// The only exception type of the public API: a class to act on and a message to read.
#pragma once

#include <iosfwd>
#include <stdexcept>
#include <string>

#include <backplane/abi.h>
#include <backplane/tensor/api.hpp>

namespace bp {

// What a caller can do about an error; the values are those of the C ABI.
enum class ErrorClass : bp_code {
  bad_argument = BP_BAD_ARGUMENT,    // correct the call
  unsupported = BP_UNSUPPORTED,      // no kernel, no fallback
  out_of_memory = BP_OUT_OF_MEMORY,  // free something and call again
  retry = BP_RETRY,                  // call again later
  stream_lost = BP_STREAM_LOST,      // use another stream
  device_lost = BP_DEVICE_LOST,      // use another device
  internal = BP_INTERNAL,            // a defect of Backplane or of a plugin
  timed_out = BP_TIMED_OUT,          // it may still end: wait longer, or give up
  cancelled = BP_CANCELLED,          // somebody ended it
  peer_lost = BP_PEER_LOST,          // another process or machine is gone: go on without it
};

// Is it the code of an error that this level of the ABI knows?
constexpr bool is_error_class(bp_code code) {
  return code > BP_OK && code <= BP_PEER_LOST;
}

// "bad_argument", as above; "no error class" for any other number.
BP_API const char* name(ErrorClass error_class);
BP_API std::ostream& operator<<(std::ostream& stream, ErrorClass error_class);

// Thrown by public functions; nothing has been changed by the call that throws it.
class BP_API Error : public std::runtime_error {
 public:
  Error(ErrorClass error_class, const std::string& message, bool is_late = false)
      : std::runtime_error(message), class_(error_class), is_late_(is_late) {}
  ErrorClass error_class() const { return class_; }
  // True for an error of work that was queued earlier, thrown by a call that waited for it.
  bool is_late() const { return is_late_; }

 private:
  ErrorClass class_;
  bool is_late_;
};

[[noreturn]] BP_API void throw_error(ErrorClass error_class, const std::string& message);

}  // namespace bp

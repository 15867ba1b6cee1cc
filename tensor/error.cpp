// Throwing in one place keeps the checks that call it small.
#include <ostream>
#include <utility>

#include <backplane/tensor/error.hpp>

namespace bp {

const char* name(ErrorClass error_class) {
  switch (error_class) {
    case ErrorClass::bad_argument: return "bad_argument";
    case ErrorClass::unsupported: return "unsupported";
    case ErrorClass::out_of_memory: return "out_of_memory";
    case ErrorClass::retry: return "retry";
    case ErrorClass::stream_lost: return "stream_lost";
    case ErrorClass::device_lost: return "device_lost";
    case ErrorClass::internal: return "internal";
    case ErrorClass::timed_out: return "timed_out";
    case ErrorClass::cancelled: return "cancelled";
    case ErrorClass::peer_lost: return "peer_lost";
  }
  return "no error class";
}

std::ostream& operator<<(std::ostream& stream, ErrorClass error_class) {
  return stream << name(error_class);
}

void throw_error(ErrorClass error_class, const std::string& message) {
  throw Error(error_class, message);
}

}  // namespace bp

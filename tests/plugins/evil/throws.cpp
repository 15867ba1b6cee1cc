// What C cannot do to its host.
#include <stdexcept>

extern "C" [[noreturn]] void evil_throw() {
  throw std::runtime_error("evil throws");
}

// Throwing in one place keeps the checks that call it small.
#include <utility>

#include <backplane/tensor/error.hpp>

namespace bp {

void throw_error(ErrorClass error_class, const std::string& message) {
  throw Error(error_class, message);
}

}  // namespace bp

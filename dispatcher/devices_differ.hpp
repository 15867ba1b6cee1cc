// The arguments of one call are on different devices. A composite operator reports this for its own arguments.
#pragma once

#include <backplane/tensor/error.hpp>

namespace bp {

class DevicesDiffer : public Error {
 public:
  explicit DevicesDiffer(const std::string& message) : Error(ErrorClass::bad_argument, message) {}
};

}  // namespace bp

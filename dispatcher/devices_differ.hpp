// Arguments of one call lie on several devices. An operator that is made of others says it of its own arguments.
#pragma once

#include <backplane/tensor/error.hpp>

namespace bp {

class DevicesDiffer : public Error {
 public:
  explicit DevicesDiffer(const std::string& message) : Error(ErrorClass::bad_argument, message) {}
};

}  // namespace bp

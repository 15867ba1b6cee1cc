// Names of types as people write them.
#pragma once

#include <string>
#include <typeinfo>

namespace bp::nn {

// Without namespaces: "Linear".
std::string readable_type_name(const std::type_info& type);

}  // namespace bp::nn

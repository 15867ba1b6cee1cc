#include <mutex>

#include <backplane/dispatcher/operator_source.hpp>

namespace bp {

void ensure_operators() {
  static std::once_flag once;
  std::call_once(once, register_core_operators);
}

}  // namespace bp

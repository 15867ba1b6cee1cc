#include "variant.hpp"

#include <cstdlib>

namespace exam {
namespace {

std::string_view asked_for(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? std::string_view() : std::string_view(text);
}

}  // namespace

std::string_view fault() {
  static const std::string_view name = asked_for("BACKPLANE_EXAM_FAULT");
  return name;
}

bool fault_is(std::string_view name) {
  return fault() == name;
}

bool variant_is(std::string_view name) {
  static const std::string_view chosen = asked_for("BACKPLANE_EXAM_VARIANT");
  return chosen == name;
}

}  // namespace exam

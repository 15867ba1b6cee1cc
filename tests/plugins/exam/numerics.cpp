#include "numerics.hpp"

#include <cstring>

#include <backplane/extensions/numerics.h>

#include "variant.hpp"

namespace exam {

const bp_header* declared_numerics(const char* name, uint32_t min_version) {
  static bp_numerics numerics{};
  if (std::strcmp(name, "bp.numerics") != 0 || min_version > 1) return nullptr;
  numerics.h = {sizeof numerics, BP_TYPE_EXTENSION, nullptr};
  numerics.flags = variant_is("flushes_declared") ? BP_NUMERICS_FLUSHES_DENORMALS : 0;
  return &numerics.h;
}

}  // namespace exam

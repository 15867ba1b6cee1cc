// A plugin without devices, which is there for its extension.
#include "adder.hpp"

#include <cstring>

#include <backplane/plugin.hpp>

struct Adder : bp::WithoutDevices {
  static constexpr bp::Identity identity{"adder", "Backplane tests", "0.1"};

  static const bp_header* extension(const char* name, uint32_t min_version) {
    static const acme_adder table = {{sizeof(acme_adder), BP_TYPE_EXTENSION, nullptr},
                                     [](int64_t a, int64_t b) { return a + b; }};
    return std::strcmp(name, ACME_ADDER) == 0 && min_version <= 1 ? &table.h : nullptr;
  }
};

BP_PLUGIN(Adder)

// The extension "bp.compiler" with C11 for its only language.
#pragma once

#include <backplane/plugin.hpp>

namespace reference {

const bp_header* compiler();

}  // namespace reference

// Looks at a library before dlopen runs its code, and says what makes it unusable or unwise. Also
// `backplane lint libacme.so`, for the makers of plugins. Reads the file alone and runs none of it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <backplane/loading/environment.hpp>
#include <backplane/tensor/api.hpp>

namespace bp::loading {

enum class Severity { refuse, warn };

struct Finding {
  Severity severity;
  std::string rule;      // "undefined-symbol": stable, for scripts
  std::string sentence;  // file, what is wrong, what to do
};

struct LintReport {
  std::vector<Finding> findings;

  bool refused() const {
    for (const Finding& finding : findings)
      if (finding.severity == Severity::refuse) return true;
    return false;
  }
  bool has(std::string_view rule) const {
    for (const Finding& finding : findings)
      if (finding.rule == rule) return true;
    return false;
  }
};

// Refused: not-a-file, empty, truncated, not-elf, other-architecture, not-a-library, missing-export,
// undefined-symbol (one of ours), malformed. Warned of: other-exports, unique-symbols,
// executable-stack, text-relocations, missing-dependency, unreadable-symbols.
BP_API LintReport lint(const std::filesystem::path& file,
                       const Environment& environment = Environment::current());

// The same for bytes in memory, without the search for dependencies. `name` is for messages.
// Any bytes are safe.
BP_API LintReport lint_bytes(std::span<const std::byte> bytes, std::string_view name);

// "x86_64", "aarch64": as manifests and `uname -m` name this process's architecture.
BP_API std::string_view process_architecture();

}  // namespace bp::loading

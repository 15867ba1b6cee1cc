// Examines a library before dlopen runs its code, and reports what makes it unusable or risky. Also available to
// plugin authors as `backplane lint libacme.so`. Only reads the file; runs none of its code.
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
  std::string rule;      // "undefined-symbol"; stable, for scripts
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

// The same for bytes in memory, without searching for dependencies. `name` is for messages.
// Safe for any bytes.
BP_API LintReport lint_bytes(std::span<const std::byte> bytes, std::string_view name);

// This process's architecture, named as in manifests and by `uname -m`: "x86_64", "aarch64".
BP_API std::string_view process_architecture();

}  // namespace bp::loading

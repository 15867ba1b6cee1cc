// Any bytes can be linted; every finding is about the file.
#include <cstdlib>

#include <backplane/loading/elf_lint.hpp>

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  using namespace bp::loading;
  const LintReport report = lint_bytes(std::as_bytes(std::span(data, size)), "libfuzz.so");
  for (const Finding& finding : report.findings)
    if (!finding.sentence.starts_with("libfuzz.so: ")) std::abort();
  return 0;
}

// backplane conform: the conformance suite is a program of its own beside this one, since it kills what it starts.
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <unistd.h>

#include <backplane/tensor/error.hpp>

#include "commands.hpp"

namespace bp::tools {

int conform(const Options& options) {
  const std::filesystem::path program =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / "backplane-conform";
  std::vector<std::string> words = options.arguments;
  words.insert(words.begin(), program);
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  execv(program.c_str(), pointers.data());
  throw_error(ErrorClass::unsupported,
              fmt::format("conform: cannot start {}: {}", program.string(), std::strerror(errno)));
}

}  // namespace bp::tools

// Where the oracle is found: a plugin that lies beside this program and is loaded by its path.
#include <filesystem>

#include <backplane/loading/environment.hpp>
#include <backplane/loading/loader.hpp>
#include <backplane/tensor/check.hpp>

#include "judge/expected.hpp"

namespace bp::conform {
namespace {

std::string oracle_path() {
  const std::filesystem::path folder =
      std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const std::filesystem::path file = "lib/backplane/conformance/libbackplane_oracle.so";
  // Where plugins lie, or, of a program that was copied, beside it.
  const std::filesystem::path installed = loading::Environment::current().library_folder /
                                          "backplane/conformance/libbackplane_oracle.so";
  for (const std::filesystem::path& place : {installed, folder / ".." / file, folder / file})
    if (std::filesystem::exists(place)) return std::filesystem::weakly_canonical(place).string();
  throw_error(ErrorClass::unsupported, "conform: the reference is missing, a plugin at " +
                                           (folder.parent_path() / file).string() +
                                           "; install the whole suite");
}

}  // namespace

Device oracle() {
  static const Device device = load_plugin(oracle_path()).devices.at(0)->device;
  return device;
}

}  // namespace bp::conform

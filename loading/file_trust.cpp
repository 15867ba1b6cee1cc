#include <cerrno>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>

#include <backplane/loading/file_trust.hpp>

namespace bp::loading {
namespace {

namespace fs = std::filesystem;

std::string find_distrust(const fs::path& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0)
    return path.string() + ": cannot be looked at (" + std::strerror(errno) + ")";
  const std::string what = S_ISDIR(status.st_mode) ? "the folder " : "the file ";
  if ((status.st_mode & S_IWOTH) != 0)
    return what + path.string() + " can be written by everyone; `chmod o-w` it" +
           (S_ISDIR(status.st_mode) ? ", or move the plugin elsewhere" : "");
  if (status.st_uid != 0 && status.st_uid != geteuid())
    return what + path.string() + " belongs to user " + std::to_string(status.st_uid) +
           ", neither to root nor to you (user " + std::to_string(geteuid()) +
           "); copy it to your own";
  return {};
}

}  // namespace

Trust check_trust(const fs::path& file, const Environment& environment) {
  std::error_code error;
  const fs::path real = fs::canonical(file, error);
  if (error)
    return {file.string() + ": does not exist or cannot be reached: " + error.message(), {}};
  std::string problem = find_distrust(real);
  if (problem.empty()) problem = find_distrust(real.parent_path());
  if (problem.empty()) return {};
  if (environment.trust_any_file)
    return {{}, problem + "; trusted only because BACKPLANE_TRUST_ANY_FILE=1"};
  return {problem + " (or set BACKPLANE_TRUST_ANY_FILE=1 to load it anyway)", {}};
}

}  // namespace bp::loading

#include <cstdlib>
#include <dlfcn.h>
#include <utility>

#include <backplane/loading/plugin_check.hpp>
#include <backplane/loading/plugin_library.hpp>
#include <backplane/runtime/plugin_steps.hpp>

namespace bp::loading {
namespace {

namespace fs = std::filesystem;

std::string last_dlerror() {
  const char* text = dlerror();
  return text != nullptr ? text : "no reason given";
}

// The word before the first ':' of dlerror's text, which is what the loader stumbled over.
std::string subject_of(const std::string& text) {
  return text.substr(0, text.find(": "));
}

bool holds(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

uint32_t offered_abi_level() {
  const char* const given = secure_getenv("BACKPLANE_ABI_LEVEL");
  const uint32_t level =
      given != nullptr ? static_cast<uint32_t>(std::strtoul(given, nullptr, 10)) : 0;
  return level >= host_abi_min && level < host_abi_max ? level : host_abi_max;
}

std::string explain_dlerror(const std::string& text, const fs::path& file) {
  const std::string path = file.string();
  const std::string subject = subject_of(text);
  const std::string detail =
      subject.size() + 2 <= text.size() ? text.substr(subject.size() + 2) : text;
  const bool about_another = subject != path && subject != text;
  if (holds(text, "cannot open shared object file") && about_another)
    return path + ": needs " + subject +
           ", which was not found; install it, or add its folder to LD_LIBRARY_PATH";
  if (holds(text, "undefined symbol: ")) {
    const std::string symbol = text.substr(text.find("undefined symbol: ") + 18);
    return path + ": " + (about_another ? "its library " + subject + " lacks " : "lacks ") +
           "symbol " + symbol + "; another version of a library was linked, or one was left out";
  }
  if (holds(text, "version `") && holds(text, "not found"))
    return path + ": needs a newer library: " + text + "; build it for this system";
  if (holds(text, "wrong ELF class") || holds(text, "invalid ELF header"))
    return path + ": " + (about_another ? "its library " + subject + " " : "") +
           "is for another architecture, or damaged (" + detail + ")";
  return path + ": cannot be opened: " + (subject == path ? detail : text);
}

Outcome PluginLibrary::open(const fs::path& file, const bp_host& host,
                            std::string_view (*said)(const bp_host& host), PluginLibrary* out) {
  out->close();
  if (!file.is_absolute())  // dlopen would search for it
    return Outcome::failure(BP_BAD_ARGUMENT, file.string() + ": not an absolute path to a plugin");
  PluginLibrary library;
  library.file_ = file;
  at_plugin_step("its constructors");
  library.handle_ = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library.handle_ == nullptr)
    return Outcome::failure(BP_BAD_ARGUMENT, explain_dlerror(last_dlerror(), file));
  void* symbol = dlsym(library.handle_, "bp_get_plugin_v1");
  if (symbol == nullptr)
    return Outcome::failure(BP_BAD_ARGUMENT,
                            file.string() +
                                ": does not export bp_get_plugin_v1, so it is not a "
                                "Backplane plugin");
  at_plugin_step("bp_get_plugin_v1");
  Outcome outcome;
  outcome.code = negotiate(reinterpret_cast<bp_get_plugin_fn>(symbol), host, file.string(), said,
                           &library.plugin_, &outcome.message);
  if (outcome.ok()) *out = std::move(library);
  return outcome;
}

Outcome PluginLibrary::take_linked(bp_get_plugin_fn get_plugin, std::string_view who,
                                   const bp_host& host,
                                   std::string_view (*said)(const bp_host& host),
                                   PluginLibrary* out) {
  out->close();
  PluginLibrary library;
  Outcome outcome;
  outcome.code = negotiate(get_plugin, host, who, said, &library.plugin_, &outcome.message);
  if (outcome.ok()) *out = std::move(library);
  return outcome;
}

bool PluginLibrary::is_mapped() const {
  if (is_open()) return true;
  if (file_.empty()) return false;
  void* handle = dlopen(file_.c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (handle == nullptr) return dlerror(), false;
  dlclose(handle);
  return true;
}

void PluginLibrary::close() {
  plugin_ = nullptr;
  if (handle_ == nullptr) return;
  at_plugin_step("its destructors");
  dlclose(std::exchange(handle_, nullptr));
}

void PluginLibrary::swap(PluginLibrary& other) noexcept {
  std::swap(handle_, other.handle_);
  std::swap(plugin_, other.plugin_);
  file_.swap(other.file_);
}

}  // namespace bp::loading

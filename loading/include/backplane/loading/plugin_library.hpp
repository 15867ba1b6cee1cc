// An opened plugin: its library in this process (unless it is linked into the program), and the checked result of
// bp_get_plugin_v1.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include <backplane/abi.h>
#include <backplane/loading/outcome.hpp>
#include <backplane/tensor/api.hpp>

namespace bp::loading {

// The highest ABI level that this process offers to plugins: the header's, or a lower one set by BACKPLANE_ABI_LEVEL to
// imitate an older host.
BP_API uint32_t offered_abi_level();

// Owns the library but none of the plugin's state: the caller calls init, shutdown and everything in between, and
// `shutdown` before `close`. Do not keep it in a static object, whose destructor would unmap code that other
// threads may still run.
class PluginLibrary {
 public:
  PluginLibrary() = default;
  ~PluginLibrary() { close(); }
  PluginLibrary(PluginLibrary&& other) noexcept { swap(other); }
  PluginLibrary& operator=(PluginLibrary&& other) noexcept {
    swap(other);
    return *this;
  }

  // Opens `file`, negotiates the ABI level and checks the plugin's structs. On failure nothing stays
  // open, and the code is the plugin's own, BP_BAD_ARGUMENT for a file that cannot be opened,
  // BP_UNSUPPORTED for another ABI level, or BP_INTERNAL for faults of the plugin.
  // `host` and what it points to are borrowed until `close`. `said` returns the message that the plugin last passed to
  // host.set_error on this thread, or ""; it may be NULL.
  BP_API static Outcome open(const std::filesystem::path& file, const bp_host& host,
                             std::string_view (*said)(const bp_host& host), PluginLibrary* out);

  // The same for a plugin that is linked into this program: calls `get_plugin` and makes the same checks. There is no file
  // to open or close. `who` names the plugin in messages.
  BP_API static Outcome take_linked(bp_get_plugin_fn get_plugin, std::string_view who,
                                    const bp_host& host,
                                    std::string_view (*said)(const bp_host& host),
                                    PluginLibrary* out);

  bool is_open() const { return plugin_ != nullptr; }
  const bp_plugin* plugin() const { return plugin_; }
  const std::filesystem::path& file() const { return file_; }  // empty if linked

  // Whether the library stayed mapped after `close`, as one linked with -z nodelete does. Not for linked plugins.
  BP_API bool is_mapped() const;

  // Unmaps the library, unless it must stay mapped. The plugin must not be used afterwards.
  BP_API void close();

 private:
  BP_API void swap(PluginLibrary& other) noexcept;

  void* handle_ = nullptr;
  const bp_plugin* plugin_ = nullptr;
  std::filesystem::path file_;
};

// Turns dlerror's text about `file` into one sentence that names the missing dependency, symbol or version.
BP_API std::string explain_dlerror(const std::string& text, const std::filesystem::path& file);

}  // namespace bp::loading

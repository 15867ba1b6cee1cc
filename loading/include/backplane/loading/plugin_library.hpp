// An opened plugin: its library in this process, unless it is linked into the program, and its checked answer to
// bp_get_plugin_v1.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include <backplane/abi.h>
#include <backplane/loading/outcome.hpp>
#include <backplane/tensor/api.hpp>

namespace bp::loading {

// The highest level that this process offers to plugins: the header's, or a lower one by BACKPLANE_ABI_LEVEL, by which an
// older host is tried.
BP_API uint32_t offered_abi_level();

// Owns the library, nothing of the plugin's state: init, shutdown and all between are the caller's,
// and `shutdown` comes before `close`. Not to be held by a static object, whose destructor would
// unmap code that other threads may still run.
class PluginLibrary {
 public:
  PluginLibrary() = default;
  ~PluginLibrary() { close(); }
  PluginLibrary(PluginLibrary&& other) noexcept { swap(other); }
  PluginLibrary& operator=(PluginLibrary&& other) noexcept {
    swap(other);
    return *this;
  }

  // Opens `file`, negotiates the ABI level and checks the plugin's structs; on failure nothing is
  // left open, and the code is the plugin's own, BP_BAD_ARGUMENT for a file that cannot be opened,
  // BP_UNSUPPORTED for another ABI level, BP_INTERNAL for faults of the plugin.
  // `host` and what it points to are borrowed until `close`. `said` returns what the plugin told
  // host.set_error last on this thread, or "" (NULL: nothing is known).
  BP_API static Outcome open(const std::filesystem::path& file, const bp_host& host,
                             std::string_view (*said)(const bp_host& host), PluginLibrary* out);

  // The same for a plugin that is linked into this program: asks `get_plugin` and checks as above. There is no file to
  // open or to close. `who` names the plugin in messages.
  BP_API static Outcome take_linked(bp_get_plugin_fn get_plugin, std::string_view who,
                                    const bp_host& host,
                                    std::string_view (*said)(const bp_host& host),
                                    PluginLibrary* out);

  bool is_open() const { return plugin_ != nullptr; }
  const bp_plugin* plugin() const { return plugin_; }
  const std::filesystem::path& file() const { return file_; }  // empty if linked

  // Whether the library stayed mapped after `close`, as one linked with -z nodelete does. Not for linked ones.
  BP_API bool is_mapped() const;

  // Unmaps the library, unless it must stay. Nothing of the plugin may be used afterwards.
  BP_API void close();

 private:
  BP_API void swap(PluginLibrary& other) noexcept;

  void* handle_ = nullptr;
  const bp_plugin* plugin_ = nullptr;
  std::filesystem::path file_;
};

// One sentence out of what dlerror said about `file`: names the missing dependency, symbol or version.
BP_API std::string explain_dlerror(const std::string& text, const std::filesystem::path& file);

}  // namespace bp::loading

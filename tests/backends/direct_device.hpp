// A backend's device reached directly through the ABI: what the tests of every backend with a compiler do with one.
#pragma once

#include <gtest/gtest.h>
#include <string>
#include <vector>

#include <backplane/extensions/compiler.h>

#include "sdk/fake_host.hpp"

namespace direct {

inline bp_source source_of(const std::string& code, const char* options, const char* language) {
  bp_source source{};
  source.h = {sizeof source, BP_SOURCE_TYPE, nullptr};
  source.language = language;
  source.name = "test f32";
  source.code = code.data();
  source.bytes = code.size();
  source.options = options;
  return source;
}

// A class that derives from it has the plugin and the device as long as it lives.
class DirectDevice {
 public:
  virtual ~DirectDevice() = default;
  virtual const fake::Plugin& loaded() = 0;
  virtual fake::Device& opened() = 0;

  template <class Extension> const Extension& extension(const char* name) {
    const fake::Plugin& from = loaded();
    return *reinterpret_cast<const Extension*>(from->extension(from->self, name, 1));
  }
  const bp_compiler& compiler() { return extension<bp_compiler>(BP_COMPILER); }
  const bp_memory& memory() { return *loaded()->memory; }

  bp_stream* make_stream() {
    bp_stream* stream = nullptr;
    EXPECT_EQ(queue().create_stream(handle(), 0, &stream), BP_OK) << fake::Host::last_message();
    return stream;
  }
  void destroy(bp_stream* stream) { queue().destroy_stream(handle(), stream); }
  bp_event* make_event() {
    bp_event* event = nullptr;
    EXPECT_EQ(queue().create_event(handle(), &event), BP_OK) << fake::Host::last_message();
    return event;
  }
  void destroy(bp_event* event) { queue().destroy_event(handle(), event); }

  bp_code compile_as(const char* language, const std::string& code, bp_module** out,
                     const char* options = "") {
    const bp_source source = source_of(code, options, language);
    return compiler().compile(handle(), &source, out);
  }
  bp_function* find(bp_module* module, const char* name) {
    bp_function* function = nullptr;
    EXPECT_EQ(compiler().find(handle(), module, name, &function), BP_OK)
        << fake::Host::last_message();
    return function;
  }
  void release(bp_module* module) { compiler().release(handle(), module); }

  static bp_launch_argument argument(bp_handle memory) {
    bp_launch_argument made{BP_LAUNCH_MEMORY, 0, {}};
    made.u.handle = memory;
    return made;
  }
  template <class T> static bp_launch_argument argument(const T* value) {
    bp_launch_argument made{BP_LAUNCH_BYTES, sizeof(T), {}};
    made.u.bytes = value;
    return made;
  }
  // `items` work-items in groups of `group`.
  bp_code launch(bp_function* function, uint64_t items,
                 const std::vector<bp_launch_argument>& arguments, bp_stream* stream = nullptr,
                 uint64_t group = 1) {
    bp_launch made{};
    made.h = {sizeof made, BP_LAUNCH_TYPE, nullptr};
    made.function = function;
    made.groups[0] = items / group;
    made.items[0] = group;
    made.groups[1] = made.groups[2] = made.items[1] = made.items[2] = 1;
    made.arguments = arguments.data();
    made.num_arguments = static_cast<uint32_t>(arguments.size());
    return compiler().launch(handle(), &made, stream);
  }

  template <class T> bp_handle upload(const std::vector<T>& values) {
    const bp_handle memory = opened().allocate(values.size() * sizeof(T));
    EXPECT_NE(memory, 0u);
    EXPECT_EQ(opened().from_host(memory, values.data(), values.size() * sizeof(T)), BP_OK);
    EXPECT_EQ(opened().synchronize(), BP_OK);
    return memory;
  }
  template <class T> std::vector<T> download(bp_handle memory, size_t count) {
    std::vector<T> values(count);
    EXPECT_EQ(opened().to_host(values.data(), memory, count * sizeof(T)), BP_OK);
    EXPECT_EQ(opened().synchronize(), BP_OK);
    return values;
  }

 private:
  bp_device* handle() { return opened().get(); }
  const bp_queue& queue() { return opened().queue(); }
};

// What the kernel axpb of each language takes: y[i] = scale * x[i] + shift, with offsets in bytes among the values.
struct AxpbValues {
  int64_t from, to;
  float scale, shift;
};

}  // namespace direct

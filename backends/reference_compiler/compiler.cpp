#include "compiler.hpp"

#include <cstring>
#include <string>
#include <thread>

#include <backplane/extensions/compiler.h>

#include "c_compiler.hpp"
#include "device.hpp"
#include "module.hpp"

namespace reference {
namespace {

Module* module_of(bp_module* module) {
  return reinterpret_cast<Module*>(module);
}

bp_code describe(bp_device*, bp_compiler_info* info) noexcept {
  return bp::guarded([=]() -> bp::Status {
    static const std::string identity = compiler_identity();
    info->languages = BP_LANGUAGE_C11;
    info->identity = identity.c_str();
    info->shape = BP_SHAPE_CPU;
    info->compute_dtypes = (bp::integral | bp::boolean | bp::f32 | bp::f64 | bp::complex).bits;
    for (uint64_t& most : info->max_group) most = 1;
    info->max_group_items = 1;
    info->compute_units = 2;
    return bp::ok;
  });
}

bp::Status open_module(const char* name, std::vector<char> binary, bp_module** out) {
  bp::Result<Module*> module = Module::open(name, std::move(binary));
  *out = reinterpret_cast<bp_module*>(module.value());
  return module.status();
}

bp_code compile(bp_device*, const bp_source* source, bp_module** out) noexcept {
  return bp::guarded([=]() -> bp::Status {
    if (std::strcmp(source->language, BP_LANGUAGE_C11) != 0)
      return bp::unsupported("%s: the language '%s'; only %s is understood", source->name,
                             source->language, BP_LANGUAGE_C11);
    bp::Result<std::vector<char>> binary = compile_c(*source);
    if (!binary.is_ok()) return binary.status();
    return open_module(source->name, std::move(binary.value()), out);
  });
}

bp_code binary(bp_device*, bp_module* module, uint64_t* bytes, void* to) noexcept {
  const std::vector<char>& kept = module_of(module)->binary();
  if (to != nullptr) std::memcpy(to, kept.data(), kept.size());
  *bytes = kept.size();
  return BP_OK;
}

bp_code load(bp_device*, const char* name, const void* binary, uint64_t bytes,
             bp_module** out) noexcept {
  return bp::guarded([=] {
    const char* first = static_cast<const char*>(binary);
    return open_module(name, std::vector<char>(first, first + bytes), out);
  });
}

void release(bp_device*, bp_module* module) noexcept {
  delete module_of(module);
}

bp_code find(bp_device*, bp_module* module, const char* kernel, bp_function** out) noexcept {
  return bp::guarded([=] {
    bp::Result<bp_function*> found = module_of(module)->find(kernel);
    *out = found.value();
    return found.status();
  });
}

// A launch as its queue keeps it.
struct Pending {
  Kernel kernel = nullptr;
  std::vector<void*> memory;
  std::vector<uint64_t> values;  // in words, so that they are aligned
  uint64_t items[3] = {};

  void run() const {
    uint64_t item[6] = {0, 0, 0, items[0], items[1], items[2]};
    for (item[2] = 0; item[2] < items[2]; ++item[2])
      for (item[1] = 0; item[1] < items[1]; ++item[1])
        for (item[0] = 0; item[0] < items[0]; ++item[0]) kernel(memory.data(), values.data(), item);
  }
};

bp::Status take_argument(Device& device, const bp_launch_argument& argument, Pending& pending) {
  if (argument.kind == BP_LAUNCH_MEMORY) {
    // 0 is the memory of a tensor without elements.
    if (argument.u.handle == 0) {
      pending.memory.push_back(nullptr);
      return bp::ok;
    }
    bp::Result<uint8_t*> found = device.bytes_of({{argument.u.handle, 0, 0}}, "launch");
    pending.memory.push_back(found.value());
    return found.status();
  }
  if (argument.kind != BP_LAUNCH_BYTES || !pending.values.empty())
    return bp::bad_argument(
        "launch: an argument of kind %u; a kernel in C takes memory and one struct", argument.kind);
  pending.values.resize((argument.bytes + 7) / 8);
  std::memcpy(pending.values.data(), argument.u.bytes, argument.bytes);
  return bp::ok;
}

bp_code launch(bp_device* handle, const bp_launch* launch, bp_stream* stream) noexcept {
  return bp::guarded([=]() -> bp::Status {
    Device& device = *reinterpret_cast<Device*>(handle);
    Pending pending;
    pending.kernel = reinterpret_cast<Kernel>(launch->function);
    for (int i = 0; i < 3; ++i) pending.items[i] = launch->groups[i] * launch->items[i];
    for (uint32_t i = 0; i < launch->num_arguments; ++i) {
      bp::Status status = take_argument(device, launch->arguments[i], pending);
      if (!status.is_ok()) return status;
    }
    const auto work = [pending = std::move(pending)] {
      pending.run();
      return Outcome{};
    };
    return device.submit(reinterpret_cast<Queue*>(stream), work, launch->number);
  });
}

constexpr bp_compiler make_table() {
  bp_compiler table{};
  table.h = {sizeof table, BP_TYPE_EXTENSION, nullptr};
  table.describe = describe;
  table.compile = compile;
  table.binary = binary;
  table.load = load;
  table.release = release;
  table.find = find;
  table.launch = launch;
  return table;
}

constexpr bp_compiler table = make_table();

}  // namespace

const bp_header* compiler() {
  return &table.h;
}

}  // namespace reference

// A GPU on paper: it takes CUDA C++, calls every kernel compiled, and runs none. What codegen writes for such
// a device can be read, and handed to a real compiler, on a machine without a card.
#include <cstring>
#include <sys/mman.h>

#include <backplane/extensions/compiler.h>
#include <backplane/plugin.hpp>

namespace {

bp_code describe(bp_device*, bp_compiler_info* info) noexcept {
  info->languages = BP_LANGUAGE_CUDA_CXX;
  info->identity = "a GPU on paper";
  info->shape = BP_SHAPE_GPU;
  info->compute_dtypes = (bp::integral | bp::boolean | bp::f32 | bp::f64 | bp::complex).bits;
  info->max_group[0] = info->max_group[1] = 1024;
  info->max_group[2] = 64;
  info->max_group_items = 1024;
  info->local_memory = 48 << 10;
  info->compute_units = 132;
  info->vector_bytes = 16;
  info->subgroup_size = 32;
  return BP_OK;
}

int something;  // that a module and a function can point to

bp_code compile(bp_device*, const bp_source*, bp_module** out) noexcept {
  *out = reinterpret_cast<bp_module*>(&something);
  return BP_OK;
}

void release(bp_device*, bp_module*) noexcept {}

bp_code find(bp_device*, bp_module*, const char*, bp_function** out) noexcept {
  *out = reinterpret_cast<bp_function*>(&something);
  return BP_OK;
}

bp_code launch(bp_device*, const bp_launch*, bp_stream*) noexcept {
  return BP_OK;
}

constexpr bp_compiler make_compiler() {
  bp_compiler table{};
  table.h = {sizeof table, BP_TYPE_EXTENSION, nullptr};
  table.describe = describe;
  table.compile = compile;
  table.release = release;
  table.find = find;
  table.launch = launch;
  return table;
}

constexpr bp_compiler compiler = make_compiler();

}  // namespace

struct PaperGpu : bp::Backend {
  static constexpr bp::Identity identity{"papergpu", "Backplane tests", "0.1"};

  static bp::Status describe(uint32_t, bp::DeviceInfo& info) {
    info.set_name("a GPU on paper");
    info.flags |= BP_DEVICE_REAL_ADDRESSES | BP_DEVICE_CAN_SUBALLOCATE;
    return bp::ok;
  }

  static const bp_header* extension(const char* name, uint32_t min_version) {
    const bool is_compiler = std::strcmp(name, BP_COMPILER) == 0;
    return is_compiler && min_version <= BP_COMPILER_VERSION ? &compiler.h : nullptr;
  }

  // Of zeros, and only promised: a tensor of many gigabytes costs nothing until somebody writes to it.
  bp::Result<bp::Handle> allocate(uint64_t bytes, uint64_t) {
    void* ptr = mmap(nullptr, head + bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (ptr == MAP_FAILED)
      return bp::out_of_memory("no %llu bytes", static_cast<unsigned long long>(bytes));
    *static_cast<uint64_t*>(ptr) = head + bytes;
    return bp::handle_of(static_cast<char*>(ptr) + head);
  }

  void release(bp::Handle handle) {
    char* ptr = static_cast<char*>(bp::address_of(handle)) - head;
    munmap(ptr, *reinterpret_cast<uint64_t*>(ptr));
  }

  bp::Status copy(bp::Region to, bp::Region from) {
    std::memcpy(to.address(), from.address(), to.bytes);
    return bp::ok;
  }

 private:
  static constexpr uint64_t head = 4096;  // a page, which begins with the length of the mapping
};

BP_PLUGIN(PaperGpu)

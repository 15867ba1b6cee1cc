#include "module.hpp"

#include <cstring>
#include <dlfcn.h>
#include <elf.h>

#include "c_compiler.hpp"

namespace reference {
namespace {

// The machine of the code that this is compiled into.
#if defined(__x86_64__)
constexpr uint16_t this_machine = EM_X86_64;
#elif defined(__aarch64__)
constexpr uint16_t this_machine = EM_AARCH64;
#elif defined(__riscv)
constexpr uint16_t this_machine = EM_RISCV;
#else
constexpr uint16_t this_machine = EM_NONE;  // dlopen has to find out
#endif

// Is everything that the dynamic linker maps within the file? It would not look, and a process that reads
// past the end of a mapped file is killed.
bool is_shared_object(const std::vector<char>& binary) {
  Elf64_Ehdr head;
  if (binary.size() < sizeof head) return false;
  std::memcpy(&head, binary.data(), sizeof head);
  if (std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
      head.e_type != ET_DYN || head.e_phentsize != sizeof(Elf64_Phdr))
    return false;
  if (this_machine != EM_NONE && head.e_machine != this_machine) return false;
  const uint64_t table_bytes = uint64_t{head.e_phnum} * sizeof(Elf64_Phdr);
  if (head.e_phoff > binary.size() || table_bytes > binary.size() - head.e_phoff) return false;
  for (uint16_t i = 0; i < head.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, binary.data() + head.e_phoff + i * sizeof segment, sizeof segment);
    if (segment.p_offset > binary.size() || segment.p_filesz > binary.size() - segment.p_offset)
      return false;
  }
  return head.e_phnum > 0;
}

}  // namespace

bp::Result<Module*> Module::open(const char* name, std::vector<char> binary) {
  if (!is_shared_object(binary)) {
    return bp::bad_argument("%s: %llu bytes that are not a shared object of this machine", name,
                            static_cast<unsigned long long>(binary.size()));
  }
  // The file may go as soon as it is mapped.
  const PrivateFolder folder;
  const std::string file = folder.file("kernel.so");
  write_file(file, binary.data(), binary.size());
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return bp::bad_argument("%s: %s", name, dlerror());
  return new Module(library, std::move(binary));
}

Module::~Module() {
  dlclose(library_);
}

bp::Result<bp_function*> Module::find(const char* kernel) const {
  void* symbol = dlsym(library_, kernel);
  if (symbol == nullptr) return bp::bad_argument("the module has no kernel '%s'", kernel);
  return static_cast<bp_function*>(symbol);
}

}  // namespace reference

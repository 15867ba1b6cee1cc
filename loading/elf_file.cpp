#include "elf_file.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <elf.h>
#include <optional>

#include <backplane/loading/elf_lint.hpp>

namespace bp::loading {
namespace {

constexpr bool host_is_little = std::endian::native == std::endian::little;
constexpr unsigned char host_data = host_is_little ? ELFDATA2LSB : ELFDATA2MSB;

#if defined(__x86_64__)
constexpr uint16_t host_machine = EM_X86_64;
#elif defined(__aarch64__)
constexpr uint16_t host_machine = EM_AARCH64;
#else
#  error "Backplane runs on x86-64 and aarch64; name the machine here and in machine_name"
#endif

// More than any library has; keeps what hostile counts can cost small.
constexpr uint64_t max_symbols = 1 << 22;
constexpr size_t max_needed = 1024;
constexpr size_t max_text = 4096;

std::string machine_name(uint16_t machine) {
  switch (machine) {
    case EM_X86_64: return "x86_64";
    case EM_AARCH64: return "aarch64";
    case EM_386: return "i386";
    case EM_ARM: return "arm";
    case EM_PPC64: return "ppc64";
    case EM_RISCV: return "riscv";
    case EM_S390: return "s390";
    case EM_CUDA: return "cuda";
    default: return "machine " + std::to_string(machine);
  }
}

// Bytes that are read only within their bounds.
class Bytes {
 public:
  explicit Bytes(std::span<const std::byte> bytes) : bytes_(bytes) {}

  uint64_t size() const { return bytes_.size(); }

  bool holds(uint64_t offset, uint64_t length) const {
    return offset <= size() && length <= size() - offset;
  }

  // Copies, since nothing promises that a file's structs are aligned.
  template <typename T> std::optional<T> read(uint64_t offset) const {
    if (!holds(offset, sizeof(T))) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof(T));
    return value;
  }

  template <typename T> std::optional<T> read(uint64_t offset, uint64_t index) const {
    if (index > size() / sizeof(T) || offset > size()) return std::nullopt;
    return read<T>(offset + index * sizeof(T));
  }

  // The zero-terminated text at `offset` of the string table [begin, begin + length); the first
  // max_text bytes of a longer one.
  std::optional<std::string_view> text(uint64_t begin, uint64_t length, uint64_t offset) const {
    if (!holds(begin, length) || offset >= length) return std::nullopt;
    const char* start = reinterpret_cast<const char*>(bytes_.data()) + begin + offset;
    const size_t most = std::min<uint64_t>(length - offset, max_text);
    const size_t end = std::string_view(start, most).find('\0');
    if (end == std::string_view::npos && most < max_text) return std::nullopt;
    return std::string_view(start, std::min(end, most));
  }

 private:
  std::span<const std::byte> bytes_;
};

// The entries of the dynamic segment that matter here, as addresses.
struct Dynamic {
  uint64_t strtab = 0, strsz = 0, symtab = 0, hash = 0, gnu_hash = 0;
  std::optional<uint64_t> rpath, runpath;
  std::vector<uint64_t> needed;
  bool textrel = false, is_program = false;
};

class Parser {
 public:
  explicit Parser(std::span<const std::byte> bytes) : bytes_(bytes) {}

  ElfFile run() {
    if (read_header() && read_segments() && read_dynamic()) {
      read_names();
      read_symbols();
    }
    return std::move(file_);
  }

 private:
  bool fail(ElfProblem problem, std::string detail) {
    file_.problem = problem;
    file_.detail = std::move(detail);
    return false;
  }
  bool fail_truncated(const char* what, uint64_t end) {
    return fail(ElfProblem::truncated, std::string(what) + " should reach byte " +
                                           std::to_string(end) + ", but the file has " +
                                           std::to_string(bytes_.size()));
  }

  bool read_header() {
    if (bytes_.size() == 0) return fail(ElfProblem::empty, "has no bytes");
    const auto ident = bytes_.read<std::array<unsigned char, EI_NIDENT>>(0);
    const auto magic = bytes_.read<std::array<char, SELFMAG>>(0);
    if (magic && std::memcmp(magic->data(), ELFMAG, SELFMAG) != 0)
      return fail(ElfProblem::not_elf, "does not begin like a Linux library");
    if (!ident) return fail_truncated("the ELF header", sizeof(Elf64_Ehdr));
    if (!check_architecture(*ident)) return false;
    const auto header = bytes_.read<Elf64_Ehdr>(0);
    if (!header) return fail_truncated("the ELF header", sizeof(Elf64_Ehdr));
    header_ = *header;
    if (header_.e_type != ET_DYN)
      return fail(ElfProblem::not_a_library,
                  header_.e_type == ET_EXEC   ? "is a program"
                  : header_.e_type == ET_REL  ? "is an object file"
                  : header_.e_type == ET_CORE ? "is a core dump"
                                              : "has ELF type " + std::to_string(header_.e_type));
    if (header_.e_phentsize != sizeof(Elf64_Phdr) || header_.e_phnum == 0)
      return fail(ElfProblem::malformed, "has " + std::to_string(header_.e_phnum) +
                                             " program headers of " +
                                             std::to_string(header_.e_phentsize) + " bytes");
    return true;
  }

  bool check_architecture(const std::array<unsigned char, EI_NIDENT>& ident) {
    const bool same_order = ident[EI_DATA] == host_data;
    // e_machine is at the same place in both classes.
    const auto field = bytes_.read<uint16_t>(offsetof(Elf64_Ehdr, e_machine));
    if (!field) return fail_truncated("the ELF header", sizeof(Elf64_Ehdr));
    const uint16_t machine = same_order ? *field : static_cast<uint16_t>(*field << 8 | *field >> 8);
    if (ident[EI_CLASS] == ELFCLASS64 && same_order && machine == host_machine) return true;
    std::string found = machine_name(machine);
    if (ident[EI_CLASS] != ELFCLASS64) found += " (32 bits)";
    if (!same_order) found += ident[EI_DATA] == ELFDATA2MSB ? " (big-endian)" : " (little-endian)";
    return fail(ElfProblem::other_architecture, "is built for " + found + ", this process is " +
                                                    std::string(process_architecture()));
  }

  bool read_segments() {
    for (uint64_t i = 0; i < header_.e_phnum; i++) {
      const auto segment = bytes_.read<Elf64_Phdr>(header_.e_phoff, i);
      if (!segment)
        return fail_truncated("the program headers",
                              header_.e_phoff + header_.e_phnum * sizeof(Elf64_Phdr));
      if (segment->p_type == PT_GNU_STACK) {
        file_.has_stack_header = true;
        file_.executable_stack = (segment->p_flags & PF_X) != 0;
      }
      if (segment->p_type != PT_LOAD && segment->p_type != PT_DYNAMIC) continue;
      if (!bytes_.holds(segment->p_offset, segment->p_filesz))
        return fail_truncated("a segment", segment->p_offset + segment->p_filesz);
      (segment->p_type == PT_LOAD ? loads_ : dynamics_).push_back(*segment);
    }
    if (loads_.empty() || dynamics_.empty())
      return fail(ElfProblem::malformed, "has no dynamic segment");
    // The sections' headers come last: a file whose end is missing shows it here.
    const uint64_t sections = uint64_t(header_.e_shnum) * header_.e_shentsize;
    if (header_.e_shoff != 0 && !bytes_.holds(header_.e_shoff, sections))
      return fail_truncated("the section headers", header_.e_shoff + sections);
    return true;
  }

  bool read_dynamic() {
    const Elf64_Phdr& segment = dynamics_.front();
    for (uint64_t i = 0; i < segment.p_filesz / sizeof(Elf64_Dyn); i++) {
      const auto entry = bytes_.read<Elf64_Dyn>(segment.p_offset, i);
      if (!entry || entry->d_tag == DT_NULL) break;
      const uint64_t value = entry->d_un.d_val;
      switch (entry->d_tag) {
        case DT_STRTAB: dynamic_.strtab = value; break;
        case DT_STRSZ: dynamic_.strsz = value; break;
        case DT_SYMTAB: dynamic_.symtab = value; break;
        case DT_HASH: dynamic_.hash = value; break;
        case DT_GNU_HASH: dynamic_.gnu_hash = value; break;
        case DT_RPATH: dynamic_.rpath = value; break;
        case DT_RUNPATH: dynamic_.runpath = value; break;
        case DT_TEXTREL: dynamic_.textrel = true; break;
        case DT_FLAGS: dynamic_.textrel |= (value & DF_TEXTREL) != 0; break;
        case DT_FLAGS_1: dynamic_.is_program = (value & DF_1_PIE) != 0; break;
        case DT_NEEDED:
          if (dynamic_.needed.size() < max_needed) dynamic_.needed.push_back(value);
          break;
        default: break;
      }
    }
    if (dynamic_.is_program) return fail(ElfProblem::not_a_library, "is a program");
    const auto strings = offset_of(dynamic_.strtab);
    if (!strings || !bytes_.holds(*strings, dynamic_.strsz))
      return fail(ElfProblem::malformed, "has its names outside of its segments");
    strings_ = *strings;
    return true;
  }

  void read_names() {
    file_.text_relocations = dynamic_.textrel;
    for (const uint64_t offset : dynamic_.needed)
      if (const auto name = text(offset); name && !name->empty()) file_.needed.push_back(*name);
    if (dynamic_.rpath) file_.rpath = text(*dynamic_.rpath).value_or("");
    if (dynamic_.runpath) file_.runpath = text(*dynamic_.runpath).value_or("");
  }

  void read_symbols() {
    const auto table = offset_of(dynamic_.symtab);
    if (!table) return void(file_.symbols_complete = false);
    const uint64_t count = std::min(count_symbols(*table), max_symbols);
    for (uint64_t i = 1; i < count; i++) {
      const auto symbol = bytes_.read<Elf64_Sym>(*table, i);
      const auto name = symbol ? text(symbol->st_name) : std::nullopt;
      if (!name) return void(file_.symbols_complete = false);
      const unsigned char bind = ELF64_ST_BIND(symbol->st_info);
      const unsigned char visibility = ELF64_ST_VISIBILITY(symbol->st_other);
      const bool global = bind == STB_GLOBAL || bind == STB_WEAK || bind == STB_GNU_UNIQUE;
      if (!global || name->empty() || visibility == STV_HIDDEN || visibility == STV_INTERNAL)
        continue;
      file_.symbols.push_back({*name, symbol->st_shndx != SHN_UNDEF, bind == STB_GNU_UNIQUE});
    }
  }

  // No entry says how many symbols there are. The old hash table does; the GNU one covers the defined
  // symbols, which come last; where it is empty, the section header or the place of the names tell.
  uint64_t count_symbols(uint64_t table) {
    if (const auto hash = dynamic_.hash != 0 ? offset_of(dynamic_.hash) : std::nullopt)
      if (const auto num_chains = bytes_.read<uint32_t>(*hash, 1)) return *num_chains;
    uint64_t count = count_by_gnu_hash();
    for (uint64_t i = 0; i < header_.e_shnum && header_.e_shentsize == sizeof(Elf64_Shdr); i++) {
      const auto section = bytes_.read<Elf64_Shdr>(header_.e_shoff, i);
      if (section && section->sh_type == SHT_DYNSYM && section->sh_offset == table)
        return std::max(count, section->sh_size / sizeof(Elf64_Sym));
    }
    if (strings_ > table) count = std::max(count, (strings_ - table) / sizeof(Elf64_Sym));
    file_.symbols_complete = count > 0;
    return count;
  }

  uint64_t count_by_gnu_hash() const {
    const auto start = dynamic_.gnu_hash != 0 ? offset_of(dynamic_.gnu_hash) : std::nullopt;
    const auto head = start ? bytes_.read<std::array<uint32_t, 4>>(*start) : std::nullopt;
    if (!head) return 0;
    const auto [num_buckets, first, num_blooms, shift] = *head;
    const uint64_t buckets = *start + 16 + uint64_t(num_blooms) * 8;
    const uint64_t chains = buckets + uint64_t(num_buckets) * 4;
    uint32_t last = 0;
    for (uint64_t i = 0; i < num_buckets; i++) {
      const auto bucket = bytes_.read<uint32_t>(buckets, i);
      if (!bucket) return 0;
      last = std::max(last, *bucket);
    }
    if (last < first) return first;
    for (uint64_t i = last - first;; i++) {
      const auto hash = bytes_.read<uint32_t>(chains, i);
      if (!hash) return 0;
      if ((*hash & 1) != 0) return first + i + 1;
    }
  }

  // Where in the file the byte at `address` lies, once it is loaded.
  std::optional<uint64_t> offset_of(uint64_t address) const {
    for (const Elf64_Phdr& load : loads_)
      if (address >= load.p_vaddr && address - load.p_vaddr < load.p_filesz)
        return load.p_offset + (address - load.p_vaddr);
    return std::nullopt;
  }

  std::optional<std::string_view> text(uint64_t offset) const {
    return bytes_.text(strings_, dynamic_.strsz, offset);
  }

  Bytes bytes_;
  ElfFile file_;
  Elf64_Ehdr header_{};
  std::vector<Elf64_Phdr> loads_, dynamics_;
  Dynamic dynamic_;
  uint64_t strings_ = 0;
};

}  // namespace

std::string_view process_architecture() {
  static const std::string name = machine_name(host_machine);
  return name;
}

ElfFile read_elf(std::span<const std::byte> bytes) {
  return Parser(bytes).run();
}

}  // namespace bp::loading

// For backends that compile: a seal around the binaries that they hand out, whether a SPIR-V module is whole, and how a
// struct of a newer or older host is filled. Not part of plugin.hpp: include it where it is needed.
#ifndef BACKPLANE_PLUGIN_BINARIES_HPP
#define BACKPLANE_PLUGIN_BINARIES_HPP

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include <backplane/plugin/status.hpp>

namespace BP_SDK BP_HIDDEN {

namespace detail {

// Drivers believe what they are given, and crash on a file that was cut or changed.
struct Seal {
  char maker[8];
  uint64_t bytes;
  uint64_t hash;
};

// FNV-1a, 64 bits.
inline Seal seal_of(std::string_view maker, std::string_view code) {
  Seal seal{};
  std::memcpy(seal.maker, maker.data(), std::min(maker.size(), sizeof seal.maker));
  seal.bytes = code.size();
  seal.hash = 0xcbf29ce484222325;
  for (const char byte : code)
    seal.hash = (seal.hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  return seal;
}

}  // namespace detail

// `code` as bp_compiler.binary gives it to the host. `maker`: up to 8 characters that say whose it is, and which format.
inline std::string seal_binary(std::string_view maker, std::string_view code) {
  const detail::Seal seal = detail::seal_of(maker, code);
  std::string sealed(sizeof seal + code.size(), '\0');
  std::memcpy(sealed.data(), &seal, sizeof seal);
  std::copy(code.begin(), code.end(), sealed.begin() + sizeof seal);
  return sealed;
}

// The content, within `binary`; empty for bytes of another maker, or incomplete ones.
inline std::string_view open_binary(std::string_view maker, std::string_view binary) {
  if (binary.size() <= sizeof(detail::Seal)) return {};
  const std::string_view code = binary.substr(sizeof(detail::Seal));
  const detail::Seal expected = detail::seal_of(maker, code);
  return std::memcmp(binary.data(), &expected, sizeof expected) == 0 ? code : std::string_view();
}

// BP_BAD_ARGUMENT, for bp_compiler.load: bytes that no maker here opens.
inline Status refuse_binary(const char* name, uint64_t bytes) {
  return bad_argument("%s: %llu bytes that are not a binary of this backend, or not all of it",
                      name, static_cast<unsigned long long>(bytes));
}

// Whether the instructions fill a SPIR-V module exactly: a driver was seen to end the process over one that was cut.
inline bool is_whole_spirv(const void* code, uint64_t bytes) {
  constexpr uint64_t header_words = 5;
  constexpr uint32_t spirv_magic = 0x07230203;
  const auto word = [code](uint64_t index) {
    uint32_t value;
    std::memcpy(&value, static_cast<const char*>(code) + 4 * index, 4);
    return value;
  };
  const uint64_t words = bytes / 4;
  if (bytes % 4 != 0 || words < header_words || word(0) != spirv_magic) return false;
  uint64_t at = header_words;
  while (at < words) {
    const uint32_t length = word(at) >> 16;
    if (length == 0) return false;
    at += length;
  }
  return at == words;
}

// The bytes that bp_compiler.load got; empty for none.
inline std::string_view given_binary(const void* binary, uint64_t bytes) {
  return binary == nullptr
             ? std::string_view()
             : std::string_view(static_cast<const char*>(binary), static_cast<size_t>(bytes));
}

// As bp_compiler.binary must answer: the size if `to` is null, else the bytes.
inline Status give_binary(const char* name, std::string_view binary, uint64_t& bytes, void* to) {
  if (to == nullptr) {
    bytes = binary.size();
    return ok;
  }
  if (bytes != binary.size()) {
    return bad_argument("%s: its binary has %zu bytes, not %llu", name, binary.size(),
                        static_cast<unsigned long long>(bytes));
  }
  std::memcpy(to, binary.data(), binary.size());
  return ok;
}

// Copies what the host's idea of the struct holds of `made`; its header stays the host's.
template <class T> Status fill_struct(T& out, const T& made, const char* what) {
  const size_t known = std::min<size_t>(out.h.size, sizeof made);
  if (known < sizeof out.h) return bad_argument("%s: the struct has %zu bytes", what, known);
  std::memcpy(reinterpret_cast<char*>(&out) + sizeof out.h,
              reinterpret_cast<const char*>(&made) + sizeof out.h, known - sizeof out.h);
  return ok;
}

}  // namespace BP_HIDDEN

#endif  // BACKPLANE_PLUGIN_BINARIES_HPP

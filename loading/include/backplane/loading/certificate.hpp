// Certificates of the conformance suite, as an application meets them: which one is of this library, and may it be
// believed? `backplane conform verify` asks more, since it has the journal as well.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <backplane/loading/environment.hpp>
#include <backplane/tensor/api.hpp>

namespace bp::loading {

// What a certificate must match.
struct CertifiedSubject {
  std::filesystem::path library;
  std::string backend, vendor, version, device_name;
};

// The one that counts, and why others in the same places do not.
struct CertificateSearch {
  std::string profile;      // "L5:f32,f16"; empty: there is none
  std::string extent;       // of the run: "quick", "normal" or "full"
  std::string device_name;  // on which it was done: "NVIDIA H200"
  std::string issued;       // "2026-11-22T10:00:00Z"
  std::filesystem::path file;
  std::vector<std::string> problems;  // a sentence each
};

inline constexpr const char* certificate_ending = ".certificate";
inline constexpr size_t max_certificate_bytes = 1 << 20;

// In which of its own figures a certificate, its `text`, contradicts itself, as one sentence that begins with `path`; empty: in none.
// All that can be counted again without the journal. Throws nothing.
BP_API std::string find_fault_in_certificate(std::string_view text,
                                             const std::filesystem::path& path);

// The folders that are looked through, in order: the library's own, those of the manifests that name it, and the user's.
BP_API std::vector<std::filesystem::path> certificate_folders(const std::filesystem::path& library,
                                                              const Environment& environment);

// Reads all files of these folders that end with `.certificate`. One counts if its digest is that of the library, it
// contradicts nothing, and nobody else could have written it; the first of the same device, or else the first. Reads the
// whole library if there is any.
BP_API CertificateSearch find_certificate(const CertifiedSubject& subject,
                                          const Environment& environment);

}  // namespace bp::loading

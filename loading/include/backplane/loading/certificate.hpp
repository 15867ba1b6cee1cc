// Certificates of the conformance suite, as an application uses them: which one belongs to this library, and can it be
// trusted? `backplane conform verify` checks more, since it also has the journal.
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

// The certificate that counts, and why others in the same places do not.
struct CertificateSearch {
  std::string profile;      // "L5:f32,f16"; empty if there is none
  std::string extent;       // of the run: "quick", "normal" or "full"
  std::string device_name;  // the device of the run: "NVIDIA H200"
  std::string issued;       // "2026-11-22T10:00:00Z"
  std::filesystem::path file;
  std::vector<std::string> problems;  // a sentence each
};

inline constexpr const char* certificate_ending = ".certificate";
inline constexpr size_t max_certificate_bytes = 1 << 20;

// Checks everything in a certificate's `text` that can be recounted without the journal. Returns the first contradiction
// as one sentence that begins with `path`, or "". Throws nothing.
BP_API std::string find_fault_in_certificate(std::string_view text,
                                             const std::filesystem::path& path);

// The folders to search, in order: the library's own, those of the manifests that name it, and the user's.
BP_API std::vector<std::filesystem::path> certificate_folders(const std::filesystem::path& library,
                                                              const Environment& environment);

// Reads all files in these folders whose names end with `.certificate`. A certificate counts if its digest matches the
// library, it does not contradict itself, and nobody else could have written it. Of these, returns the first for the same
// device, or else the first. Reads the whole library if there is any certificate.
BP_API CertificateSearch find_certificate(const CertifiedSubject& subject,
                                          const Environment& environment);

}  // namespace bp::loading

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include <backplane/loading/certificate.hpp>
#include <backplane/loading/discovery.hpp>
#include <backplane/loading/file_trust.hpp>
#include <backplane/loading/sha256.hpp>

namespace bp::loading {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* figures[] = {"run", "correct", "native", "failed", "waived", "unsupported"};
constexpr size_t max_certificates = 256;

std::string profile_of(const json& native) {
  std::string text = "L" + std::to_string(native.at("level").get<int>());
  const char* before = ":";
  for (const json& dtype : native.at("dtypes")) {
    text += before + dtype.get<std::string>();
    before = ",";
  }
  return text;
}

std::string find_fault_in_count(const json& count, const std::string& what) {
  int64_t values[6];
  for (size_t i = 0; i < 6; i++)
    if (values[i] = count.at(figures[i]).get<int64_t>(); values[i] < 0 || values[i] > values[0])
      return what + " has " + std::to_string(values[i]) + " cases that are " + figures[i] + " of " +
             std::to_string(values[0]);
  if (values[2] > values[1]) return what + " has more native cases than correct ones";
  if (values[1] + values[3] > values[0]) return what + " has more cases than were run";
  return {};
}

std::string find_fault_in_sums(const json& summary) {
  const json &total = summary.at("total"), &levels = summary.at("levels");
  std::string fault = find_fault_in_count(total, "the total");
  for (size_t i = 0; i < levels.size() && fault.empty(); i++)
    fault = find_fault_in_count(levels[i], "level " + std::to_string(i));
  for (const char* figure : figures) {
    int64_t sum = 0;
    for (const json& level : levels) sum += level.at(figure).get<int64_t>();
    if (fault.empty() && sum != total.at(figure).get<int64_t>())
      fault = std::string("its levels have ") + std::to_string(sum) + " cases under \"" + figure +
              "\", the total " + total.at(figure).dump();
  }
  return fault;
}

// Are the levels that the profile names there, and without a failure?
std::string find_fault_in_profile(const json& certificate) {
  const json &summary = certificate.at("summary"), &native = summary.at("native"),
             &levels = summary.at("levels");
  const std::string profile = summary.at("profile").get<std::string>();
  if (certificate.at("profile") != profile) return "it names two profiles";
  if (profile != profile_of(native))
    return "it names the profile " + profile + ", its figures give " + profile_of(native);
  const int level = native.at("level").get<int>();
  if (level > summary.at("correct").at("level").get<int>()) return "more is native than is correct";
  if (level < 0 || level > certificate.at("selection").at("level").get<int>() ||
      static_cast<size_t>(level) >= levels.size())
    return "it names level " + std::to_string(level) + ", which was not asked for";
  for (int i = 0; i <= level; i++)
    if (levels[static_cast<size_t>(i)].at("native").get<int64_t>() == 0)
      return "it names level " + std::to_string(level) + " without a native case of level " +
             std::to_string(i);
  return {};
}

// Throws where one of the texts is missing or none.
void check_texts(const json& certificate) {
  for (const char* key : {"sha256", "library", "backend", "vendor", "version", "device_name"})
    certificate.at("subject").at(key).get_ref<const std::string&>();
  certificate.at("journal").at("sha256").get_ref<const std::string&>();
  certificate.at("selection").at("profile").get_ref<const std::string&>();
  certificate.at("issued").get_ref<const std::string&>();
}

std::string find_fault_in_whole(const json& certificate) {
  const json &summary = certificate.at("summary"), &selection = certificate.at("selection");
  if (certificate.at("certificate") != 1) return "its format is not 1, the only one known here";
  if (!summary.at("ok").get<bool>() || summary.at("total").at("failed") != 0 ||
      !summary.at("waiver_problems").empty())
    return "it is of a run with failures";
  if (!selection.at("filters").empty() || selection.at("num_shards") != 1)
    return "it is of a part of the cases";
  if (certificate.at("must_run").at("cases") > summary.at("total").at("run"))
    return "it has fewer cases than had to be run";
  if (certificate.at("waivers").empty() && summary.at("total").at("waived") != 0)
    return "it waives cases without a waiver";
  for (const char* part : {"subject", "journal"})
    if (certificate.at(part).at("sha256").get<std::string>().size() != 64)
      return std::string("the digest of its ") + part + " is none";
  return {};
}

std::optional<json> read_certificate(const fs::path& file, std::string& problem) {
  std::ifstream stream(file, std::ios::binary);
  std::string text(max_certificate_bytes + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(std::max<std::streamsize>(stream.gcount(), 0)));
  if (text.empty())
    problem = file.string() + ": cannot be read, or is empty";
  else if (text.size() > max_certificate_bytes)
    problem =
        file.string() + ": is larger than " + std::to_string(max_certificate_bytes) + " bytes";
  if (!problem.empty()) return std::nullopt;
  if (problem.empty()) problem = find_fault_in_certificate(text, file);
  if (!problem.empty()) return std::nullopt;
  return json::parse(text);
}

std::vector<fs::path> certificates_in(const std::vector<fs::path>& folders) {
  std::vector<fs::path> found;
  for (const fs::path& folder : folders) {
    std::vector<fs::path> here;
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
         entry.increment(error))
      if (entry->path().extension() == certificate_ending && here.size() < max_certificates)
        here.push_back(entry->path());
    std::sort(here.begin(), here.end());
    found.insert(found.end(), here.begin(), here.end());
  }
  return found;
}

// The digest has been compared; the rest is what a person would be told.
std::string find_other_subject(const json& of, const CertifiedSubject& subject,
                               const fs::path& file) {
  const std::pair<const char*, const std::string&> names[] = {
      {"backend", subject.backend}, {"vendor", subject.vendor}, {"version", subject.version}};
  for (const auto& [key, own] : names)
    if (of.at(key) != own)
      return file.string() + ": its " + key + " is " + of.at(key).dump() + ", the library says \"" +
             own + "\"";
  return {};
}

}  // namespace

std::string find_fault_in_certificate(std::string_view text, const fs::path& path) {
  std::string fault;
  try {
    const json certificate = json::parse(text);
    check_texts(certificate);
    fault = find_fault_in_whole(certificate);
    if (fault.empty()) fault = find_fault_in_sums(certificate.at("summary"));
    if (fault.empty()) fault = find_fault_in_profile(certificate);
  } catch (const json::exception&) {
    return path.string() + ": not a certificate of backplane conform, or parts of it are missing";
  }
  return fault.empty() ? fault : path.string() + ": the certificate does not hold: " + fault;
}

std::vector<fs::path> certificate_folders(const fs::path& library, const Environment& environment) {
  std::vector<fs::path> folders = {library.parent_path()};
  for (const Candidate& candidate : discover(environment))
    if (!candidate.manifest_file.empty() && candidate.library == library)
      folders.push_back(candidate.manifest_file.parent_path());
  if (!environment.user_certificates.empty()) folders.push_back(environment.user_certificates);
  std::vector<fs::path> once;
  for (fs::path& folder : folders)
    if (std::find(once.begin(), once.end(), folder) == once.end())
      once.push_back(std::move(folder));
  return once;
}

CertificateSearch find_certificate(const CertifiedSubject& subject,
                                   const Environment& environment) {
  CertificateSearch out;
  std::optional<std::string> digest;
  for (const fs::path& file : certificates_in(certificate_folders(subject.library, environment))) {
    std::string problem;
    const std::optional<json> read = read_certificate(file, problem);
    if (read) {
      const json& of = read->at("subject");
      if (!digest) digest = sha256_of_file(subject.library).value_or("");
      const bool same_library = of.at("sha256") == *digest;
      const bool same_name = of["library"] == subject.library.filename().string();
      if (!same_library && !same_name) continue;  // another plugin's: folders are shared
      if (!same_library)
        problem = file.string() + ": is of another build of " + subject.library.string() +
                  "; certify this one";
      if (problem.empty()) problem = check_trust(file, environment).problem;
      if (problem.empty()) problem = find_other_subject(of, subject, file);
    }
    if (!problem.empty()) {
      out.problems.push_back(std::move(problem));
      continue;
    }
    const std::string device_name = (*read)["subject"]["device_name"];
    if (!out.profile.empty() &&
        (out.device_name == subject.device_name || device_name != subject.device_name))
      continue;
    out.profile = (*read)["profile"];
    out.extent = (*read)["selection"]["profile"];
    out.device_name = device_name;
    out.issued = (*read)["issued"];
    out.file = file;
  }
  return out;
}

}  // namespace bp::loading

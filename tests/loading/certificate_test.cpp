#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <backplane/loading/certificate.hpp>
#include <backplane/loading/sha256.hpp>

#include "loading/support.hpp"

namespace bp::loading {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

json count(int run) {
  return {{"run", run},  {"correct", run}, {"native", run},
          {"failed", 0}, {"waived", 0},    {"unsupported", 0}};
}

// As `backplane conform certify` writes it, without what nobody reads here.
json certificate_of(const std::string& sha256) {
  json native = {{"level", 1}, {"dtypes", {"f32", "i64"}}};
  return {{"certificate", 1},
          {"profile", "L1:f32,i64"},
          {"issued", "2026-11-22T10:00:00Z"},
          {"subject",
           {{"sha256", sha256},
            {"library", "libplugin.so"},
            {"backend", "acme"},
            {"vendor", "Acme"},
            {"version", "1.2"},
            {"device_name", "Acme One"}}},
          {"selection",
           {{"filters", json::array()}, {"num_shards", 1}, {"level", 1}, {"profile", "full"}}},
          {"must_run", {{"cases", 30}}},
          {"journal", {{"sha256", std::string(64, 'a')}}},
          {"waivers", json::array()},
          {"summary",
           {{"total", count(30)},
            {"levels", {count(10), count(20)}},
            {"correct", native},
            {"native", native},
            {"profile", "L1:f32,i64"},
            {"waiver_problems", json::array()},
            {"ok", true}}}};
}

class Certificates : public testing::Test {
 protected:
  Certificates() {
    environment_.user_certificates = folder_ / "user";
    subject_.library = folder_.copy("good");
    certificate_ = certificate_of(*sha256_of_file(subject_.library));
  }
  CertificateSearch find() const { return find_certificate(subject_, environment_); }
  fs::path write(const json& content, const std::string& name = "user/acme.certificate") const {
    return write_file(folder_ / name, content.dump());
  }

  const TemporaryFolder folder_;
  Environment environment_ = bare_environment();
  CertifiedSubject subject_{{}, "acme", "Acme", "1.2", "Acme One"};
  json certificate_;
};

TEST_F(Certificates, of_this_library_give_its_level) {
  EXPECT_EQ(find().profile, "");
  EXPECT_THAT(find().problems, IsEmpty());
  const fs::path file = write(certificate_);
  const CertificateSearch found = find();
  EXPECT_EQ(found.profile, "L1:f32,i64");
  EXPECT_EQ(found.extent, "full");
  EXPECT_EQ(found.device_name, "Acme One");
  EXPECT_EQ(found.issued, "2026-11-22T10:00:00Z");
  EXPECT_EQ(found.file, file);
  EXPECT_THAT(found.problems, IsEmpty());
}

TEST_F(Certificates, lie_beside_the_library_or_beside_a_manifest_that_names_it) {
  const fs::path beside = write(certificate_, "libplugin.certificate");
  EXPECT_EQ(find().file, beside);
  fs::remove(beside);
  const json manifest = {{"name", "acme"},
                         {"library", subject_.library},
                         {"abi_min", 1},
                         {"abi_max", 1},
                         {"architecture", std::string(process_architecture())}};
  write(manifest, "manifests/acme.json");
  const fs::path by_manifest = write(certificate_, "manifests/acme.certificate");
  EXPECT_EQ(find().profile, "");
  environment_.plugin_path = folder_ / "manifests";
  EXPECT_EQ(find().file, by_manifest);
}

TEST_F(Certificates, of_another_build_do_not_count) {
  write(certificate_);
  write_file(subject_.library, read_file(subject_.library) + " ");
  EXPECT_EQ(find().profile, "");
  EXPECT_THAT(find().problems, ElementsAre(HasSubstr("of another build of")));
  // Of another plugin, which has its certificates in the same folder: nothing to say.
  certificate_["subject"]["library"] = "libother.so";
  write(certificate_);
  EXPECT_THAT(find().problems, IsEmpty());
}

TEST_F(Certificates, of_the_same_device_come_before_others) {
  write(certificate_, "user/b.certificate");
  certificate_["subject"]["device_name"] = "Acme Two";
  write(certificate_, "user/a.certificate");
  EXPECT_EQ(find().device_name, "Acme One");
  subject_.device_name = "Acme Three";
  EXPECT_EQ(find().device_name, "Acme Two");
}

TEST_F(Certificates, that_nobody_can_believe_do_not_count) {
  const std::pair<const char*, json> forgeries[] = {
      {"/profile", "L5:f32"},
      {"/summary/profile", "L1:f32"},
      {"/summary/native/level", 5},
      {"/summary/native/dtypes", {"f32", "i64", "f64"}},
      {"/summary/correct/level", 0},
      {"/summary/ok", false},
      {"/summary/total/failed", 1},
      {"/summary/levels/0/run", 11},
      {"/summary/levels/1/native", 21},
      {"/summary/levels/0/correct", -1},
      {"/summary/waiver_problems", {"expired"}},
      {"/summary/total/waived", 3},
      {"/selection/filters", {"relu*"}},
      {"/selection/num_shards", 4},
      {"/selection/level", 0},
      {"/must_run/cases", 31},
      {"/certificate", 2},
      {"/subject/version", "1.3"},
      {"/subject/backend", "other"},
      {"/summary", nullptr},
      {"/subject/sha256", 7}};
  for (const auto& [place, value] : forgeries) {
    json forged = certificate_;
    forged[json::json_pointer(place)] = value;
    const fs::path file = write(forged);
    const CertificateSearch found = find();
    EXPECT_EQ(found.profile, "") << place;
    EXPECT_THAT(found.problems, ElementsAre(HasSubstr(file.string() + ": "))) << place;
  }
  write(certificate_);
  EXPECT_EQ(find().profile, "L1:f32,i64");
}

TEST_F(Certificates, of_this_tree_hold) {
  int seen = 0;
  for (const auto& entry : fs::directory_iterator(BP_SOURCE_DIR "/docs/certificates"))
    if (entry.path().extension() == ".json") {
      EXPECT_EQ(find_fault_in_certificate(read_file(entry.path()), entry.path()), "");
      ++seen;
    }
  EXPECT_GT(seen, 0);
}

TEST_F(Certificates, that_cannot_be_read_are_named) {
  for (const std::string& text :
       {std::string(), std::string("no JSON"), std::string("[]"),
        std::string("{\"certificate\": 1}"), std::string(max_certificate_bytes + 1, ' '),
        std::string(200000, '[')}) {
    const fs::path file = write_file(folder_ / "user/acme.certificate", text);
    EXPECT_EQ(find().profile, "");
    EXPECT_THAT(find().problems, ElementsAre(HasSubstr(file.string())));
  }
}

TEST_F(Certificates, that_anyone_may_write_do_not_count) {
  fs::permissions(write(certificate_), fs::perms::others_write, fs::perm_options::add);
  EXPECT_EQ(find().profile, "");
  EXPECT_THAT(find().problems, ElementsAre(HasSubstr("acme.certificate")));
}

}  // namespace
}  // namespace bp::loading

// Trials for a worker without a device (fake_worker/main.cpp): each case's shape says what the worker does.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

#include "runner/commands.hpp"
#include "runner/pool.hpp"

namespace bp::test {

#ifndef BP_BUILD_BIN_DIR
#  define BP_BUILD_BIN_DIR BP_BINARY_DIR "/bin"
#endif
inline const std::string conform_program = BP_BUILD_BIN_DIR "/backplane-conform";
inline const std::string fake_worker = BP_BUILD_BIN_DIR "/conform_fake_worker";

// A folder of this test's own, removed at its end.
class ConformFolder {
 public:
  ConformFolder() {
    std::string pattern = std::filesystem::temp_directory_path() / "backplane-conform-XXXXXX";
    path = mkdtemp(pattern.data());
  }
  ~ConformFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::string file(const std::string& name) const { return path + "/" + name; }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(file(name)) << text;
    return file(name);
  }
  std::string path;
};

class FakeTrial : public conform::Trial {
 public:
  explicit FakeTrial(const conform::Case& one) : one_(one) {}
  int num_scripts() const override { return 1; }
  conform::Json script(int) override {
    return {
        {"case", name_of(one_)}, {"poison", 0}, {"steps", {{{"do", "act"}, {"what", one_.shape}}}}};
  }
  conform::Verdict judge(const std::vector<conform::Json>& answers) override {
    conform::Verdict verdict;
    if (answers.at(0).at("steps").at(0).at("code") != 0) {
      verdict.outcome = conform::Outcome::fail;
      verdict.why = "it failed";
    }
    return verdict;
  }
  int timeout_seconds() const override { return 1; }

 private:
  conform::Case one_;
};

inline conform::Case fake_case(const std::string& what, std::uint64_t seed = 1) {
  conform::Case one;
  one.lane = conform::Lane::probe;
  one.op = "fake.act";
  one.shape = what;
  one.seed = seed;
  return one;
}

inline conform::Bench fake_bench() {
  conform::Bench bench;
  bench.plan.executable = fake_worker;
  bench.plan.device = "fake:0";
  bench.make_trial = [](const conform::Case& one, const conform::Subject&) {
    return std::make_unique<FakeTrial>(one);
  };
  return bench;
}

// A program that is a worker `times` times, then `failures` times ends at once (0: from then on), and then is one again.
inline std::string worker_that_starts(const ConformFolder& folder, int times, int failures = 0,
                                      const std::string& worker = fake_worker) {
  const int last = failures == 0 ? 1 << 30 : times + failures;
  std::string program =
      folder.write("worker",
                   "#!/bin/sh\n"
                   "echo >>\"$0.starts\"\n"
                   "n=$(wc -l <\"$0.starts\")\n"
                   "if [ $n -gt " +
                       std::to_string(times) + " ] && [ $n -le " + std::to_string(last) +
                       " ]; then\n"
                       "  echo no more processes >&2\n"
                       "  exit 9\n"
                       "fi\n"
                       "exec " +
                       worker + " \"$@\"\n");
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  return program;
}

// A header as `run` writes it.
inline conform::Json fake_header(std::size_t cases) {
  conform::Subject subject;
  subject.device = "fake:0";
  subject.backend = "fake";
  return {{"run",
           {{"tool", "test"},
            {"subject", conform::to_json(subject)},
            {"selection", conform::Selection()},
            {"digest", "none"},
            {"cases", cases},
            {"started", 0},
            {"host", conform::Json::object()}}}};
}

}  // namespace bp::test

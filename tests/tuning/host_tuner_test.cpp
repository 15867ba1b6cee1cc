// needs: reference
// The tuner as a plugin meets it: bp.tuner of its host.
#include <cstdlib>
#include <gtest/gtest.h>

#include <backplane/extensions/tuner.h>
#include <backplane/loading/loader.hpp>
#include <backplane/runtime/device_registry.hpp>
#include <backplane/tuning/tuner.hpp>

#include "tools/run_program.hpp"

namespace bp {
namespace {

class HostTuner : public testing::Test {
 protected:
  HostTuner() {
    setenv("BACKPLANE_CACHE_DIR", (folder_.path() / "kernels").c_str(), 1);
    tuner::forget();
    host_ = device_record(device("reference:0")).backend->host;
    tuner_ = reinterpret_cast<const bp_tuner*>(host_->extension(host_, BP_TUNER, BP_TUNER_VERSION));
    question_.h = {sizeof question_, BP_TYPE_TUNER_QUESTION, nullptr};
    question_.what = "ways 1; 64";
    question_.identity = "driver 7";
    question_.num_ways = 3;
    question_.context = this;
  }
  ~HostTuner() override {
    unsetenv("BACKPLANE_CACHE_DIR");
    unsetenv("BACKPLANE_TUNE");
    tuner::forget();
  }

  void measure_these(std::vector<double> seconds) {
    seconds_ = std::move(seconds);
    question_.measure = [](void* context, std::uint32_t way, double* out) {
      auto& self = *static_cast<HostTuner*>(context);
      ++self.asked_;
      *out = self.seconds_[way];
      return bp_code{*out > 0 ? BP_OK : BP_UNSUPPORTED};
    };
  }
  std::uint32_t ask() { return tuner_->ask(host_, &question_); }

  test::TemporaryFolder folder_;
  const bp_host* host_ = nullptr;
  const bp_tuner* tuner_ = nullptr;
  bp_tuner_question question_{};
  std::vector<double> seconds_;
  int asked_ = 0;
};

TEST_F(HostTuner, finds_the_fastest_way_and_names_who_asked) {
  ASSERT_NE(tuner_, nullptr);
  measure_these({3, 1, 2});
  EXPECT_EQ(ask(), 1u);
  const int before = asked_;
  EXPECT_EQ(ask(), 1u);
  EXPECT_EQ(asked_, before);
  const auto kept = tuner::kept_decisions();
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept[0].what, "ways 1; 64");
  EXPECT_TRUE(kept[0].identity.starts_with("reference ")) << kept[0].identity;
  EXPECT_TRUE(kept[0].identity.ends_with("; driver 7")) << kept[0].identity;
}

TEST_F(HostTuner, takes_ways_that_fail_out_of_the_race) {
  measure_these({3, -1, 2});
  EXPECT_EQ(ask(), 2u);
  question_.what = "ways 2";
  measure_these({-1, 1, 2});
  EXPECT_EQ(ask(), 0u);
  EXPECT_EQ(tuner::kept_decisions().size(), 1u) << "the second question stays open";
}

TEST_F(HostTuner, lets_a_plugin_decide_by_itself) {
  question_.decide = [](void*, std::uint32_t* way) {
    *way = 2;
    return bp_code{BP_OK};
  };
  EXPECT_EQ(ask(), 2u);
  question_.what = "another";
  question_.decide = [](void*, std::uint32_t*) { return bp_code{BP_INTERNAL}; };
  EXPECT_EQ(ask(), 0u);
  question_.decide = [](void*, std::uint32_t* way) {
    *way = 3;  // which does not exist
    return bp_code{BP_OK};
  };
  EXPECT_EQ(ask(), 0u);
}

TEST_F(HostTuner, measures_on_request_alone_what_asks_for_that) {
  question_.flags = BP_TUNER_ON_REQUEST;
  measure_these({3, 1, 2});
  EXPECT_EQ(ask(), 0u);
  EXPECT_EQ(asked_, 0);
  tuner::forget();
  setenv("BACKPLANE_TUNE", "all", 1);
  EXPECT_EQ(ask(), 1u);
}

// Whatever a plugin gives wrong is answered with the usual way.
TEST_F(HostTuner, answers_questions_that_are_none) {
  measure_these({3, 1, 2});
  EXPECT_EQ(tuner_->ask(host_, nullptr), 0u);
  const auto refused = [&](auto spoil) {
    const bp_tuner_question good = question_;
    spoil(question_);
    const std::uint32_t way = ask();
    question_ = good;
    return way == 0 && asked_ == 0;
  };
  EXPECT_TRUE(refused([](bp_tuner_question& q) { q.what = nullptr; }));
  EXPECT_TRUE(refused([](bp_tuner_question& q) { q.identity = nullptr; }));
  EXPECT_TRUE(refused([](bp_tuner_question& q) { q.measure = nullptr; }));
  EXPECT_TRUE(refused([](bp_tuner_question& q) { q.num_ways = 0; }));
  EXPECT_TRUE(refused([](bp_tuner_question& q) { q.h.size = 16; }));
}

TEST_F(HostTuner, is_not_offered_in_a_version_that_there_is_not) {
  EXPECT_EQ(host_->extension(host_, BP_TUNER, BP_TUNER_VERSION + 1), nullptr);
}

}  // namespace
}  // namespace bp

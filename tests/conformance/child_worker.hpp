// A worker in a child of the test, started by the runner's own means.
#pragma once

#include <gtest/gtest.h>
#include <string>

#include "conformance/fake.hpp"
#include "runner/execute.hpp"

namespace bp::conform {

class ChildWorker {
 public:
  ChildWorker(const std::string& device, const std::string& lane, const std::string& plugin = "")
      : process_(plan_of(device, plugin), lane) {}
  ~ChildWorker() {
    const std::string ended = process_.finish();
    EXPECT_TRUE(ended == "exit code 0" || ended.starts_with("exit code 0;")) << ended;
  }
  ChildWorker(const ChildWorker&) = delete;
  ChildWorker& operator=(const ChildWorker&) = delete;

  // Null if the worker died.
  Json run(const Json& script) {
    process_.post(script);
    Json answer;
    const auto got = process_.next(answer, WorkerProcess::Clock::now() + patience_at_start);
    EXPECT_EQ(got, WorkerProcess::Got::message) << "the worker has died, or its answer is late";
    return answer;
  }
  Json ask(Json steps, int poison = 0xA5) {
    return run({{"case", "test"}, {"poison", poison}, {"steps", std::move(steps)}});
  }

 private:
  static WorkerPlan plan_of(const std::string& device, const std::string& plugin) {
    WorkerPlan plan;
    plan.executable = test::conform_program;
    plan.device = device;
    plan.plugin = plugin;
    return plan;
  }

  WorkerProcess process_;
};

}  // namespace bp::conform

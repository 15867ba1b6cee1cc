// A worker in a child of the test, as the runner starts it.
#pragma once

#include <gtest/gtest.h>
#include <set>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include "worker/scope.hpp"

namespace bp::conform {

class ChildWorker {
 public:
  ChildWorker(const std::string& device, const std::string& lane, const std::string& plugin = "") {
    EXPECT_EQ(pipe(requests_), 0);
    EXPECT_EQ(pipe(answers_), 0);
    pid_ = fork();
    if (pid_ == 0) {
      close(requests_[1]);
      close(answers_[0]);
      for (const int end : parents_ends())
        close(end);  // else another worker never sees the end of its requests
      WorkerOptions options;
      options.device = device;
      options.lane = lane;
      options.plugin = plugin;
      _exit(run_worker(requests_[0], answers_[1], options));
    }
    close(requests_[0]);
    close(answers_[1]);
    parents_ends().insert({requests_[1], answers_[0]});
  }
  ~ChildWorker() {
    for (const int end : {requests_[1], answers_[0]}) {
      parents_ends().erase(end);
      close(end);
    }
    int status = 0;
    waitpid(pid_, &status, 0);
    EXPECT_EQ(status, 0);
  }
  ChildWorker(const ChildWorker&) = delete;
  ChildWorker& operator=(const ChildWorker&) = delete;

  Json run(const Json& script) {
    EXPECT_TRUE(send(requests_[1], script));
    Json answer;
    try {
      EXPECT_TRUE(receive(answers_[0], answer)) << "the worker has died";
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
    return answer;
  }
  Json ask(Json steps, int poison = 0xA5) {
    return run({{"case", "test"}, {"poison", poison}, {"steps", std::move(steps)}});
  }

 private:
  static std::set<int>& parents_ends() {
    static std::set<int> ends;
    return ends;
  }

  int requests_[2], answers_[2];
  pid_t pid_ = -1;
};

}  // namespace bp::conform

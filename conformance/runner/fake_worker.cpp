#include "runner/fake_worker.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <thread>
#include <unistd.h>

#include "cases/subject.hpp"
#include "protocol/script.hpp"

namespace bp::conform {
namespace {

struct Actor {
  int answers;
  bool spoiled = false;

  Json act(const std::string& what) {
    if (what == "crash" || (what == "spoiled" && spoiled)) std::abort();
    if (what == "exit") std::exit(3);
    if (what == "hang") std::this_thread::sleep_for(std::chrono::hours(1));
    if (what == "late") std::this_thread::sleep_for(std::chrono::milliseconds(50));
    if (what == "garbage" && write(answers, "not a message at all", 20) != 20) std::exit(4);
    if (what == "spoil") spoiled = true;
    if (what.starts_with("once:")) {
      const int file = open(what.c_str() + 5, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
      if (file >= 0) std::abort();
    }
    return {{"code", what == "fail" ? 1 : 0}};
  }
};

Json fake_subject() {
  Subject subject;
  subject.device = "fake:0";
  subject.backend = "fake";
  return to_json(subject);
}

}  // namespace

int run_fake_worker(int requests, int answers, int journal) {
  Actor actor{answers};
  for (Json request; receive(requests, request);) {
    if (journal >= 0)
      dprintf(journal, "%s\n",
              Json({{"begin", request["case"]}, {"worker", getpid()}}).dump().c_str());
    Json answer = {{"case", request["case"]}, {"steps", Json::array()}, {"watch", Json::object()}};
    for (const Json& step : request["steps"])
      answer["steps"].push_back(
          step["do"] == "describe" ? fake_subject() : actor.act(step["what"].get<std::string>()));
    if (!send(answers, answer)) return 1;
  }
  return 0;
}

}  // namespace bp::conform

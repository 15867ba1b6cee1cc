// A worker without a device, for tests of the runner: its one step is {"do":"act", "what":WORD}, and WORD is done.
//
//   pass     answers        fail     answers {"code": 1}    crash   aborts         hang   sleeps forever
//   exit     exit(3)        garbage  writes no message      spoil   answers, and from then on
//   spoiled  aborts if the process is spoiled               late    answers after 50 ms
//   once:PATH      aborts if there is no such file, which it makes first
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

#include "cases/subject.hpp"
#include "protocol/script.hpp"

using namespace bp::conform;

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

// The words of the runner, of which the journal's descriptor alone counts here.
int main(int argc, char** argv) {
  constexpr int requests = 3, answers = 4;  // see runner/worker_process.cpp
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  int journal = -1;
  for (int i = 1; i + 1 < argc; ++i)
    if (std::strcmp(argv[i], "--journal-fd") == 0) journal = std::atoi(argv[i + 1]);
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
}

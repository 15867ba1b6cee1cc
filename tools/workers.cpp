#include "workers.hpp"

#include <algorithm>
#include <csignal>
#include <new>
#include <nlohmann/json.hpp>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <backplane/tensor/check.hpp>

namespace bp::tools {
namespace {

using Counter = std::atomic<std::size_t>;

// Each opens the device, whose memory they share.
constexpr unsigned most_workers = 4;

struct Process {
  pid_t id;
  std::FILE* answers;
};

// In memory that forked processes see as well.
Counter& shared_counter() {
  void* place =
      mmap(nullptr, sizeof(Counter), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  BP_CHECK(place != MAP_FAILED, "ops: no memory to share with other processes");
  return *new (place) Counter(0);
}

Process start(const std::function<void(Worker&)>& work, Counter& next) {
  std::FILE* answers = std::tmpfile();
  BP_CHECK(answers, "ops: no temporary file for what another process answers");
  std::fflush(stdout);
  const pid_t id = fork();
  BP_CHECK(id >= 0, "ops: cannot start another process");
  if (id != 0) return {id, answers};
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // nobody reads the answers then
  Worker worker(next, answers);
  try {
    work(worker);
  } catch (const std::exception& error) {
    worker.answer({{"failed", error.what()}});
  }
  // Nothing is taken down: plugins are not made to end in a forked process's order.
  _exit(0);
}

std::vector<nlohmann::ordered_json> answers_of(std::FILE* file) {
  std::rewind(file);
  std::string text;
  char piece[4096];
  while (const std::size_t count = std::fread(piece, 1, sizeof piece, file))
    text.append(piece, count);
  std::fclose(file);
  std::vector<nlohmann::ordered_json> answers;
  std::size_t begin = 0;
  // The last line may be cut off.
  for (std::size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
    answers.push_back(nlohmann::ordered_json::parse(text.substr(begin, end - begin)));
  return answers;
}

// Waits, appends what was answered and tells whether another should go on in its place.
bool finish(const Process& process, std::vector<nlohmann::ordered_json>& all) {
  int status = 0;
  waitpid(process.id, &status, 0);
  bool holds_piece = false;
  nlohmann::ordered_json piece;
  for (nlohmann::ordered_json& answer : answers_of(process.answers)) {
    holds_piece = answer.contains("taken");
    if (holds_piece)
      piece = answer["taken"];
    else
      all.push_back(std::move(answer));
  }
  if (status == 0) return false;
  if (!holds_piece) piece = nullptr;
  // A sanitizer, or a plugin that calls exit(), makes a code of it.
  const std::string end = WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status))
                                              : fmt::format("code {}", WEXITSTATUS(status));
  all.push_back({{"crashed", piece}, {"end", end}});
  return holds_piece;
}

}  // namespace

std::size_t Worker::take() {
  const std::size_t piece = next_.fetch_add(1);
  answer({{"taken", piece}});
  return piece;
}

void Worker::answer(const nlohmann::ordered_json& answer) {
  // A compiler's log need not be UTF-8.
  const std::string line =
      answer.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  std::fwrite(line.data(), 1, line.size(), answers_);
  std::fflush(answers_);
}

std::vector<nlohmann::ordered_json> run_in_workers(const std::function<void(Worker&)>& work) {
  Counter& next = shared_counter();
  std::vector<Process> running;
  const unsigned count = std::clamp(std::thread::hardware_concurrency(), 1u, most_workers);
  for (unsigned i = 0; i < count; ++i) running.push_back(start(work, next));
  std::vector<nlohmann::ordered_json> all;
  for (std::size_t i = 0; i < running.size(); ++i)
    if (finish(running[i], all)) running.push_back(start(work, next));
  munmap(&next, sizeof next);
  return all;
}

}  // namespace bp::tools

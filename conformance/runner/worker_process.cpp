#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <map>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <backplane/tensor/error.hpp>

#include "refuse.hpp"
#include "runner/execute.hpp"

namespace bp::conform {
namespace {

// So that most answers fit into the pipe while the parent still computes what to expect.
constexpr int pipe_bytes = 1 << 20;
constexpr std::uint64_t longest_message = std::uint64_t{1} << 33;
// How soon an interrupt is noticed.
constexpr int longest_poll_ms = 100;

void prepare_pipe(int file) {
  fcntl(file, F_SETFL, fcntl(file, F_GETFL) | O_NONBLOCK);
  fcntl(file, F_SETPIPE_SZ, pipe_bytes);  // refused to a user who has many pipes: slower, not wrong
}

// Where a worker finds its descriptors. The first three are for the plugin to write to.
constexpr int requests_file = 3, answers_file = 4, journal_file = 5;

std::vector<std::string> command_of(const WorkerPlan& plan, const std::string& lane) {
  // This program, unless a person says otherwise: where a worker is to run under valgrind, or an emulator in which
  // /proc/self/exe is the emulator.
  const char* const given = std::getenv("BACKPLANE_CONFORM_WORKER");
  const std::string usual = given ? given : "/proc/self/exe";
  std::vector<std::string> words = {plan.executable.empty() ? usual : plan.executable,
                                    "worker",
                                    "--device",
                                    plan.device,
                                    "--lane",
                                    lane};
  if (!plan.plugin.empty()) words.insert(words.end(), {"--plugin", plan.plugin});
  if (plan.journal >= 0) words.insert(words.end(), {"--journal-fd", std::to_string(journal_file)});
  if (!plan.debugger) return words;
  std::vector<std::string> debugger = {"gdb", "-q", "-ex", "run", "--args"};
  words[0] = "/proc/" + std::to_string(getpid()) + "/exe";
  debugger.insert(debugger.end(), words.begin(), words.end());
  return debugger;
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

// This process's environment with the plan's on top.
std::vector<std::string> environment_of(const WorkerPlan& plan) {
  std::map<std::string, std::string> all;
  const auto set = [&](const std::string& entry) {
    const std::size_t equals = entry.find('=');
    all[entry.substr(0, equals)] = entry.substr(equals + 1);
  };
  for (char** entry = environ; *entry != nullptr; ++entry) set(*entry);
  // malloc's cache of a thread counts what was freed as used: without it the counter of the heap is exact.
  std::string& tunables = all["GLIBC_TUNABLES"];
  tunables += (tunables.empty() ? "" : ":") + std::string("glibc.malloc.tcache_count=0");
  // Threads that spin for their next work take the processors of the other workers.
  all.try_emplace("OMP_WAIT_POLICY", "passive");
  for (const std::string& entry : plan.environment) set(entry);
  std::vector<std::string> entries;
  for (const auto& [name, value] : all) entries.push_back(name + "=" + value);
  return entries;
}

// Moved above the places that a child uses, so that no dup2 hits another's source; closed on exec.
int lifted(int file) {
  const int high = fcntl(file, F_DUPFD_CLOEXEC, 10);
  if (file >= 0) close(file);
  return high;
}

void make_pipe(int (&ends)[2]) {
  int low[2];
  if (pipe2(low, O_CLOEXEC) != 0)
    throw_error(ErrorClass::internal,
                fmt::format("conform: no pipe for a worker: {}", std::strerror(errno)));
  for (int i = 0; i < 2; ++i) ends[i] = lifted(low[i]);
}

struct SpawnFiles {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  SpawnFiles() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
  }
  ~SpawnFiles() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
};

// A group of its own: Ctrl-C is for the parent, which then ends its workers in order.
void own_group(SpawnFiles& files) {
  posix_spawnattr_setflags(&files.attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setpgroup(&files.attributes, 0);
  sigset_t signals;
  sigemptyset(&signals);
  posix_spawnattr_setsigmask(&files.attributes, &signals);
  for (const int number : {SIGPIPE, SIGINT, SIGTERM}) sigaddset(&signals, number);
  posix_spawnattr_setsigdefault(&files.attributes, &signals);
}

}  // namespace

WorkerProcess::WorkerProcess(const WorkerPlan& plan, const std::string& lane) : stop_(plan.stop) {
  std::signal(SIGPIPE, SIG_IGN);  // a dead worker is found by the end of its answers
  int requests[2], answers[2];
  make_pipe(requests);
  make_pipe(answers);
  errors_ = lifted(memfd_create("worker's errors", MFD_CLOEXEC));
  fcntl(errors_, F_SETFL, O_APPEND);
  const int journal = plan.journal >= 0 ? fcntl(plan.journal, F_DUPFD_CLOEXEC, 10) : -1;

  SpawnFiles files;
  if (!plan.debugger) {
    own_group(files);
    posix_spawn_file_actions_addopen(&files.actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files.actions, errors_, 1);
    posix_spawn_file_actions_adddup2(&files.actions, errors_, 2);
  }
  posix_spawn_file_actions_adddup2(&files.actions, requests[0], requests_file);
  posix_spawn_file_actions_adddup2(&files.actions, answers[1], answers_file);
  if (journal >= 0) posix_spawn_file_actions_adddup2(&files.actions, journal, journal_file);

  std::vector<std::string> words = command_of(plan, lane), environment = environment_of(plan);
  const int problem = posix_spawnp(&pid_, words[0].c_str(), &files.actions, &files.attributes,
                                   pointers_to(words).data(), pointers_to(environment).data());
  close(requests[0]);
  close(answers[1]);
  if (journal >= 0) close(journal);
  prepare_pipe(to_ = requests[1]);
  prepare_pipe(from_ = answers[0]);
  if (problem == 0) return;
  for (const int file : {errors_, to_, from_}) close(file);
  throw StartFailure(
      fmt::format("conform: cannot start the worker {}: {}", words[0], std::strerror(problem)));
}

WorkerProcess::~WorkerProcess() {
  end();
  close_requests();
  for (const int file : {errors_, from_}) close(file);
}

void WorkerProcess::close_requests() {
  if (to_ >= 0) close(to_);
  to_ = -1;
}

std::string WorkerProcess::last_words() const {
  constexpr off_t most = 400;
  const off_t size = lseek(errors_, 0, SEEK_END);
  const off_t from = std::max<off_t>(0, size - most);
  std::string words(static_cast<std::size_t>(std::max<off_t>(0, size - from)), '\0');
  const ssize_t count = pread(errors_, words.data(), words.size(), from);
  words.resize(static_cast<std::size_t>(std::max<ssize_t>(0, count)));
  std::ranges::replace_if(
      words, [](unsigned char c) { return c < ' '; }, ' ');
  words.erase(words.find_last_not_of(' ') + 1);
  return words;
}

std::string WorkerProcess::end(bool* killed) {
  if (killed != nullptr) *killed = false;
  if (pid_ < 0) return "it had ended";
  int status = 0;
  pid_t ended = waitpid(pid_, &status, WNOHANG);
  // The end of its stream comes a moment before the end of the process.
  for (int wait_ms = 0; ended == 0 && wait_ms < 2000 && killed != nullptr; ++wait_ms) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ended = waitpid(pid_, &status, WNOHANG);
  }
  if (ended == 0) {
    if (killed != nullptr) *killed = true;
    kill(pid_, SIGKILL);
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
  }
  pid_ = -1;
  const std::string words = last_words(), told = words.empty() ? "" : "; it wrote: " + words;
  if (!WIFSIGNALED(status)) return fmt::format("exit code {}{}", WEXITSTATUS(status), told);
  return fmt::format("signal {} ({}){}", WTERMSIG(status), strsignal(WTERMSIG(status)), told);
}

std::string WorkerProcess::finish() {
  close_requests();  // no more scripts
  bool killed = false;
  return end(&killed);
}

Subject describe_subject(const WorkerPlan& plan) {
  WorkerProcess worker(plan, "direct");
  worker.post({{"case", ""}, {"poison", 0}, {"steps", {{{"do", "describe"}}}}});
  Json answer;
  const auto got = worker.next(answer, WorkerProcess::Clock::now() + patience_at_start);
  const auto fail = [&](const std::string& why) {
    refuse("conform: device {} cannot be examined: {}", plan.device, why);
  };
  if (got == WorkerProcess::Got::late)
    fail(fmt::format("its worker did not answer within {} s", patience_at_start.count()));
  if (got != WorkerProcess::Got::message) fail("its worker ended by " + worker.end());
  if (answer.contains("failed")) fail(answer["failed"].get<std::string>());
  const Json& step = answer.at("steps").at(0);
  if (step.value("code", 0) != 0) fail(step.value("message", "no reason given"));
  Subject subject = read_subject(step.contains("subject") ? step["subject"] : step);
  worker.finish();
  return subject;
}

void WorkerProcess::post(const Json& message) {
  Bytes body;
  append_message(message, body);
  const std::uint64_t bytes = body.size();
  outgoing_.append(reinterpret_cast<const char*>(&bytes), sizeof bytes);
  outgoing_.append(reinterpret_cast<const char*>(body.data()), body.size());
  flush();
}

void WorkerProcess::flush() {
  while (to_ >= 0 && sent_ < outgoing_.size()) {
    const ssize_t count = write(to_, outgoing_.data() + sent_, outgoing_.size() - sent_);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) return close_requests();  // the worker is gone; the end of its stream tells
    sent_ += static_cast<std::size_t>(count);
  }
  outgoing_.clear();
  sent_ = 0;
}

bool WorkerProcess::fill() {
  char buffer[1 << 16];
  for (;;) {
    const ssize_t count = read(from_, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno == EAGAIN;
    if (count == 0) return false;
    incoming_.append(buffer, static_cast<std::size_t>(count));
    if (static_cast<std::size_t>(count) < sizeof buffer) return true;
  }
}

bool WorkerProcess::take(Json& out, bool& broken) {
  std::uint64_t bytes = 0;
  if (incoming_.size() < sizeof bytes) return false;
  std::memcpy(&bytes, incoming_.data(), sizeof bytes);
  broken = bytes > longest_message;
  if (broken || incoming_.size() - sizeof bytes < bytes) return false;
  const auto* body = reinterpret_cast<const std::uint8_t*>(incoming_.data()) + sizeof bytes;
  broken = !read_message(body, bytes, out);
  incoming_.erase(0, sizeof bytes + bytes);
  return !broken;
}

WorkerProcess::Got WorkerProcess::next(Json& out, Clock::time_point deadline) {
  for (bool open = true, first = true;; first = false) {
    bool broken = false;
    if (take(out, broken)) return Got::message;
    if (broken) return Got::broken;
    if (!open) return Got::closed;
    if (stop_ != nullptr && stop_->load(std::memory_order_relaxed)) return Got::interrupted;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0 && !first) return Got::late;
    const bool writes = to_ >= 0 && sent_ < outgoing_.size();
    pollfd files[2] = {{from_, POLLIN, 0}, {to_, POLLOUT, 0}};
    poll(files, writes ? 2 : 1, static_cast<int>(std::clamp<long>(left, 0, longest_poll_ms)));
    if (writes && files[1].revents != 0) flush();
    if (files[0].revents != 0) open = fill();
  }
}

}  // namespace bp::conform

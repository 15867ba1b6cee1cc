#include "trace_file.hpp"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <mutex>
#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <unistd.h>

#include <backplane/runtime/log.hpp>

namespace bp::tracing {
namespace {

// A child of a fork never takes it (leave_trace_to_parent).
constinit std::mutex mutex;
constinit std::atomic<bool> is_open{false};
int descriptor = -1;

bool write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

int open_locked(const std::string& file) {
  const int opened = ::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_APPEND, 0666);
  if (opened < 0) return -1;
  if (flock(opened, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    ::close(opened);
    errno = EWOULDBLOCK;
    return -1;
  }
  static_cast<void>(!ftruncate(opened, 0));  // a pipe has no length
  return opened;
}

// Who the process is, in Chrome's words.
std::string first_lines() {
  const nlohmann::json name{{"name", "process_name"},
                            {"ph", "M"},
                            {"pid", getpid()},
                            {"args", {{"name", program_invocation_short_name}}}};
  return fmt::format("[\n{},\n",
                     name.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace

bool open_trace(const std::string& file) {
  std::string name = file;
  descriptor = open_locked(name);
  if (descriptor < 0 && errno == EWOULDBLOCK) {
    name = fmt::format("{}.{}", file, getpid());
    descriptor = open_locked(name);
  }
  if (descriptor >= 0 && write_all(first_lines())) {
    is_open.store(true, std::memory_order_release);
    return true;
  }
  log_warning(
      fmt::format("the trace cannot be written to {}: {}; the program continues without it "
                  "(BACKPLANE_TRACE=ops:FILE names another file)",
                  name, std::strerror(errno)));
  return false;
}

bool trace_is_open() {
  return is_open.load(std::memory_order_acquire);
}

void write_trace(std::string_view line) {
  if (!trace_is_open()) return;
  const std::lock_guard lock(mutex);
  if (!trace_is_open() || write_all(line)) return;
  is_open.store(false, std::memory_order_release);
  log_warning(fmt::format("the trace ends here: {}; the program continues", std::strerror(errno)));
}

void close_trace() {
  const std::lock_guard lock(mutex);
  if (!is_open.exchange(false)) return;
  // An event of its own, since JSON's lists do not end with a comma.
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  write_all(fmt::format(
      "{{\"name\":\"end\",\"ph\":\"i\",\"s\":\"p\",\"ts\":{:.3f},\"pid\":{},\"tid\":{}}}\n]\n",
      std::chrono::duration<double, std::micro>(now).count(), getpid(), getpid()));
}

void leave_trace_to_parent() {
  is_open.store(false, std::memory_order_release);
}

}  // namespace bp::tracing

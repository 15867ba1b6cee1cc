#include "runner/progress.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <unistd.h>

#include "report/report.hpp"

namespace bp::conform {
namespace {

constexpr auto every_on_terminal = std::chrono::milliseconds(150);
constexpr auto every_in_a_file = std::chrono::seconds(5);
// More are in the report.
constexpr std::size_t most_shown_failures = 20;
constexpr const char* clear_line = "\r\033[K";

std::string text_of_seconds(double seconds) {
  const auto whole = std::lround(seconds);
  if (whole < 90) return fmt::format("{} s", whole);
  if (whole < 5400) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
}

}  // namespace

Progress::Progress(std::size_t total, Shows shows, Json header, std::FILE* to)
    : total_(total), shows_(shows), terminal_(shows == Shows::all && isatty(fileno(to)) != 0),
      header_(std::move(header)), to_(to) {
  if (!terminal_) printed_ = start_;
}

Progress::~Progress() {
  if (terminal_) std::fputs(clear_line, to_);
}

double Progress::seconds() const {
  return std::chrono::duration<double>(Clock::now() - start_).count();
}

void Progress::take(const Record& record) {
  const std::scoped_lock guard(lock_);
  ++done_;
  if (!is_failure(record.verdict.outcome)) return;
  ++failures_;
  if (shows_ == Shows::nothing || ++shown_failures_ > most_shown_failures) return;
  fmt::print(to_, "{}{:<8}{}: {}\n", terminal_ ? clear_line : "", name(record.verdict.outcome),
             record.name, record.verdict.why);
  if (!header_.is_null()) fmt::print(to_, "        {}\n", repeating_command(record.name, header_));
  if (shown_failures_ == most_shown_failures)
    fmt::print(to_, "further failures are in the report only\n");
  std::fflush(to_);
}

std::string Progress::line() const {
  const double rate = static_cast<double>(done_) / std::max(seconds(), 1e-3);
  const double left = rate > 0 ? static_cast<double>(total_ - done_) / rate : 0;
  return fmt::format("{} of {} cases, {:.0f}/s, {} left, {} failed", done_, total_, rate,
                     done_ == 0 ? "?" : text_of_seconds(left), failures_);
}

void Progress::tick() {
  if (shows_ != Shows::all) return;
  const std::scoped_lock guard(lock_);
  const auto now = Clock::now();
  if (now - printed_ <
      (terminal_ ? Clock::duration(every_on_terminal) : Clock::duration(every_in_a_file)))
    return;
  printed_ = now;
  if (terminal_)
    fmt::print(to_, "{}{}", clear_line, line());
  else
    fmt::print(to_, "{}\n", line());
  std::fflush(to_);
}

}  // namespace bp::conform

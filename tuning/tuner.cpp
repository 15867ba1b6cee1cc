#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fmt/format.h>
#include <map>
#include <mutex>
#include <optional>
#include <pthread.h>
#include <thread>

#include <backplane/runtime/log.hpp>
#include <backplane/runtime/settings.hpp>
#include <backplane/tensor/error.hpp>
#include <backplane/tuning/kept_files.hpp>
#include <backplane/tuning/tuner.hpp>

#include "constants.hpp"
#include "decision_text.hpp"
#include "race.hpp"

namespace bp::tuner {
namespace {

using Clock = std::chrono::steady_clock;

struct Known {
  bool is_made = false;  // else a thread measures now
  std::size_t way = 0;
  std::thread::id by;
};

// Never destroyed: threads may ask until the process ends.
struct Decisions {
  std::mutex mutex;
  std::map<std::string, Known, std::less<>> by_key;

  static Decisions& all();

 private:
  static void before_fork() { all().mutex.lock(); }
  static void in_parent() { all().mutex.unlock(); }
  // Who measured is not in the child.
  static void in_child() {
    std::erase_if(all().by_key, [](const auto& each) { return !each.second.is_made; });
    all().mutex.unlock();
  }
};

Decisions& Decisions::all() {
  static Decisions& made = *new Decisions;
  [[maybe_unused]] static const int watched =
      pthread_atfork([] { before_fork(); }, [] { in_parent(); }, [] { in_child(); });
  return made;
}

std::atomic<int> given_mode{-1};
std::atomic<std::uint64_t> left_open{0};

Mode mode_of_environment() {
  const char* text = std::getenv("BACKPLANE_TUNE");
  const std::string_view said = text ? text : "";
  if (said == "0") return Mode::off;
  if (said == "kept") return Mode::kept;
  if (said == "all") return Mode::patient;
  if (!said.empty()) warn_of_variable("BACKPLANE_TUNE", said, "0, kept, all");
  return Mode::usual;
}

// A line each.
std::string in_a_line(std::string_view text) {
  std::string line(text);
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

std::string file_key(const Decision& decision) {
  return kept_files::key_of(decision.what, "", "tuning", decision.identity);
}

std::optional<std::size_t> read(const Decision& asked) {
  const std::string key = file_key(asked);
  const auto file = kept_files::read(key);
  if (!file) return {};
  const auto kept = parse_decision({file->data(), file->size()});
  if (kept && kept->what == asked.what && kept->identity == asked.identity &&
      kept->num_ways == asked.num_ways)
    return kept->way;
  kept_files::discard(key);
  return {};
}

void write(const Decision& decision) {
  const std::string text = to_text(decision);
  kept_files::write(file_key(decision), {text.begin(), text.end()});
}

// What is known, or nothing if this thread is the one to find out. Others are waited for, but not without end: they may
// wait for this thread.
std::optional<std::size_t> find_or_begin(const std::string& key, double most_seconds) {
  Decisions& all = Decisions::all();
  const auto until = Clock::now() + std::chrono::duration<double>(most_seconds);
  for (;;) {
    {
      const std::lock_guard lock(all.mutex);
      const auto [it, is_first] = all.by_key.try_emplace(key);
      Known& known = it->second;
      if (is_first) {
        known.by = std::this_thread::get_id();
        return {};
      }
      if (known.is_made) return known.way;
      if (known.by == std::this_thread::get_id() || Clock::now() > until) return 0;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(constants::answer_look_us));
  }
}

void settle(const std::string& key, std::optional<std::size_t> way) {
  Decisions& all = Decisions::all();
  const std::lock_guard lock(all.mutex);
  if (way)
    all.by_key[key] = {true, *way, {}};
  else
    all.by_key.erase(key);
}

using Find = std::function<std::optional<Finish>(const Question&)>;

// As decided before, or by `find`.
std::optional<std::size_t> decide(const Question& question, const Find& find) {
  Decision decision{
      in_a_line(question.what), in_a_line(question.identity), 0, question.num_ways, {}};
  if (const auto kept = read(decision)) return kept;
  const Mode now = mode();
  if (now == Mode::kept || (question.on_request && now != Mode::patient)) return 0;
  const auto finish = find(question);
  if (!finish) {
    left_open.fetch_add(1, std::memory_order_relaxed);
    return {};
  }
  decision.way = finish->way;
  decision.seconds = finish->seconds;
  write(decision);
  return decision.way;
}

std::size_t ask(Question question, const Find& find) {
  if (question.num_ways < 2 || mode() == Mode::off || deterministic()) return 0;
  if (mode() == Mode::patient)
    question.budget_seconds = std::max(question.budget_seconds, constants::patient_seconds);
  const std::string key = fmt::format("{}\n{}", question.what, question.identity);
  // A throw out of here would leave the decision to be made forever.
  try {
    if (const auto known = find_or_begin(key, 2 * question.budget_seconds + 1)) return *known;
    const auto way = decide(question, find);
    settle(key, way);
    return way.value_or(0);
  } catch (...) {
    settle(key, std::nullopt);
    return 0;
  }
}

}  // namespace

Mode mode() {
  const int given = given_mode.load(std::memory_order_relaxed);
  return given < 0 ? mode_of_environment() : static_cast<Mode>(given);
}

void set_mode(Mode mode) {
  given_mode.store(static_cast<int>(mode), std::memory_order_relaxed);
}

std::size_t choose(const Question& question, const std::function<double(std::size_t)>& measure) {
  return ask(question,
             [&](const Question& asked) { return race(asked, mode() == Mode::patient, measure); });
}

std::size_t keep(const Question& question, const std::function<std::size_t()>& decide) {
  return ask(question, [&](const Question& asked) -> std::optional<Finish> {
    const std::size_t way = decide();
    if (way >= asked.num_ways) return {};
    return Finish{way, {}};
  });
}

std::vector<Decision> kept_decisions() {
  std::vector<Decision> decisions;
  for (const std::string& text : kept_files::contents_with_head(decision_head))
    if (auto decision = parse_decision(text)) decisions.push_back(std::move(*decision));
  std::sort(decisions.begin(), decisions.end(), [](const Decision& a, const Decision& b) {
    return std::tie(a.identity, a.what) < std::tie(b.identity, b.what);
  });
  return decisions;
}

std::uint64_t forget_kept() {
  forget();
  return kept_files::clear(decision_head);
}

std::uint64_t num_left_open() {
  return left_open.load(std::memory_order_relaxed);
}

void forget() {
  Decisions& all = Decisions::all();
  const std::lock_guard lock(all.mutex);
  all.by_key.clear();
}

}  // namespace bp::tuner

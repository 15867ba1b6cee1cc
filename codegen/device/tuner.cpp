#include "device/tuner.hpp"

#include <charconv>
#include <chrono>
#include <cstdlib>
#include <fmt/format.h>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include <backplane/tensor/error.hpp>

#include "device/binary_cache.hpp"

namespace bp::codegen::tuner {
namespace {

constexpr int num_rounds = 3;
// A way that is this little faster may be so by chance, and 0 has been looked at on more machines.
constexpr double least_gain = 0.97;
constexpr std::string_view head = "backplane tuning 1\n";

struct Decision {
  bool made = false;  // else a thread measures now
  std::size_t way = 0;
};
struct Decisions {
  std::mutex mutex;
  std::map<std::string, Decision, std::less<>> by_key;
};
Decisions& decisions() {
  static auto* all = new Decisions;
  return *all;
}

std::string content_of(std::string_view what, std::size_t way) {
  return fmt::format("{}{}\n{}\n", head, what, way);
}

// Anything but what content_of writes counts as broken.
std::optional<std::size_t> parse(std::string_view text, std::string_view what,
                                 std::size_t num_ways) {
  const std::string begin = fmt::format("{}{}\n", head, what);
  if (!text.starts_with(begin)) return {};
  const std::string_view number = text.substr(begin.size());
  std::size_t way = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), way);
  if (error != std::errc{} || way >= num_ways || content_of(what, way) != text) return {};
  return way;
}

std::optional<std::size_t> read(const std::string& key, std::string_view what,
                                std::size_t num_ways) {
  const auto file = binary_cache::read(key);
  if (!file) return {};
  const auto way = parse({file->data(), file->size()}, what, num_ways);
  if (!way) binary_cache::discard(key);
  return way;
}

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// The fastest way, or nothing when way 0 cannot be measured now.
std::optional<std::size_t> find_fastest(std::size_t num_ways,
                                        const std::function<double(std::size_t)>& measure,
                                        double budget_seconds) {
  const Stopwatch spent;
  std::vector<double> best;  // of the ways that could be tried
  std::vector<std::size_t> ways;
  for (std::size_t way = 0; way < num_ways; ++way) {
    // The first time includes compiling; what is left must be enough for another like the last.
    const double before = spent.seconds();
    try {
      measure(way);
      best.push_back(measure(way));
      ways.push_back(way);
    } catch (const Error&) {
      if (way == 0) return {};
    }
    if (spent.seconds() + (spent.seconds() - before) > budget_seconds) break;
  }
  // In turns, so that what else the machine does hits all of them.
  for (int round = 1; round < num_rounds && spent.seconds() < budget_seconds; ++round)
    for (std::size_t i = 0; i < ways.size(); ++i) best[i] = std::min(best[i], measure(ways[i]));
  std::size_t fastest = 0;
  for (std::size_t i = 1; i < ways.size(); ++i)
    if (best[i] < best[fastest] && best[i] < best[0] * least_gain) fastest = i;
  return ways[fastest];
}

void settle(const std::string& key, std::optional<std::size_t> way) {
  Decisions& all = decisions();
  const std::lock_guard lock(all.mutex);
  if (way)
    all.by_key[key] = {true, *way};
  else
    all.by_key.erase(key);
}

}  // namespace

bool enabled() {
  const char* text = std::getenv("BACKPLANE_TUNE");
  return !text || std::string_view(text) != "0";
}

std::size_t choose(std::string_view what, std::string_view identity, std::size_t num_ways,
                   const std::function<double(std::size_t)>& measure, double budget_seconds) {
  if (num_ways < 2 || !enabled()) return 0;
  const std::string memory_key = fmt::format("{}\n{}", what, identity);
  Decisions& all = decisions();
  {
    const std::lock_guard lock(all.mutex);
    const auto [it, first] = all.by_key.try_emplace(memory_key);
    if (!first) return it->second.made ? it->second.way : 0;
  }
  // A throw out of here would leave the decision to be made forever.
  try {
    const std::string key = binary_cache::key_of(what, "", "tuning", identity);
    std::optional<std::size_t> way = read(key, what, num_ways);
    if (!way && (way = find_fastest(num_ways, measure, budget_seconds))) {
      const std::string content = content_of(what, *way);
      binary_cache::write(key, {content.begin(), content.end()});
    }
    settle(memory_key, way);
    return way.value_or(0);
  } catch (...) {
    settle(memory_key, std::nullopt);
    return 0;
  }
}

void forget() {
  Decisions& all = decisions();
  const std::lock_guard lock(all.mutex);
  all.by_key.clear();
}

}  // namespace bp::codegen::tuner

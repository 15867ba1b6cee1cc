#include "kernels/fastest_way.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <backplane/plugin.hpp>
#include <backplane/plugin/tuner.hpp>

#include "constants.hpp"

namespace cuda_backend {
namespace {

class Stopwatch {
 public:
  double ms() const {
    const auto spent = std::chrono::steady_clock::now() - start_;
    return std::chrono::duration<double, std::milli>(spent).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Events on a stream, whose distances are the times of what was given between them.
class Marks {
 public:
  explicit Marks(cudaStream_t stream) : stream_(stream) {}
  ~Marks() {
    for (cudaEvent_t event : events_) cudaEventDestroy(event);
  }
  Marks(const Marks&) = delete;
  Marks& operator=(const Marks&) = delete;

  bool add() {
    cudaEvent_t event = nullptr;
    if (cudaEventCreate(&event) != cudaSuccess) return false;
    events_.push_back(event);
    return cudaEventRecord(event, stream_) == cudaSuccess;
  }
  bool wait() const { return cudaEventSynchronize(events_.back()) == cudaSuccess; }
  // From mark `index` to the next; after wait().
  bool ms_after(std::size_t index, double& ms) const {
    float found = 0;
    if (cudaEventElapsedTime(&found, events_[index], events_[index + 1]) != cudaSuccess)
      return false;
    ms = found;
    return true;
  }

 private:
  cudaStream_t stream_;
  std::vector<cudaEvent_t> events_;
};

struct Rival {
  std::size_t way;
  std::vector<double> samples;  // milliseconds of one run

  double median() const {
    std::vector<double> sorted = samples;
    std::sort(sorted.begin(), sorted.end());
    return sorted[sorted.size() / 2];
  }
};

double sum_of_medians(const std::vector<Rival>& rivals) {
  double sum = 0;
  for (const Rival& rival : rivals) sum += rival.median();
  return sum;
}

const Rival& fastest_of(const std::vector<Rival>& rivals) {
  return *std::min_element(rivals.begin(), rivals.end(),
                           [](const Rival& a, const Rival& b) { return a.median() < b.median(); });
}

class Race {
 public:
  Race(cudaStream_t stream, const std::function<bool(std::size_t)>& give)
      : stream_(stream), give_(give) {}

  // False if the card or the library refuses, as in all of these.
  bool run(std::size_t num_ways) {
    if (!enter(0) || !wait()) return false;
    spent_ = Stopwatch();  // the library's own beginning is not part of it
    double once = 0;
    if (!estimate(once)) return false;
    if (!enter_others(num_ways, once)) return false;
    if (rivals_.size() == 1) return true;
    rivals_[0].samples.clear();
    const auto repeats = static_cast<std::size_t>(std::clamp(
        constants::least_sample_ms / once, 1.0, static_cast<double>(constants::most_repeats)));
    if (!look(1, repeats)) return false;
    num_measured_ = rivals_.size();
    drop_hopeless();
    if (rivals_.size() == 1) return true;
    const double left = constants::budget_ms - spent_.ms(),
                 round = sum_of_medians(rivals_) * static_cast<double>(repeats);
    const double rounds = std::min(left / round, static_cast<double>(constants::most_rounds));
    return rounds < 1 || look(static_cast<std::size_t>(rounds), repeats);
  }

  FastestWay result(double least_gain) const {
    const Rival& first = rivals_[0];
    const Rival& fastest = fastest_of(rivals_);
    const bool is_clear = fastest.median() < first.median() * least_gain;
    const Rival& taken = is_clear ? fastest : first;
    return {taken.way, num_measured_, taken.median() * 1e3, first.median() * 1e3, spent_.ms()};
  }

 private:
  // The first run loads the way's kernels.
  bool enter(std::size_t way) {
    if (!give_(way)) return false;
    rivals_.push_back({way, {}});
    return true;
  }

  bool wait() const { return cudaStreamSynchronize(stream_) == cudaSuccess; }

  // Of one run of way 0, in milliseconds.
  bool estimate(double& once) {
    if (!give_(0) || !wait()) return false;
    once = spent_.ms();
    rivals_[0].samples = {once};
    // The host's own time is a part of that; longer work need not be done again to know better.
    if (once > constants::long_enough_ms) return true;
    rivals_[0].samples.clear();
    if (!look(1, constants::first_repeats)) return false;
    once = rivals_[0].median();
    return true;
  }

  // As many as the budget is enough for; `once` is what a run takes, in milliseconds.
  bool enter_others(std::size_t num_ways, double once) {
    const double room = constants::budget_ms / (constants::least_runs * once);
    for (std::size_t way = 1; way < num_ways; ++way)
      if (static_cast<double>(rivals_.size()) + 1 <= room && spent_.ms() < constants::budget_ms / 2)
        enter(way);
    return wait();
  }

  // In turns, so that what else the card does hits all of them, and without a pause: what runs first, unmeasured, keeps
  // the card busy until the host is ahead.
  bool look(std::size_t rounds, std::size_t repeats) {
    Marks marks(stream_);
    if (!give(rivals_[0], repeats) || !marks.add()) return false;
    for (std::size_t round = 0; round < rounds; ++round)
      for (const Rival& rival : rivals_)
        if (!give(rival, repeats) || !marks.add()) return false;
    if (!marks.wait()) return false;
    for (std::size_t i = 0; i < rounds * rivals_.size(); ++i) {
      double ms = 0;
      if (!marks.ms_after(i, ms)) return false;
      rivals_[i % rivals_.size()].samples.push_back(ms / static_cast<double>(repeats));
    }
    return true;
  }

  bool give(const Rival& rival, std::size_t repeats) const {
    for (std::size_t i = 0; i < repeats; ++i)
      if (!give_(rival.way)) return false;
    return true;
  }

  void drop_hopeless() {
    const double best = fastest_of(rivals_).median();
    const auto is_hopeless = [&](const Rival& r) {
      return r.median() > best * constants::hopeless;
    };
    rivals_.erase(std::remove_if(rivals_.begin() + 1, rivals_.end(), is_hopeless), rivals_.end());
  }

  cudaStream_t stream_;
  const std::function<bool(std::size_t)>& give_;
  Stopwatch spent_;
  std::vector<Rival> rivals_;  // way 0 first
  std::size_t num_measured_ = 1;
};

// Of the card that is current on this thread.
std::string card_and_driver() {
  int device = 0, driver = 0;
  cudaDeviceProp properties{};
  if (cudaGetDevice(&device) != cudaSuccess || cudaDriverGetVersion(&driver) != cudaSuccess ||
      cudaGetDeviceProperties(&properties, device) != cudaSuccess)
    cudaGetLastError();
  return std::string(properties.name) + "; driver " + std::to_string(driver);
}

}  // namespace

FastestWay find_fastest_way(cudaStream_t stream, std::size_t num_ways, double least_gain,
                            const std::function<bool(std::size_t)>& give) {
  Race race(stream, give);
  if (race.run(num_ways)) return race.result(least_gain);
  // The call's own run finds again what was wrong, and reports it.
  cudaStreamSynchronize(stream);
  cudaGetLastError();
  return {};
}

std::size_t kept_fastest_way(cudaStream_t stream, const Comparison& comparison,
                             const std::function<bool(std::size_t)>& give,
                             const std::function<void(const FastestWay&)>& measured) {
  const bp::Choice choice{comparison.what, card_and_driver(),
                          static_cast<uint32_t>(comparison.num_ways)};
  return bp::kept_way(choice, [&](uint32_t& way) {
    const FastestWay fastest =
        find_fastest_way(stream, comparison.num_ways, comparison.least_gain, give);
    if (fastest.num_measured == 0) return bp::Status::from_host(BP_UNSUPPORTED);
    measured(fastest);
    way = static_cast<uint32_t>(fastest.way);
    return bp::ok;
  });
}

bool measuring_is_on() {
  static const bool on = [] {
    const char* const text = std::getenv("BACKPLANE_TUNE");
    return text == nullptr || std::strcmp(text, "0") != 0;
  }();
  return on && !bp::deterministic();
}

bool can_measure_on(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  if (cudaStreamIsCapturing(stream, &status) == cudaSuccess)
    return status == cudaStreamCaptureStatusNone;
  cudaGetLastError();  // CUDA's default stream beside a recording
  return false;
}

}  // namespace cuda_backend

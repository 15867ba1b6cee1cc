// The fastest of several ways, by doing the work each way a few times.
#pragma once

#include <optional>

#include <backplane/tuning/tuner.hpp>

namespace bp::tuner {

struct Finish {
  std::size_t way = 0;
  std::vector<double> seconds;  // by way, at best; 0: not measured
};

// Nothing when way 0 cannot be measured now, or, of a careful race, when the machine was so busy with something else that the
// same work took now one time and now another. Of work that takes longer than the budget, way 0 alone is done.
std::optional<Finish> race(const Question& question, bool careful,
                           const std::function<double(std::size_t)>& measure);

}  // namespace bp::tuner

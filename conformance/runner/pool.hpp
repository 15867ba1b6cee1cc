// Many cases on several workers at once.
#pragma once

#include <functional>
#include <vector>

#include "runner/execute.hpp"
#include "runner/progress.hpp"

namespace bp::conform {

// Runs all cases with `jobs` threads, each with workers of its own, and hands every settled record to `sink` (one at a
// time). It ends early when `sink` returns false or the bench's `stop` is set; cases in hand are then dropped. What
// `sink` throws ends the pool and is thrown again here.
void run_pool(const Bench& bench, const std::vector<Case>& cases, int jobs, Progress& progress,
              const std::function<bool(const Record&)>& sink);

}  // namespace bp::conform

// One fault or variant before the suite, with one seed.
#pragma once

#include "runner/commands.hpp"
#include "runner/exam.hpp"

namespace bp::conform {

// Runs its cases with `options.jobs` workers; a fault until a case of its family kills it (unless the whole matrix is
// wanted), a variant to the end. What the device or a worker throws is the result's reason; never throws itself.
ExamResult sit(const Options& options, const ExamEntry& entry, std::uint64_t seed);

}  // namespace bp::conform

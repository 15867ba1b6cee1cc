// Numbers of the tuner and of the files that are kept which trade one thing for another, each with its unit and what it trades. All were
// chosen and not measured against other values. What a question is worth by default, unless it says so itself, is in
// tuner.hpp, for whoever asks.
#pragma once

#include <cstdint>

namespace bp::constants {

// ---- Comparing ways: certainty, against time that the first call waits

// Rounds in which every way runs once: usually, and while times do not agree, where they must.
inline constexpr int usual_rounds = 3, most_rounds = 12;
// A way that is this much slower at the first look is not looked at again.
inline constexpr double hopeless = 1.3;
// Two samples of the same work on a quiet machine are no further apart: the first is at most so many times the second.
inline constexpr double quiet = 1.05;
// Seconds that a comparison may take at least where the user asked for it.
inline constexpr double patient_seconds = 30;
// Microseconds between two looks at what another thread is finding out.
inline constexpr int answer_look_us = 200;

// ---- Files

// Bytes that are kept, where the environment says nothing.
inline constexpr std::uint64_t kept_bytes = std::uint64_t{512} << 20;
// The part of the limit that is freed when it is reached, so that this is seldom: one in so many.
inline constexpr std::uint64_t freed_part = 10;
// Files that one process writes before it lists the folder again, since others write too.
inline constexpr int writes_between_looks = 64;
// Seconds after which a file that was not finished is taken for one whose process ended.
inline constexpr int unfinished_seconds = 3600;

}  // namespace bp::constants

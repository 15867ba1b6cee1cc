// Trials of rows of the table: each kind judges one question.
#pragma once

#include <memory>

#include "trials/trial.hpp"

namespace bp::conform {

// A call: is its result right?
std::unique_ptr<Trial> make_core_trial(const Case& one, const Subject& subject);
std::unique_ptr<Trial> make_direct_trial(const Case& one, const Subject& subject);
// A call that must be refused ("error").
std::unique_ptr<Trial> make_refusal_trial(const Case& one, const Subject& subject);
// Its derivative ("grad").
std::unique_ptr<Trial> make_gradient_trial(const Case& one, const Subject& subject);
// The same values in another layout, or the same call in other forms ("layouts", "forms").
std::unique_ptr<Trial> make_same_values_trial(const Case& one, const Subject& subject);
// Its pieces ("batch", "joined").
std::unique_ptr<Trial> make_parts_trial(const Case& one, const Subject& subject);
// What undoes it, or makes the same ("round_trip").
std::unique_ptr<Trial> make_round_trip_trial(const Case& one, const Subject& subject);
// The same call in other company ("repeat", "threads").
std::unique_ptr<Trial> make_repeat_trial(const Case& one, const Subject& subject);

}  // namespace bp::conform

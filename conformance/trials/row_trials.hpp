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
// The same call in other company ("repeat", "threads").
std::unique_ptr<Trial> make_repeat_trial(const Case& one, const Subject& subject);

}  // namespace bp::conform

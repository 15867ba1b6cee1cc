// Observers: whom to tell which rung served a call.
#pragma once

#include <backplane/dispatcher/observe.hpp>

namespace bp {

// The ladder has taken the call. Counters can't say that: they leave calls inside others out.
void tell_observer(Rung rung);

}  // namespace bp

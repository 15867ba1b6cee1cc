// Tells observers which rung served a call.
#pragma once

#include <backplane/dispatcher/observe.hpp>

namespace bp {

// Called when the ladder has served a call. Counters cannot tell: they leave out calls made inside others.
void tell_observer(Rung rung);

}  // namespace bp

// How a decision is written down.
#pragma once

#include <optional>

#include <backplane/tuning/tuner.hpp>

namespace bp::tuner {

// Every file of a decision begins so.
inline constexpr std::string_view decision_head = "backplane tuning 2\n";

std::string to_text(const Decision& decision);

// Nothing for anything but what to_text writes.
std::optional<Decision> parse_decision(std::string_view text);

}  // namespace bp::tuner

// What the registry knows of joined operators.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "joined.hpp"

namespace bp {

struct StreamImpl;

// Of all operators by their numbers, also those that are about to be freed.
std::map<std::uint32_t, std::string> names_of_operators();

// Tells all who hear of new operators of this one again.
void offer_to_listeners(Joined& joined);
// The streams of the devices that its kernels have run on, as far as they are at work. No device closes meanwhile (ChainsStay).
std::vector<StreamImpl*> streams_at_work_with(const Joined& joined);
// Takes it and its kernels out of all tables and tells those who hear of it. Nobody calls it, and no work of it is under way.
void unregister_joined(Joined& joined);

// Empty once nobody holds it.
Chain try_share(Joined& joined);

}  // namespace bp

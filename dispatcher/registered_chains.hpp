// What the registry knows about joined operators.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "joined.hpp"

namespace bp {

struct StreamImpl;

// The names of all operators by number, including those that are about to be freed.
std::map<std::uint32_t, std::string> names_of_operators();

// Announces this operator to all listeners again.
void offer_to_listeners(Joined& joined);
// The busy streams of the devices that its kernels have run on. No device closes meanwhile (ChainsStay).
std::vector<StreamImpl*> streams_at_work_with(const Joined& joined);
// Removes it and its kernels from all tables and tells the listeners. Nobody calls it, and it has no pending work.
void unregister_joined(Joined& joined);

// Empty if nobody holds it any longer.
Chain try_share(Joined& joined);

}  // namespace bp

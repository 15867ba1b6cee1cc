// Where the operators run on a device, found by running their samples there.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <backplane/dispatcher/counters.hpp>
#include <backplane/dispatcher/operator.hpp>

#include "commands.hpp"

namespace bp::tools {

struct Served {
  Rung rung = Rung::none;  // the worst over all samples; none: one of them failed
  DtypeSet dtypes = 0;     // of samples that ran
  std::string error;       // why the first that failed did
  // How the samples of each dtype that ran were served, best first: those of other layouts may be served by a slower rung.
  std::map<Dtype, std::vector<Rung>> by_dtype = {};
};

// "native f32, f16 (partly host); host others", best first; "native" where all samples are served alike.
std::string describe(const Served& served);

struct Column {
  std::string device;
  std::vector<Served> served;  // in the order of registered_operators() with the named plugins
};

// Runs every operator's samples on the device, in several processes of their own: compilers work at once, and a
// plugin that crashes costs one operator. Every sample runs in an operator's first dtype; in the others one that a
// generated kernel took speaks for the rest, since each of those would be compiled for its layout again, unless
// options.every_sample.
// No plugin may be loaded yet, since no device follows into another process. Throws if the device cannot be used.
Column run_on(const std::string& device, const Options& options);

}  // namespace bp::tools

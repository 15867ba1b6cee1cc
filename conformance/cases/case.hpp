// A case: the smallest thing that is run, judged, named and repeated. Its name says all of it.
//
//   lane:op[dtype]/shape/layouts/values/form@seed      rows of the table
//   core:matmul[f16]/m17k65n3/transpose.step2/specials/out@1
//   direct:exp[f32]/s513/offset1/denormals/call@1
//   core:native_layer_norm[f32]/sample:two_dims/plain/normal/grad@1
//   probe:memory.copy_within/offset3@1                 what is not a row: loading, memory, streams, errors, stress
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <backplane/tensor/dtype.hpp>

namespace bp::conform {

enum class Lane : std::uint8_t {
  direct,  // a bp_call on the plugin, with nothing of the core between
  core,    // as an application calls
  probe,   // written by hand: see trials/
};

struct Case {
  Lane lane = Lane::core;
  std::string op;       // the row's name; of a probe, its family and name: "memory.copy_within"
  Dtype dtype = f32;    // that the row is asked to compute in; of a probe meaningless
  std::string shape;    // "s2x3,1x3", "m17k65n3", "sample:RECIPE", or what a probe needs
  std::string layouts;  // for each tensor argument, joined by '.'; the last one holds for the rest
  std::string values;   // "normal", "specials", "exact", ... (inputs/values.hpp)
  std::string
      form;  // "call", "out", "in_place", "grad", "stream", "recycled", "batch", "round_trip" ...
  std::uint64_t seed = 1;
  // Not of the name: derived again when a name is read.
  int level = 3;
  std::string
      family;  // of what it asks: shape broadcast layout alias special values exact ulp accumulation negative ...
};

std::string name_of(const Case& one);
// Throws bad_argument that quotes the name and says which part is wrong.
Case read_case(std::string_view name);

// Fills in `level` and `family`.
void classify(Case& one);

// Is a dimension past the sizes at which kernels change their way?
bool is_large(const Case& one);

// A row whose shape depends on data may go to the host and count as native: the host has to know the shape anyway.
bool is_excused_row(const std::string& op);

}  // namespace bp::conform

// A small call for each declared kernel's row: what probes of stress and counters repeat.
#pragma once

#include <string>
#include <vector>

#include "cases/kernels.hpp"
#include "trials/probes.hpp"

namespace bp::conform {

// "exp[f32]", ...: rows and dtypes for which some declared kernel takes a small call. `profile` as of derive_cases: one
// dtype for each row, two, or all.
std::vector<std::string> small_calls(const Subject& subject, int profile);

// Steps that make the objects, the call, and the objects of its outputs.
struct SmallCall {
  Json setup = Json::array();
  Json call;
  std::vector<int> outputs;
  std::string op;
  std::size_t num_shapes =
      1;  // that turn by turn are called: the turn behind them has other values alone
};
// Its objects are `first_object` and up. `turn`: another shape, where the row has several that the kernel takes, and other values. Throws bad_argument for a name
// that small_calls does not give.
SmallCall small_call(const std::string& name, const Subject& subject, std::size_t turn = 0,
                     int first_object = 0);

}  // namespace bp::conform

// Random programs: rows as the registry has them, on the table's own samples, with views of all kinds and
// writes into them.
#pragma once

#include <cstdint>

#include "autograd/programs/program.hpp"

namespace bp::test::programs {

// Of which rows: all, or a few for devices whose compiler takes longer than all else.
enum class Pool { all, few };

// The same program for the same seed and table. What it computes is finite and of moderate size.
Program generate_program(std::uint64_t seed, Pool pool = Pool::all);

// Does a program call no other rows than the few? Views are free.
bool is_of_few_rows(const Program& program);

}  // namespace bp::test::programs

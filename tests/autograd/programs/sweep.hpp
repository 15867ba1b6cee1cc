// Many programs on several devices, and what was wrong with them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "autograd/programs/generate.hpp"
#include "autograd/programs/judge.hpp"

namespace bp::test::programs {

struct Found {
  std::string wrong;  // of the shrunk program
  std::string device;
  std::uint64_t seed = 0;
  Program program;  // shrunk
  std::size_t count = 0;
};

struct Swept {
  std::size_t num_programs = 0, num_judged = 0, num_second_judged = 0, num_errors = 0,
              num_maybe = 0, num_otherwise = 0;
  std::map<std::string, Found> found;  // the first of each kind
};

// BP_SEED and BP_PROGRAMS, for use by hand.
std::uint64_t wanted_seed();
std::size_t wanted_programs(std::size_t otherwise);

// Programs of the seeds from `first` on, on each device.
Swept sweep(std::uint64_t first, std::size_t count, const std::vector<std::string>& devices,
            Pool pool = Pool::all);

// What is wrong with one program on these devices, memory that it leaves behind included; empty if nothing.
std::string check_program(const Program& program, const std::vector<std::string>& devices);

std::string text_of(const Swept& swept);

}  // namespace bp::test::programs

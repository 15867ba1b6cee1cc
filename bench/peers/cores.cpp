// What all cores give together now: answers each line read with their multiply-adds of f32, in GFLOP/s. Virtual cores that share a
// real one for a while, or have a busy neighbour there, give half.
#include <atomic>
#include <chrono>
#include <iostream>
#include <sched.h>
#include <string>
#include <thread>
#include <vector>

#include "machine.hpp"

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds duration{15};

std::vector<int> cores_of_this_process() {
  cpu_set_t allowed;
  sched_getaffinity(0, sizeof allowed, &allowed);
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &allowed)) cores.push_back(core);
  return cores;
}

double operations_on(int core, const Unit& unit, std::atomic<int>& missing) {
  cpu_set_t here;
  CPU_ZERO(&here);
  CPU_SET(core, &here);
  sched_setaffinity(0, sizeof here, &here);
  constexpr int64_t rounds = 1000;
  missing.fetch_sub(1);
  while (missing.load() > 0) {
  }
  double operations = 0;
  for (const auto end = Clock::now() + duration; Clock::now() < end; operations += rounds)
    unit.run(rounds);
  return operations * unit.operations;
}

double gflops_of(const std::vector<int>& cores) {
  const Unit unit = f32_unit();
  std::vector<double> operations(cores.size());
  std::atomic<int> missing{static_cast<int>(cores.size())};
  std::vector<std::thread> threads;
  for (size_t i = 0; i < cores.size(); ++i)
    threads.emplace_back([&, i] { operations[i] = operations_on(cores[i], unit, missing); });
  for (std::thread& each : threads) each.join();
  double sum = 0;
  for (const double each : operations) sum += each;
  return sum / std::chrono::duration<double, std::nano>(duration).count();
}

}  // namespace

int main() {
  const std::vector<int> cores = cores_of_this_process();
  for (std::string line; std::getline(std::cin, line);) std::cout << gflops_of(cores) << std::endl;
}

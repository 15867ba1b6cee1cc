// Random numbers: a seed and an offset, nothing else. The numbers themselves are defined by Philox
// (core_ops), so that they are the same on every device.
#pragma once

#include <cstdint>

#include <backplane/tensor/api.hpp>
#include <backplane/tensor/device.hpp>

namespace bp {

struct PhiloxState {
  std::uint64_t seed = 0;
  std::uint64_t offset = 0;  // in counters of four words
};

// A source of random numbers. Threads: any.
class BP_API Generator {
 public:
  explicit Generator(std::uint64_t seed = 0) : state_{seed, 0} {}
  void manual_seed(std::uint64_t seed);
  std::uint64_t initial_seed() const;
  PhiloxState state() const;
  void set_state(PhiloxState state);
  // Takes the counters for `num_words` 32-bit words: what a draw of that many elements uses.
  PhiloxState reserve(std::uint64_t num_words);

 private:
  mutable unsigned char lock_ = 0;
  PhiloxState state_;
};

// The generator of a device; all start from the same seed (0 until manual_seed).
BP_API Generator& default_generator(Device device);
// Seeds the generators of all devices, present and future.
BP_API void manual_seed(std::uint64_t seed);

}  // namespace bp

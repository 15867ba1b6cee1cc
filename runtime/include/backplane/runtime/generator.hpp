// Random numbers: a seed and an offset, nothing else. The numbers themselves are defined by Philox
// (core_ops), so that they are the same on every device.
//
//   bp::Generator generator(7);
//   bp::rand({2, 3}, {}, {}, &generator);  // advances it; the device's own stays as it is
#pragma once

#include <cstdint>
#include <optional>

#include <backplane/abi.h>
#include <backplane/tensor/api.hpp>
#include <backplane/tensor/device.hpp>

namespace bp {

struct PhiloxState {
  std::uint64_t seed = 0;
  std::uint64_t offset = 0;  // in counters of four words
};

// A source of random numbers, for draws on one device or, without one, on any. Not copied, since a copy would draw
// the same numbers once more; take its state() for that. Threads: any.
class BP_API Generator {
 public:
  explicit Generator(std::uint64_t seed = 0) : Generator(std::nullopt, seed) {}
  // Throws bad_argument unless there is such a device.
  explicit Generator(Device device, std::uint64_t seed = 0);
  Generator(const Generator&) = delete;
  Generator& operator=(const Generator&) = delete;

  std::optional<Device> device() const { return device_; }
  void manual_seed(std::uint64_t seed);
  std::uint64_t initial_seed() const;
  PhiloxState state() const;
  void set_state(PhiloxState state);
  // Takes the counters for `num_words` 32-bit words: what a draw of that many elements uses.
  PhiloxState reserve(std::uint64_t num_words);

  // As an argument of a call. A draw takes its numbers from it; kernels then see where those begin.
  bp_value value();
  // The generator behind an argument; null if it says where numbers begin that were taken already.
  static Generator* of(const bp_value& value) {
    const bool is_ours = value.tag == BP_GENERATOR && value.aux == live;
    return is_ours ? static_cast<Generator*>(const_cast<void*>(value.u.ptr)) : nullptr;
  }

 private:
  friend struct DefaultGenerators;
  static constexpr std::uint32_t live = 1;  // in bp_value.aux
  Generator(std::optional<Device> device, std::uint64_t seed);

  bp_generator state_;  // first, so that its address is also that of what kernels are shown
  std::optional<Device> device_;
  mutable unsigned char lock_ = 0;
};

// The generator of a device; all start from the same seed (0 until manual_seed).
BP_API Generator& default_generator(Device device);
// Takes numbers for a draw on `device` from `generator`, or where that is null from the device's own. Nothing moves
// for a draw on meta. Throws bad_argument for another device's generator.
BP_API PhiloxState draw_from(Generator* generator, Device device, std::uint64_t num_words);
// Seeds the generators of all devices, present and future.
BP_API void manual_seed(std::uint64_t seed);

}  // namespace bp

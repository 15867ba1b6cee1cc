// One sample, a batch of them, and where the random numbers of a sample come from.
#pragma once

#include <cstdint>
#include <memory>

#include <backplane/runtime/generator.hpp>
#include <backplane/state/state.hpp>

namespace bp::data {

// Both are trees of tensors, numbers and text. An image with its label is often a list, {image, 7}; named fields are a
// dict.
using Sample = State;
using Batch = State;

// Which sample this thread is making. `worker` is -1 outside of workers.
struct SampleContext {
  std::uint64_t seed = 0;  // the loader's
  std::int64_t epoch = 0;
  std::int64_t index = 0;  // -1: a stream is being begun; -2 - n: batch n is being joined
  int worker = -1;
  int num_workers = 0;
};

// Null where no loader asked for the sample.
BP_API const SampleContext* sample_context();

// The source of random numbers for the sample that this thread is making. It starts again for each sample, from the loader's
// seed, the epoch and the sample's index alone, so that augmentations do not depend on which worker makes them, or on how
// many there are. Outside of a loader, the host's default generator.
BP_API Generator& sample_generator();

// Sets up a sample as a loader does; for code that makes samples without a loader. Scopes nest.
class BP_API SampleScope {
 public:
  explicit SampleScope(const SampleContext& context);
  ~SampleScope();
  SampleScope(const SampleScope&) = delete;
  SampleScope& operator=(const SampleScope&) = delete;

 private:
  SampleContext context_;
  Generator generator_;
  SampleScope* outer_;
  friend const SampleContext* sample_context();
  friend Generator& sample_generator();
};

// A seed made of a seed and two numbers: three rounds of SplitMix64 (Steele, Lea and Flood, 2014), the same on every machine.
BP_API std::uint64_t mix_seed(std::uint64_t seed, std::uint64_t a, std::uint64_t b = 0);

}  // namespace bp::data

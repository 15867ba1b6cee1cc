#include <backplane/data/sample.hpp>
#include <backplane/dispatcher/host_device.hpp>

namespace bp::data {
namespace {

thread_local SampleScope* innermost_scope = nullptr;

std::uint64_t split_mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace

std::uint64_t mix_seed(std::uint64_t seed, std::uint64_t a, std::uint64_t b) {
  return split_mix(split_mix(split_mix(seed) ^ a) ^ b);
}

SampleScope::SampleScope(const SampleContext& context)
    : context_(context),
      generator_(mix_seed(context.seed, static_cast<std::uint64_t>(context.epoch),
                          static_cast<std::uint64_t>(context.index))),
      outer_(innermost_scope) {
  innermost_scope = this;
}

SampleScope::~SampleScope() {
  innermost_scope = outer_;
}

const SampleContext* sample_context() {
  return innermost_scope ? &innermost_scope->context_ : nullptr;
}

Generator& sample_generator() {
  return innermost_scope ? innermost_scope->generator_ : default_generator(host_device());
}

}  // namespace bp::data

// What makes tensors from nothing: full, arange, and the words of all random numbers.
#include "tensor_view.hpp"

namespace reference {
namespace {

using OptionalDtype = std::optional<bp::Dtype>;
using OptionalDevice = std::optional<bp::DeviceNumber>;

bp::Status full(bp::Stream stream, bp::Ints, bp::Scalar value, OptionalDtype, OptionalDevice,
                bp::Out out) {
  return with_sum_type(out.dtype(), [&]<class T>(Tag<T>) {
    return submit(stream, [number = number_as<T>(value), to = TensorView(stream, out)] {
      for (int64_t i = 0; i < to.numel; ++i) to.set(i, number);
    });
  });
}

// Each element from its own product, not from its neighbour: errors do not add up.
bp::Status arange(bp::Stream stream, bp::Scalar start, bp::Scalar, bp::Scalar step, OptionalDtype,
                  OptionalDevice, bp::Out out) {
  const TensorView to(stream, out);
  if (bp::integral.holds(out.dtype())) {
    const auto first = static_cast<uint64_t>(number_as<int64_t>(start));
    const auto each = static_cast<uint64_t>(number_as<int64_t>(step));
    return submit(stream, [=] {
      for (int64_t i = 0; i < to.numel; ++i) to.set(i, first + each * static_cast<uint64_t>(i));
    });
  }
  return submit(stream, [=, first = start.to_double(), each = step.to_double()] {
    for (int64_t i = 0; i < to.numel; ++i) to.set(i, first + each * static_cast<double>(i));
  });
}

// Word `index` of Philox4x32-10 (Salmon et al. 2011) at this counter.
uint32_t philox_word(uint64_t seed, uint64_t counter, int64_t index) {
  uint32_t words[4] = {static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32), 0, 0};
  uint32_t key[2] = {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * words[0], b = uint64_t{0xCD9E8D57} * words[2];
    words[0] = static_cast<uint32_t>(b >> 32) ^ words[1] ^ key[0];
    words[1] = static_cast<uint32_t>(b);
    words[2] = static_cast<uint32_t>(a >> 32) ^ words[3] ^ key[1];
    words[3] = static_cast<uint32_t>(a);
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return words[index];
}

bp::Status philox(bp::Stream stream, bp::Ints, int64_t seed, int64_t offset, OptionalDevice,
                  bp::Out out) {
  return submit(stream, [seed, offset, to = TensorView(stream, out)] {
    for (int64_t i = 0; i < to.numel; ++i) {
      const uint64_t counter = static_cast<uint64_t>(offset) + static_cast<uint64_t>(i / 4);
      to.set(i, uint64_t{philox_word(static_cast<uint64_t>(seed), counter, i % 4)});
    }
  });
}

}  // namespace
}  // namespace reference

BP_KERNELS(factory) {
  using namespace reference;
  k.add<bp::op::full>(full).dtypes(bp::numeric | bp::boolean).layouts(bp::strided).deterministic();
  k.add<bp::op::arange>(arange).dtypes(bp::real).layouts(bp::strided).deterministic();
  k.add<bp::op::philox>(philox).dtypes(bp::u32).layouts(bp::strided).deterministic();
}

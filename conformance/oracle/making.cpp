// Ranges and random numbers: Philox4x32-10 of Salmon et al. 2011, word by word.
#include <array>
#include <cmath>

#include "elements.hpp"

namespace oracle {
namespace {

using Counter = std::array<std::uint32_t, 4>;

Counter philox_block(std::uint64_t seed, std::uint64_t counter) {
  Counter c{static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32), 0, 0};
  std::uint32_t key[2] = {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)};
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t first = std::uint64_t{0xD2511F53u} * c[0];
    const std::uint64_t second = std::uint64_t{0xCD9E8D57u} * c[2];
    c = {static_cast<std::uint32_t>(second >> 32) ^ c[1] ^ key[0],
         static_cast<std::uint32_t>(second),
         static_cast<std::uint32_t>(first >> 32) ^ c[3] ^ key[1],
         static_cast<std::uint32_t>(first)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return c;
}

std::vector<Word> words(Index count, Index seed, Index offset) {
  std::vector<Word> all;
  all.reserve(static_cast<std::size_t>(count) + 4);
  for (std::uint64_t block = 0; static_cast<Index>(all.size()) < count; ++block)
    for (const std::uint32_t word :
         philox_block(static_cast<std::uint64_t>(seed), static_cast<std::uint64_t>(offset) + block))
      all.push_back(word);
  all.resize(static_cast<std::size_t>(count));
  return all;
}

bp::Status philox(bp::Stream, bp::Ints, Index seed, Index offset, std::optional<bp::DeviceNumber>,
                  bp::Out out) {
  write(out, words(out.numel(), seed, offset));
  return bp::ok;
}

bp::Status uniform(bp::Stream, bp::Ints, Index seed, Index offset, std::optional<bp::Dtype>,
                   std::optional<bp::DeviceNumber>, bp::Out out) {
  const bp::Dtype dtype = out.dtype();  // which upper bits of a word a number keeps
  const int kept = dtype == bp::f32 ? 24 : dtype == bp::f16 ? 11 : dtype == bp::bf16 ? 8 : 32;
  std::vector<Real> values;
  for (const Word word : words(out.numel(), seed, offset))
    values.push_back(std::ldexp(Real(word >> (32 - kept)), -kept));
  write(out, values);
  return bp::ok;
}

// Cosine and sine of 2 pi word / 2^32; quarters of the circle are taken off first, so that zeros are 0.
struct Direction {
  Real cosine, sine;
};
Direction direction(Word word) {
  const Word quarter = (word + (Word{1} << 29)) >> 30;
  const Real rest = Real(static_cast<Index>(word) - static_cast<Index>(quarter << 30));
  const Real angle = std::ldexp(rest, -30) * std::acos(Real(0));
  const Real c = std::cos(angle), s = std::sin(angle);
  switch (quarter % 4) {
    case 0: return {c, s};
    case 1: return {-s, c};
    case 2: return {-c, -s};
    default: return {s, -c};
  }
}

bp::Status normal(bp::Stream, bp::Ints, Index seed, Index offset, std::optional<bp::Dtype>,
                  std::optional<bp::DeviceNumber>, bp::Out out) {
  const Index pairs = (out.numel() + 1) / 2;
  const std::vector<Word> drawn = words(2 * pairs, seed, offset);
  std::vector<Real> values;
  for (std::size_t i = 0; i < drawn.size(); i += 2) {
    const Real radius = std::sqrt(-2 * std::log(std::ldexp(Real(drawn[i] + 1), -32)));
    const Direction at = direction(drawn[i + 1]);
    values.push_back(radius * at.cosine);
    values.push_back(radius * at.sine);
  }
  values.resize(static_cast<std::size_t>(out.numel()));
  write(out, values);
  return bp::ok;
}

bp::Status arange(bp::Stream, bp::Scalar start, bp::Scalar, bp::Scalar step,
                  std::optional<bp::Dtype>, std::optional<bp::DeviceNumber>, bp::Out out) {
  const auto count_up = [&](auto zero) {
    using T = decltype(zero);
    std::vector<T> values;
    for (Index i = 0; i < out.numel(); ++i)
      values.push_back(number<T>(start) + T(i) * number<T>(step));
    write(out, values);
  };
  if (start.is_integer() && step.is_integer() && is_integer(out.dtype()))
    count_up(Word());
  else
    count_up(Real());
  return bp::ok;
}

}  // namespace
}  // namespace oracle

BP_KERNELS(making) {
  namespace o = oracle;
  o::exact(k.add<bp::op::philox>(o::philox), bp::all);
  o::exact(k.add<bp::op::rand_philox>(o::uniform), bp::all);
  o::exact(k.add<bp::op::randn_philox>(o::normal), bp::all);
  o::exact(k.add<bp::op::arange>(o::arange), bp::all);
}

// Random numbers by definition: element i of a draw is word i mod 4 of Philox4x32-10 with the key
// `seed` and the counter `offset + i div 4` (Salmon et al., "Parallel random numbers: as easy as
// 1, 2, 3", 2011). Every backend gives the same integers and uniforms, bit for bit.
#include "../constants.hpp"
#include "../tile/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/random.cpp"
#include <bit>
#include <cmath>
#include <cstdint>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "../host.hpp"
#include "../tensor_view.hpp"
#include "../threads.hpp"
#include "kernels.hpp"

#ifndef BP_CPU_RANDOM_ONCE
#  define BP_CPU_RANDOM_ONCE
namespace bp::cpu::random {

constexpr int lanes = constants::random_counters;
constexpr int64_t chunk_size = lanes * 4;  // their words, and so elements

}  // namespace bp::cpu::random
#endif

HWY_BEFORE_NAMESPACE();
namespace bp::cpu::random {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Words = uint32_t[4][lanes];
using WordLanes = hn::CappedTag<uint32_t, 16>;

struct Product {
  hn::Vec<WordLanes> high, low;
};

// The halves of each lane's product with `factor`, in all lanes the same.
HWY_INLINE Product multiply(hn::Vec<WordLanes> words, hn::Vec<WordLanes> factor) {
#if HWY_TARGET == HWY_SCALAR
  const uint64_t product = uint64_t{hn::GetLane(words)} * hn::GetLane(factor);
  const WordLanes d;
  return {hn::Set(d, static_cast<uint32_t>(product >> 32)),
          hn::Set(d, static_cast<uint32_t>(product))};
#else
  const WordLanes d;
  const hn::RepartitionToWide<WordLanes> wide;
  const auto even = hn::MulEven(words, factor);
  const auto odd =
      hn::MulEven(hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(wide, words))), factor);
  return {hn::OddEven(hn::BitCast(d, odd), hn::BitCast(d, hn::ShiftRight<32>(even))),
          hn::OddEven(hn::BitCast(d, hn::ShiftLeft<32>(odd)), hn::BitCast(d, even))};
#endif
}

// Word w of counter + lane in words[w][lane].
HWY_INLINE void philox(uint64_t seed, uint64_t counter, Words& words) {
  for (int lane = 0; lane < lanes; ++lane) {
    const uint64_t own = counter + static_cast<uint64_t>(lane);
    words[0][lane] = static_cast<uint32_t>(own);
    words[1][lane] = static_cast<uint32_t>(own >> 32);
  }
  const WordLanes d;
  const auto factor0 = hn::Set(d, 0xD2511F53u), factor1 = hn::Set(d, 0xCD9E8D57u);
  for (int lane = 0; lane < lanes; lane += static_cast<int>(hn::Lanes(d))) {
    auto word0 = hn::LoadU(d, words[0] + lane), word1 = hn::LoadU(d, words[1] + lane);
    auto word2 = hn::Zero(d), word3 = hn::Zero(d);
    auto key0 = static_cast<uint32_t>(seed), key1 = static_cast<uint32_t>(seed >> 32);
    for (int round = 0; round < 10; ++round) {
      const Product product0 = multiply(word0, factor0), product1 = multiply(word2, factor1);
      word0 = hn::Xor(hn::Xor(product1.high, word1), hn::Set(d, key0));
      word1 = product1.low;
      word2 = hn::Xor(hn::Xor(product0.high, word3), hn::Set(d, key1));
      word3 = product0.low;
      key0 += 0x9E3779B9u;
      key1 += 0xBB67AE85u;
    }
    hn::StoreU(word0, d, words[0] + lane);
    hn::StoreU(word1, d, words[1] + lane);
    hn::StoreU(word2, d, words[2] + lane);
    hn::StoreU(word3, d, words[3] + lane);
  }
}

// sqrt(-2 ln((word + 1) / 2^32)), to about a unit of double's last place.
HWY_INLINE double radius(uint32_t word) {
  // A number in [sqrt(1/2), sqrt(2)) times a power of two; close to 1 its logarithm loses nothing.
  const double value =
      (std::bit_cast<double>(0x4330000000000000u | word) - (0x1p52 - 1.0)) * 0x1p-32;
  const uint64_t bits = std::bit_cast<uint64_t>(value);
  const uint64_t shifted = bits + (0x3ff0000000000000u - 0x3fe6a09e667f3bcdu);
  // The exponent as a double, by the bits of 2^52 + exponent.
  const double exponent =
      std::bit_cast<double>((shifted >> 52) | 0x4330000000000000u) - (0x1p52 + 1023.0);
  const double fraction =
      std::bit_cast<double>(bits - (shifted & 0xfff0000000000000u) + 0x3ff0000000000000u);
  const double f = fraction - 1.0;
  const double s = f / (2.0 + f);
  const double z = s * s;  // ln(1 + f) = 2 artanh(s)
  double series = 1.0 / 23;
  series = series * z + 1.0 / 21;
  series = series * z + 1.0 / 19;
  series = series * z + 1.0 / 17;
  series = series * z + 1.0 / 15;
  series = series * z + 1.0 / 13;
  series = series * z + 1.0 / 11;
  series = series * z + 1.0 / 9;
  series = series * z + 1.0 / 7;
  series = series * z + 1.0 / 5;
  series = series * z + 1.0 / 3;
  const double log = exponent * 0x1.62e42fefa39efp-1 + (2.0 * s + 2.0 * s * z * series);
  return std::sqrt(0.0 - 2.0 * log);
}

// Cosine and sine of 2 pi word / 2^32. The quarter of the circle is found in integers, so that the
// zeros are exact and the values around them keep all their digits.
HWY_INLINE void circle(uint32_t word, double& cosine, double& sine) {
  const uint32_t quarter = (word + 0x20000000u) >> 30;
  const auto rest = static_cast<int32_t>(word - (quarter << 30));
  const double x = static_cast<double>(rest) * (0x1.921fb54442d18p+2 * 0x1p-32);
  const double z = x * x;
  double c = 1.0 / 20922789888000;  // 1/16!
  c = c * z - 1.0 / 87178291200;
  c = c * z + 1.0 / 479001600;
  c = c * z - 1.0 / 3628800;
  c = c * z + 1.0 / 40320;
  c = c * z - 1.0 / 720;
  c = c * z + 1.0 / 24;
  c = 1.0 - z * 0.5 + z * z * c;
  double s = 1.0 / 355687428096000;  // 1/17!
  s = s * z - 1.0 / 1307674368000;
  s = s * z + 1.0 / 6227020800;
  s = s * z - 1.0 / 39916800;
  s = s * z + 1.0 / 362880;
  s = s * z - 1.0 / 5040;
  s = s * z + 1.0 / 120;
  s = s * z - 1.0 / 6;
  s = x + x * z * s;
  const double along = (quarter & 1) != 0 ? s : c;
  const double across = (quarter & 1) != 0 ? c : s;
  cosine = ((quarter + 1) & 2) != 0 ? -along : along;
  sine = (quarter & 2) != 0 ? -across : across;
}

// A chunk of words, in the order of elements.
void words_chunk(uint64_t seed, uint64_t counter, uint32_t* out) {
  Words words;
  philox(seed, counter, words);
  const WordLanes d;
  for (int lane = 0; lane < lanes; lane += static_cast<int>(hn::Lanes(d)))
    hn::StoreInterleaved4(hn::LoadU(d, words[0] + lane), hn::LoadU(d, words[1] + lane),
                          hn::LoadU(d, words[2] + lane), hn::LoadU(d, words[3] + lane), d,
                          out + ptrdiff_t{4} * lane);
}

// A chunk of the uniforms of f32, word / 2^8 rounded down, times 2^-24, in the order of elements.
void uniforms_chunk(uint64_t seed, uint64_t counter, float* out) {
  Words words;
  philox(seed, counter, words);
  const WordLanes d;
  const hn::RebindToSigned<WordLanes> whole;
  const hn::RebindToFloat<WordLanes> d_out;
  const auto uniform = [&](int word, int lane) HWY_ATTR {
    const auto high = hn::BitCast(whole, hn::ShiftRight<8>(hn::LoadU(d, words[word] + lane)));
    return hn::Mul(hn::ConvertTo(d_out, high), hn::Set(d_out, 0x1p-24f));
  };
  for (int lane = 0; lane < lanes; lane += static_cast<int>(hn::Lanes(d)))
    hn::StoreInterleaved4(uniform(0, lane), uniform(1, lane), uniform(2, lane), uniform(3, lane),
                          d_out, out + ptrdiff_t{4} * lane);
}

// A chunk of normals, in the order of elements.
void normals_chunk(uint64_t seed, uint64_t counter, double* out) {
  Words words;
  philox(seed, counter, words);
  double parts[4][lanes];
  for (int pair = 0; pair < 4; pair += 2) {
    for (int lane = 0; lane < lanes; ++lane) {
      const double length = radius(words[pair][lane]);
      double cosine;
      double sine;
      circle(words[pair + 1][lane], cosine, sine);
      parts[pair][lane] = length * cosine;
      parts[pair + 1][lane] = length * sine;
    }
  }
  for (int lane = 0; lane < lanes; ++lane)
    for (int part = 0; part < 4; ++part) out[4 * lane + part] = parts[part][lane];
}

}  // namespace HWY_NAMESPACE
}  // namespace bp::cpu::random
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bp::cpu {
namespace random {

HWY_EXPORT(words_chunk);
HWY_EXPORT(uniforms_chunk);
HWY_EXPORT(normals_chunk);

// Fills `out` chunk by chunk: make(counter, source) gives the numbers of one chunk, and
// convert(number) an element; numbers that are elements are made where they belong.
template <class T, class Source, class Make, class Convert>
void fill_chunks(const bp_tensor& out, uint64_t offset, Make make, Convert convert) {
  T* const to = data_of<T>(out);
  const int64_t num_chunks = (out.numel + chunk_size - 1) / chunk_size;
  parallel_for(num_chunks, 32, [&](int64_t begin, int64_t end) {
    Source source[chunk_size];
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      const uint64_t counter = offset + static_cast<uint64_t>(chunk * lanes);
      const int64_t first = chunk * chunk_size;
      const int64_t count = std::min(chunk_size, out.numel - first);
      if constexpr (std::is_same_v<T, Source>) {
        if (count == chunk_size) {
          make(counter, to + first);
          continue;
        }
      }
      make(counter, source);
      for (int64_t i = 0; i < count; ++i) to[first + i] = convert(source[i]);
    }
  });
}

template <class T> T uniform_from(uint32_t word) {
  if constexpr (std::is_same_v<T, double>) {
    return static_cast<double>(word) * 0x1p-32;
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return T(static_cast<float>(word >> 24) * 0x1p-8f);
  } else {
    return T(static_cast<float>(word >> 21) * 0x1p-11f);
  }
}

template <class T> T normal_from(double value) {
  if constexpr (is_reduced_float<T>) {
    return T(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

Status run_philox(Stream, Ints, int64_t seed, int64_t offset, std::optional<DeviceNumber>,
                  Out out) {
  const auto words = HWY_DYNAMIC_DISPATCH(words_chunk);
  fill_chunks<uint32_t, uint32_t>(
      out.abi(), static_cast<uint64_t>(offset),
      [&](uint64_t counter, uint32_t* source) {
        words(static_cast<uint64_t>(seed), counter, source);
      },
      [](uint32_t word) { return word; });
  return ok;
}

Status run_rand(Stream, Ints, int64_t seed, int64_t offset, std::optional<Dtype>,
                std::optional<DeviceNumber>, Out out) {
  const auto key = static_cast<uint64_t>(seed), first = static_cast<uint64_t>(offset);
  visit_dtype<floating_dtypes>(out.abi().dtype, [&]<class T>(Tag<T>) {
    if constexpr (std::is_same_v<T, float>) {
      const auto uniforms = HWY_DYNAMIC_DISPATCH(uniforms_chunk);
      fill_chunks<float, float>(
          out.abi(), first,
          [&](uint64_t counter, float* source) { uniforms(key, counter, source); },
          [](float value) { return value; });
    } else {
      const auto words = HWY_DYNAMIC_DISPATCH(words_chunk);
      fill_chunks<T, uint32_t>(
          out.abi(), first,
          [&](uint64_t counter, uint32_t* source) { words(key, counter, source); },
          [](uint32_t word) { return uniform_from<T>(word); });
    }
  });
  return ok;
}

Status run_randn(Stream, Ints, int64_t seed, int64_t offset, std::optional<Dtype>,
                 std::optional<DeviceNumber>, Out out) {
  const auto normals = HWY_DYNAMIC_DISPATCH(normals_chunk);
  visit_dtype<floating_dtypes>(out.abi().dtype, [&]<class T>(Tag<T>) {
    fill_chunks<T, double>(
        out.abi(), static_cast<uint64_t>(offset),
        [&](uint64_t counter, double* source) {
          normals(static_cast<uint64_t>(seed), counter, source);
        },
        [](double value) { return normal_from<T>(value); });
  });
  return ok;
}

}  // namespace random

void add_random_kernels(Kernels& k) {
  k.add<op::philox>(random::run_philox).dtypes(u32).deterministic();
  k.add<op::rand_philox>(random::run_rand).dtypes(floating).deterministic();
  k.add<op::randn_philox>(random::run_randn).dtypes(floating).deterministic();
}

}  // namespace bp::cpu
#endif

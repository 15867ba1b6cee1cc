// constant_pad_nd: a number around a tensor. `pad` counts from the last dimension, two numbers for each:
// before and behind; negative ones cut away.
#include <algorithm>
#include <complex>
#include <cstring>
#include <fmt/format.h>

#include <backplane/tensor/float_formats.hpp>

#include "kinds/kinds.hpp"
#include "kinds/walk.hpp"

namespace bp::codegen {
namespace {

template <class T> void put(std::uint64_t (&words)[2], T value) {
  std::memcpy(words, &value, sizeof value);
}

// The bytes of one element.
void bytes_of(const Scalar& number, Dtype dtype, std::uint64_t (&words)[2]) {
  const float single = static_cast<float>(number.to_double());
  switch (dtype) {
    case Dtype::boolean: return put(words, static_cast<std::uint8_t>(number.to_bool()));
    case Dtype::f16: return put(words, float_to_f16(single));
    case Dtype::bf16: return put(words, float_to_bf16(single));
    case Dtype::f8_e4m3fn: return put(words, float_to_f8_e4m3fn(single));
    case Dtype::f8_e5m2: return put(words, float_to_f8_e5m2(single));
    case Dtype::f32: return put(words, single);
    case Dtype::f64: return put(words, number.to_double());
    case Dtype::complex64: return put(words, std::complex<float>(number.to_complex()));
    case Dtype::complex128: return put(words, number.to_complex());
    default: return put(words, number.to_int());
  }
}

// A run is some of the number, some of the tensor and some of the number; in rows that lie outside of
// the tensor, the number alone.
constexpr const char* pad_row = R"(
    GLOBAL $T* out = (GLOBAL $T*)(m0 + v.out_start) + out_at;
    GLOBAL const $T* a = (GLOBAL const $T*)(m1 + v.a_start) + a_at;
    i64 low = v.before[$last] - first, high = low + v.inside[$last];
    i64 line = (element - run) / v.size[$last];
    for (int d = $last - 1; d >= 0; --d) {
      const i64 rest = line / v.size[d];
      const i64 place = line % v.size[d] - v.before[d];
      if (place < 0 || place >= v.inside[d]) high = low;
      line = rest;
    }
    low = low < 0 ? 0 : low < run ? low : run;
    high = high < low ? low : high < run ? high : run;
    for (i64 j = 0; j < low; ++j) out[j * out_step] = number;
    for (i64 j = low; j < high; ++j) out[j * out_step] = a[j * a_step];
    for (i64 j = high; j < run; ++j) out[j * out_step] = number;
)";

KernelText pad_text(std::uint32_t itemsize, int rank, bool is_unit) {
  const Step step = is_unit ? Step::one : Step::any;
  const WalkText walk{rank, {{"out", step}, {"a", step}}};
  KernelText text;
  text.name = fmt::format("pad_b{}_r{}{}", itemsize, rank, is_unit ? "_rows" : "");
  text.num_memory = 2;
  walk.add_fields(text.values);
  for (const char* name : {"before", "inside"}) text.values.push_back({name, false, rank});
  for (const char* name : {"number_low", "number_high"}) text.values.push_back({name});
  text.helpers = mover_helpers(itemsize);
  const std::string type(mover_type(itemsize));
  text.body = itemsize == 16
                  ? "  u128 number; number.low = v.number_low; number.high = v.number_high;\n"
                  : fmt::format("  const {0} number = ({0})v.number_low;\n", type);
  text.body += walk.loop(fill_in(pad_row, {{"T", type}, {"last", std::to_string(rank - 1)}}));
  return text;
}

// Where the tensor lies in the result, per dimension.
struct Frame {
  std::array<std::int64_t, BP_MAX_RANK> before{}, inside{};
};

class Pad final : public GeneratedKernel {
 public:
  void run(Invocation& invocation) const override {
    const bp_tensor& a = invocation.tensor(0);
    const bp_tensor& out = invocation.output();
    Walk walk(shape_of(out));
    walk.add(out.dl.strides).add(a.dl.strides);
    Frame frame;
    std::copy_n(a.dl.shape, a.dl.ndim, frame.inside.begin());
    const bp_value& list = invocation.arg(1);
    const auto* pairs = static_cast<const std::int64_t*>(list.u.ptr);
    for (std::uint32_t i = 0; i < list.aux / 2; ++i)
      frame.before[a.dl.ndim - 1 - static_cast<int>(i)] = pairs[std::size_t{2} * i];
    join_unpadded(walk, frame);
    std::int64_t start = offset_of(a);
    for (int d = 0; d < walk.rank; ++d)
      start -= frame.before[d] * walk.stride[1][d] * static_cast<std::int64_t>(a.itemsize);

    const int rank = walk.rank_class();
    const bool is_unit = walk.step_class(0) == Step::one && walk.step_class(1) == Step::one;
    const std::uint64_t variant = a.itemsize | static_cast<std::uint64_t>(rank) << 8 |
                                  static_cast<std::uint64_t>(is_unit) << 16;
    bp_function* function =
        invocation.function(variant, [&] { return pad_text(a.itemsize, rank, is_unit); });
    const Division division = divide(invocation, walk.count());
    Values values;
    add_walk_values(values, walk, division, {offset_of(out), start});
    for (int d = 0; d < rank; ++d)
      values.add(d < rank - walk.rank ? 0 : frame.before[d - rank + walk.rank]);
    for (int d = 0; d < rank; ++d)
      values.add(d < rank - walk.rank ? 1 : frame.inside[d - rank + walk.rank]);
    std::uint64_t words[2] = {};
    bytes_of(Scalar::from_value(invocation.arg(2)), static_cast<Dtype>(a.dtype), words);
    for (std::uint64_t word : words) values.add(static_cast<std::int64_t>(word));
    invocation.launch(function, {{division.items, 1, 1}}, {handle_of(out), handle_of(a)}, values);
  }

 private:
  // A dimension that stays whole belongs to the one before it where memory allows: then padding that
  // one is padding by whole lines.
  static void join_unpadded(Walk& walk, Frame& frame) {
    if (walk.rank == 0) walk.size[0] = frame.inside[0] = walk.rank = 1;
    for (int d = walk.rank - 1; d > 0; --d) {
      bool joins = frame.before[d] == 0 && frame.inside[d] == walk.size[d];
      for (int k = 0; k < 2; ++k)
        joins = joins && walk.stride[k][d - 1] == walk.stride[k][d] * walk.size[d];
      if (!joins) continue;
      frame.before[d - 1] *= walk.size[d];
      frame.inside[d - 1] *= walk.size[d];
      walk.size[d - 1] *= walk.size[d];
      for (int k = 0; k < 2; ++k) walk.stride[k][d - 1] = walk.stride[k][d];
      for (int e = d; e < walk.rank - 1; ++e) {
        walk.size[e] = walk.size[e + 1];
        frame.before[e] = frame.before[e + 1];
        frame.inside[e] = frame.inside[e + 1];
        for (int k = 0; k < 2; ++k) walk.stride[k][e] = walk.stride[k][e + 1];
      }
      --walk.rank;
    }
  }
};

}  // namespace

std::unique_ptr<GeneratedKernel> make_pad(const Operator& op) {
  auto kernel = std::make_unique<Pad>();
  kernel->places = strided_places(op, all_dtypes);
  return kernel;
}

}  // namespace bp::codegen

// Transforms of lines along one dimension. A line is read as complex numbers that are transformed forward, and what comes out
// is written as the call asks: swapping the two parts before and after makes the transform one back.
#include <algorithm>
#include <array>
#include <atomic>

#include "../constants.hpp"
#include "../host.hpp"
#include "../tensor_view.hpp"
#include "../threads.hpp"
#include "fourier_line.hpp"
#include "fourier_packs.hpp"
#include "kernels.hpp"

namespace bp::cpu {
namespace {

using fourier::Number;

struct Transform {
  const bp_tensor& input;
  const bp_tensor& out;
  int64_t dim;
  double scale;
  bool forward;

  int64_t input_step() const { return input.dl.strides[dim]; }
  int64_t out_step() const { return out.dl.strides[dim]; }
};

// One line of a pack, or of Numbers, which are a pack of one: where its first real part is, and how far parts lie apart.
template <class R> struct Line {
  R* first;
  int64_t width;

  void set(int64_t k, R re, R im) const {
    first[2 * k * width] = re;
    first[(2 * k + 1) * width] = im;
  }
  R re(int64_t k) const { return first[2 * k * width]; }
  R im(int64_t k) const { return first[(2 * k + 1) * width]; }
};

// What is made of loaded lines before their transform, or of it before it is stored: another pack.
enum class Pairs { none, are_split, are_joined };

// Each kind of lines says how long the transform is, how many elements are loaded and stored, and loads and stores a part of a
// line that begins at an offset from the tensor's first element.
template <class T> class ComplexLines {
 public:
  using Real = T;

  explicit ComplexLines(const Transform& call)
      : call_(call), input_(data_of<std::complex<T>>(call.input)),
        out_(data_of<std::complex<T>>(call.out)), n_(call.input.dl.shape[call.dim]) {}

  int64_t length() const { return n_; }
  int64_t num_loaded() const { return n_; }
  int64_t num_stored() const { return n_; }
  Pairs pairs() const { return Pairs::none; }

  template <class R> void load(Line<R> to, int64_t offset, int64_t begin, int64_t end) const {
    const std::complex<T>* const line = input_ + offset;
    const int64_t step = call_.input_step();
    for (int64_t k = begin; k < end; ++k) {
      const std::complex<T> value = line[k * step];
      to.set(k, call_.forward ? value.real() : value.imag(),
             call_.forward ? value.imag() : value.real());
    }
  }

  template <class R> void store(Line<R> from, int64_t offset, int64_t begin, int64_t end) const {
    std::complex<T>* const line = out_ + offset;
    const int64_t step = call_.out_step();
    const auto scale = static_cast<R>(call_.scale);
    for (int64_t k = begin; k < end; ++k) {
      const auto re = static_cast<T>(from.re(k) * scale), im = static_cast<T>(from.im(k) * scale);
      line[k * step] = call_.forward ? std::complex<T>(re, im) : std::complex<T>(im, re);
    }
  }

 private:
  const Transform& call_;
  const std::complex<T>* input_;
  std::complex<T>* out_;
  int64_t n_;
};

// Even numbers of real elements are pairs that make half as many complex ones; what these give is then taken apart into the
// transforms of the pairs' first and second elements.
template <class T> class RealLines {
 public:
  using Real = T;

  explicit RealLines(const Transform& call)
      : call_(call), input_(data_of<T>(call.input)), out_(data_of<std::complex<T>>(call.out)),
        n_(call.input.dl.shape[call.dim]) {}

  int64_t length() const { return is_paired() ? n_ / 2 : n_; }
  int64_t num_loaded() const { return length(); }
  int64_t num_stored() const { return n_ / 2 + 1; }
  Pairs pairs() const { return is_paired() ? Pairs::are_split : Pairs::none; }

  template <class R> void load(Line<R> to, int64_t offset, int64_t begin, int64_t end) const {
    const T* const line = input_ + offset;
    const int64_t step = call_.input_step();
    for (int64_t k = begin; k < end; ++k)
      is_paired() ? to.set(k, line[2 * k * step], line[(2 * k + 1) * step])
                  : to.set(k, line[k * step], 0);
  }

  template <class R> void store(Line<R> from, int64_t offset, int64_t begin, int64_t end) const {
    std::complex<T>* const line = out_ + offset;
    const int64_t step = call_.out_step();
    const auto scale = static_cast<R>(call_.scale), sign = call_.forward ? scale : -scale;
    for (int64_t k = begin; k < end; ++k)
      line[k * step] = {static_cast<T>(from.re(k) * scale), static_cast<T>(from.im(k) * sign)};
    // A sum of real numbers; NaN and infinity stay NaN.
    if (begin == 0 && !is_paired()) line[0].imag(static_cast<T>(from.im(0) * 0));
  }

 private:
  bool is_paired() const { return n_ % 2 == 0; }

  const Transform& call_;
  const T* input_;
  std::complex<T>* out_;
  int64_t n_;
};

// The other way: from half of a spectrum, of which the elements without a conjugate are real.
template <class T> class HalfLines {
 public:
  using Real = T;

  explicit HalfLines(const Transform& call)
      : call_(call), input_(data_of<std::complex<T>>(call.input)), out_(data_of<T>(call.out)),
        n_(call.out.dl.shape[call.dim]) {}

  int64_t length() const { return is_paired() ? n_ / 2 : n_; }
  int64_t num_loaded() const { return is_paired() ? n_ / 2 + 1 : n_; }
  int64_t num_stored() const { return length(); }
  Pairs pairs() const { return is_paired() ? Pairs::are_joined : Pairs::none; }

  // What is transformed back, with its parts swapped but for pairs; for a transform forward, of the conjugates.
  template <class R> void load(Line<R> to, int64_t offset, int64_t begin, int64_t end) const {
    const std::complex<T>* const line = input_ + offset;
    const int64_t step = call_.input_step();
    for (int64_t k = begin; k < end; ++k) {
      const bool is_mirrored = k > n_ / 2, is_alone = k == 0 || 2 * k == n_;
      const std::complex<T> value = line[(is_mirrored ? n_ - k : k) * step];
      const T im = is_alone ? T(0) : call_.forward != is_mirrored ? -value.imag() : value.imag();
      is_paired() ? to.set(k, value.real(), im) : to.set(k, im, value.real());
    }
  }

  template <class R> void store(Line<R> from, int64_t offset, int64_t begin, int64_t end) const {
    T* const line = out_ + offset;
    const int64_t step = call_.out_step();
    const auto scale = static_cast<R>(call_.scale);
    for (int64_t k = begin; k < end; ++k) {
      const auto first = static_cast<T>(from.im(k) * scale);
      if (is_paired()) {
        line[2 * k * step] = first;
        line[(2 * k + 1) * step] = static_cast<T>(from.re(k) * scale);
      } else {
        line[k * step] = first;
      }
    }
  }

 private:
  bool is_paired() const { return n_ % 2 == 0; }

  const Transform& call_;
  const std::complex<T>* input_;
  T* out_;
  int64_t n_;
};

template <class Lines> class Run {
 public:
  using T = typename Lines::Real;

  Run(const Call& call, const Transform& transform)
      : call_(call), lines_(transform), n_(lines_.length()), room_(fourier::room_for(n_) + 1),
        input_(transform.input, transform.dim), out_(transform.out, transform.dim) {}

  // Lengths with large prime factors lose too many digits in float32.
  Status operator()() {
    const bool is_long =
        n_ >= (input_.count < constants::many_lines ? constants::shared_line_if_few
                                                    : constants::shared_line_if_many);
    if (is_long) return one_by_one();
    if (!is_for_packs()) return by_packs(fourier::single_line());
    return fourier::is_rough(n_) ? by_packs(fourier::packs<double>())
                                 : by_packs(fourier::packs<T>());
  }

 private:
  // Each processor decides alike, and so gives the same bits.
  bool is_for_packs() const {
    return input_.count >= constants::packed_lines && n_ <= constants::packed_length;
  }

  template <class R> Status by_packs(const fourier::Packs<R>& packs) {
    const int64_t num_packs = (input_.count + packs.width - 1) / packs.width;
    const int64_t grain = std::max<int64_t>(1, constants::fourier_elements / (n_ * packs.width));
    const int64_t parts = num_packs <= grain ? 1 : std::min<int64_t>(num_threads(), num_packs);
    const auto part_size = static_cast<size_t>(4 * packs.width * room_);
    Result<Region> room = call_.workspace(static_cast<uint64_t>(parts) * part_size * sizeof(R));
    if (!room.is_ok()) return room.status();
    std::atomic<size_t> next_part{0};
    parallel_for(num_packs, std::max(grain, (num_packs + parts - 1) / parts),
                 [&](int64_t begin, int64_t end) {
                   walk(packs, begin * packs.width, std::min(end * packs.width, input_.count),
                        room.value().address<R>() + next_part.fetch_add(1) * part_size);
                 });
    return ok;
  }

  template <class R>
  void walk(const fourier::Packs<R>& packs, int64_t begin, int64_t end, R* one) const {
    R* const other = one + 2 * packs.width * room_;
    std::array<int64_t, 16> from{}, to{};
    Walker<2> at(input_.shape_span(), {input_.strides.data(), out_.strides.data()});
    at.seek(begin);
    for (int64_t first = begin; first < end; first += packs.width) {
      const int64_t count = std::min(packs.width, end - first);
      for (int64_t i = 0; i < count; ++i, at.next()) {
        from[static_cast<size_t>(i)] = at.offset(0);
        to[static_cast<size_t>(i)] = at.offset(1);
      }
      if (count < packs.width) std::fill_n(one, 2 * packs.width * lines_.num_loaded(), R(0));
      in_pieces(count, lines_.num_loaded(), [&](int64_t i, int64_t begin_piece, int64_t end_piece) {
        lines_.load(Line<R>{one + i, packs.width}, from[static_cast<size_t>(i)], begin_piece,
                    end_piece);
      });
      R* const made = transform(packs, one, other);
      in_pieces(count, lines_.num_stored(), [&](int64_t i, int64_t begin_piece, int64_t end_piece) {
        lines_.store(Line<R>{made + i, packs.width}, to[static_cast<size_t>(i)], begin_piece,
                     end_piece);
      });
    }
  }

  template <class R> R* transform(const fourier::Packs<R>& packs, R* one, R* other) const {
    if (lines_.pairs() == Pairs::are_joined) {
      packs.join_pairs(2 * n_, one, other, 0, n_);
      std::swap(one, other);
    }
    R* const made = packs.transform(n_, one, other);
    if (lines_.pairs() != Pairs::are_split) return made;
    R* const half = made == one ? other : one;
    packs.split_pairs(2 * n_, made, half, 0, n_ + 1);
    return half;
  }

  template <class Move> void in_pieces(int64_t count, int64_t size, const Move& move) const {
    const int64_t piece = count == 1 ? size : constants::moved_elements;
    for (int64_t first = 0; first < size; first += piece)
      for (int64_t i = 0; i < count; ++i) move(i, first, std::min(first + piece, size));
  }

  Status one_by_one() {
    const fourier::Packs<double>& single = fourier::single_line();
    Result<Region> room = call_.workspace(static_cast<uint64_t>(2 * room_) * sizeof(Number));
    if (!room.is_ok()) return room.status();
    Walker<2> at(input_.shape_span(), {input_.strides.data(), out_.strides.data()});
    at.seek(0);
    for (int64_t i = 0; i < input_.count; ++i, at.next()) {
      auto* one = room.value().address<double>();
      double* other = one + 2 * room_;
      in_parts(lines_.num_loaded(), [&](int64_t begin, int64_t end) {
        lines_.load(Line<double>{one, 1}, at.offset(0), begin, end);
      });
      if (lines_.pairs() == Pairs::are_joined) {
        in_parts(n_, [&](int64_t begin, int64_t end) {
          single.join_pairs(2 * n_, one, other, begin, end);
        });
        std::swap(one, other);
      }
      auto* made = reinterpret_cast<double*>(fourier::transform(
          n_, reinterpret_cast<Number*>(one), reinterpret_cast<Number*>(other), true));
      if (lines_.pairs() == Pairs::are_split) {
        double* const half = made == one ? other : one;
        in_parts(n_ + 1, [&](int64_t begin, int64_t end) {
          single.split_pairs(2 * n_, made, half, begin, end);
        });
        made = half;
      }
      in_parts(lines_.num_stored(), [&](int64_t begin, int64_t end) {
        lines_.store(Line<double>{made, 1}, at.offset(1), begin, end);
      });
    }
    return ok;
  }

  template <class F> static void in_parts(int64_t count, const F& f) {
    parallel_for(count, 2 * constants::fourier_elements, f);
  }

  const Call& call_;
  const Lines lines_;
  int64_t n_, room_;
  WithoutDim input_, out_;
};

template <template <class> class Lines> Status transform(const Call& call, const Transform& given) {
  const bool is_double = given.input.dtype == BP_F64 || given.input.dtype == BP_COMPLEX128;
  return is_double ? Run<Lines<double>>(call, given)() : Run<Lines<float>>(call, given)();
}

Status fft_c2c(Call call, In input, int64_t dim, double scale, bool forward, Out out) {
  return transform<ComplexLines>(call, {input.abi(), out.abi(), dim, scale, forward});
}

Status fft_r2c(Call call, In input, int64_t dim, double scale, bool forward, Out out) {
  return transform<RealLines>(call, {input.abi(), out.abi(), dim, scale, forward});
}

Status fft_c2r(Call call, In input, int64_t, int64_t dim, double scale, bool forward, Out out) {
  return transform<HalfLines>(call, {input.abi(), out.abi(), dim, scale, forward});
}

bool takes_input(Call, In input, int64_t dim, double, bool, Out) {
  return fourier::is_small_enough(input.size(static_cast<int32_t>(dim)));
}
bool takes_result(Call, In, int64_t, int64_t dim, double, bool, Out out) {
  return fourier::is_small_enough(out.size(static_cast<int32_t>(dim)));
}

template <class Op, class F, class Supports>
void add_transform(Kernels& k, F run, Supports supports, DtypeSet from, DtypeSet to) {
  k.add<Op>(run)
      .dtypes(from)
      .dtypes(Op::place::out, to)
      .layouts(strided)
      .supports(supports)
      .deterministic()
      .scratch();
}

}  // namespace

void add_fourier_kernels(Kernels& k) {
  constexpr DtypeSet reals = DtypeSet(f32) | f64, numbers = DtypeSet(complex64) | complex128;
  add_transform<op::fft_c2c>(k, fft_c2c, takes_input, numbers, numbers);
  add_transform<op::fft_r2c>(k, fft_r2c, takes_input, reals, numbers);
  add_transform<op::fft_c2r>(k, fft_c2r, takes_result, numbers, reals);
}

}  // namespace bp::cpu

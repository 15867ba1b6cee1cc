// Transforms of lines along one dimension. A line is read as complex numbers that are transformed forward, and what comes out
// is written as the call wants it: swapping the two parts before and after makes the transform one back.
#include <algorithm>
#include <array>
#include <atomic>

#include "../host.hpp"
#include "../tensor_view.hpp"
#include "../threads.hpp"
#include "fourier_line.hpp"
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

// Each kind of lines says how long the transform is and how many elements store() makes, and loads and stores a part of a line
// that begins at an offset from the tensor's first element.
template <class T> class ComplexLines {
 public:
  explicit ComplexLines(const Transform& call)
      : call_(call), input_(data_of<std::complex<T>>(call.input)),
        out_(data_of<std::complex<T>>(call.out)), n_(call.input.dl.shape[call.dim]) {}

  int64_t length() const { return n_; }
  int64_t num_stored() const { return n_; }

  void load(Number* to, int64_t offset, int64_t begin, int64_t end) const {
    const std::complex<T>* const line = input_ + offset;
    const int64_t step = call_.input_step();
    for (int64_t k = begin; k < end; ++k) {
      const std::complex<T> value = line[k * step];
      to[k] =
          call_.forward ? Number(value.real(), value.imag()) : Number(value.imag(), value.real());
    }
  }

  void store(const Number* from, int64_t offset, int64_t begin, int64_t end) const {
    std::complex<T>* const line = out_ + offset;
    const int64_t step = call_.out_step();
    for (int64_t k = begin; k < end; ++k) {
      const auto re = static_cast<T>(from[k].real() * call_.scale);
      const auto im = static_cast<T>(from[k].imag() * call_.scale);
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
// transforms of the pairs' first and second elements (Press et al., "Numerical Recipes", 12.3).
template <class T> class RealLines {
 public:
  explicit RealLines(const Transform& call)
      : call_(call), input_(data_of<T>(call.input)), out_(data_of<std::complex<T>>(call.out)),
        n_(call.input.dl.shape[call.dim]), is_paired_(n_ % 2 == 0) {}

  int64_t length() const { return is_paired_ ? n_ / 2 : n_; }
  int64_t num_stored() const { return n_ / 2 + 1; }

  void load(Number* to, int64_t offset, int64_t begin, int64_t end) const {
    const T* const line = input_ + offset;
    const int64_t step = call_.input_step();
    for (int64_t k = begin; k < end; ++k)
      to[k] = is_paired_ ? Number(line[2 * k * step], line[(2 * k + 1) * step])
                         : Number(line[k * step], 0);
  }

  void store(const Number* from, int64_t offset, int64_t begin, int64_t end) const {
    std::complex<T>* const line = out_ + offset;
    const int64_t step = call_.out_step(), half = n_ / 2;
    const fourier::Roots* const roots = is_paired_ ? &fourier::roots_of(n_) : nullptr;
    const double sign = call_.forward ? 1 : -1;
    for (int64_t k = begin; k < end; ++k) {
      Number value = from[k == half && is_paired_ ? 0 : k];
      if (is_paired_) {
        const Number other = std::conj(from[k == 0 ? 0 : half - k]);
        const Number first = (value + other) * 0.5, second = (value - other) * 0.5;
        value = first + roots->power(k) * Number(second.imag(), -second.real());
      } else if (k == 0) {
        value.imag(value.imag() * 0);  // a sum of real numbers; NaN and infinity stay NaN
      }
      line[k * step] = {static_cast<T>(value.real() * call_.scale),
                        static_cast<T>(value.imag() * call_.scale * sign)};
    }
  }

 private:
  const Transform& call_;
  const T* input_;
  std::complex<T>* out_;
  int64_t n_;
  bool is_paired_;
};

// The other way: from half of a spectrum, of which the elements without a conjugate are real.
template <class T> class HalfLines {
 public:
  explicit HalfLines(const Transform& call)
      : call_(call), input_(data_of<std::complex<T>>(call.input)), out_(data_of<T>(call.out)),
        n_(call.out.dl.shape[call.dim]), is_paired_(n_ % 2 == 0) {}

  int64_t length() const { return is_paired_ ? n_ / 2 : n_; }
  int64_t num_stored() const { return length(); }

  void load(Number* to, int64_t offset, int64_t begin, int64_t end) const {
    const std::complex<T>* const line = input_ + offset;
    const fourier::Roots* const roots = is_paired_ ? &fourier::roots_of(n_) : nullptr;
    for (int64_t k = begin; k < end; ++k) {
      Number value;
      if (is_paired_) {
        const Number here = element(line, k), other = std::conj(element(line, n_ / 2 - k));
        const Number second = (here - other) * std::conj(roots->power(k));
        value = here + other + Number(-second.imag(), second.real());
      } else {
        value = k <= n_ / 2 ? element(line, k) : std::conj(element(line, n_ - k));
      }
      to[k] = {value.imag(), value.real()};
    }
  }

  void store(const Number* from, int64_t offset, int64_t begin, int64_t end) const {
    T* const line = out_ + offset;
    const int64_t step = call_.out_step();
    for (int64_t k = begin; k < end; ++k) {
      const auto re = static_cast<T>(from[k].imag() * call_.scale);
      if (is_paired_) {
        line[2 * k * step] = re;
        line[(2 * k + 1) * step] = static_cast<T>(from[k].real() * call_.scale);
      } else {
        line[k * step] = re;
      }
    }
  }

 private:
  // What is transformed back; for a transform forward, of the conjugates.
  Number element(const std::complex<T>* line, int64_t k) const {
    const std::complex<T> value = line[k * call_.input_step()];
    const bool is_alone = k == 0 || 2 * k == n_;
    return {value.real(),
            is_alone ? 0.0 : static_cast<double>(call_.forward ? -value.imag() : value.imag())};
  }

  const Transform& call_;
  const std::complex<T>* input_;
  T* out_;
  int64_t n_;
  bool is_paired_;
};

// From so many elements on all threads work on one line, where there are few lines, and where there are many.
constexpr int64_t long_if_few = 1 << 14, long_if_many = 1 << 17, many_lines = 8;
// Elements that a thread must at least have, and those of each line that are moved at a time where lines lie side by side.
constexpr int64_t fourier_grain = 2048, moved_at_once = 16;

// Lines that lie side by side are taken several at a time, since neighbours share cache lines; fewer where they are long:
// a thread takes at most 8 MiB.
int64_t lines_at_once(const Transform& call, int64_t room) {
  constexpr int64_t most_lines = 8, most_room = 1 << 17;
  if (call.input_step() == 1 && call.out_step() == 1) return 1;
  return std::clamp<int64_t>(most_room / room, 1, most_lines);
}

template <class Lines> class Run {
 public:
  Run(const Call& call, const Transform& transform)
      : call_(call), lines_(transform), n_(lines_.length()), room_(fourier::room_for(n_)),
        input_(transform.input, transform.dim), out_(transform.out, transform.dim),
        at_once_(lines_at_once(transform, room_)) {}

  Status operator()() {
    const bool is_long = n_ >= (input_.count < many_lines ? long_if_few : long_if_many);
    return is_long ? one_by_one() : side_by_side();
  }

 private:
  Status side_by_side() {
    const int64_t grain = std::max<int64_t>(1, fourier_grain / n_);
    const int64_t parts =
        input_.count <= grain ? 1 : std::min<int64_t>(num_threads(), input_.count);
    const auto part_size = static_cast<size_t>(2 * at_once_ * room_);
    Result<Region> room =
        call_.workspace(static_cast<uint64_t>(parts) * part_size * sizeof(Number));
    if (!room.is_ok()) return room.status();
    std::atomic<size_t> next_part{0};
    parallel_for(input_.count, std::max(grain, (input_.count + parts - 1) / parts),
                 [&](int64_t begin, int64_t end) {
                   auto* const mine =
                       room.value().address<Number>() + next_part.fetch_add(1) * part_size;
                   walk(begin, end, mine);
                 });
    return ok;
  }

  void walk(int64_t begin, int64_t end, Number* given) const {
    Number* const other = given + at_once_ * room_;
    std::array<const Number*, 8> made{};
    Walker<2> at(input_.shape_span(), {input_.strides.data(), out_.strides.data()});
    at.seek(begin);
    for (int64_t first = begin; first < end; first += at_once_) {
      std::array<int64_t, 8> from{}, to{};
      const int64_t count = std::min(at_once_, end - first);
      for (int64_t i = 0; i < count; ++i, at.next()) {
        from[static_cast<size_t>(i)] = at.offset(0);
        to[static_cast<size_t>(i)] = at.offset(1);
      }
      in_pieces(count, n_, [&](int64_t i, int64_t first_element, int64_t last) {
        lines_.load(given + i * room_, from[static_cast<size_t>(i)], first_element, last);
      });
      for (int64_t i = 0; i < count; ++i)
        made[static_cast<size_t>(i)] =
            fourier::transform(n_, given + i * room_, other + i * room_, false);
      in_pieces(count, lines_.num_stored(), [&](int64_t i, int64_t first_element, int64_t last) {
        lines_.store(made[static_cast<size_t>(i)], to[static_cast<size_t>(i)], first_element, last);
      });
    }
  }

  template <class Move> void in_pieces(int64_t count, int64_t size, const Move& move) const {
    const int64_t piece = count == 1 ? size : moved_at_once;
    for (int64_t first = 0; first < size; first += piece)
      for (int64_t i = 0; i < count; ++i) move(i, first, std::min(first + piece, size));
  }

  Status one_by_one() {
    Result<Region> room = call_.workspace(static_cast<uint64_t>(2 * room_) * sizeof(Number));
    if (!room.is_ok()) return room.status();
    auto* const given = room.value().address<Number>();
    Walker<2> at(input_.shape_span(), {input_.strides.data(), out_.strides.data()});
    at.seek(0);
    for (int64_t i = 0; i < input_.count; ++i, at.next()) {
      parallel_for(n_, 2 * fourier_grain, [&](int64_t begin, int64_t end) {
        lines_.load(given, at.offset(0), begin, end);
      });
      const Number* const made = fourier::transform(n_, given, given + room_, true);
      parallel_for(lines_.num_stored(), 2 * fourier_grain, [&](int64_t begin, int64_t end) {
        lines_.store(made, at.offset(1), begin, end);
      });
    }
    return ok;
  }

  const Call& call_;
  const Lines lines_;
  int64_t n_, room_;
  WithoutDim input_, out_;
  int64_t at_once_;
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

bool is_worth_transforming(const AnyTensor& lines, int64_t dim) {
  const int64_t n = lines.size(static_cast<int32_t>(dim));
  return fourier::is_worth_it(n, lines.numel() / n);
}

bool takes_input(Call, In input, int64_t dim, double, bool, Out) {
  return is_worth_transforming(input, dim);
}
bool takes_result(Call, In, int64_t, int64_t dim, double, bool, Out out) {
  return is_worth_transforming(out, dim);
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

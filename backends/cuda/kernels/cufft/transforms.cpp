// fft_c2c, fft_r2c and fft_c2r by cuFFT, along lines without gaps: another dimension than the last is brought there first, and
// the result's back.
#include "kernels/cufft/plans.hpp"
#include "kernels/fastest_way.hpp"
#include "kernels/pictures.hpp"
#include "kernels/spectra.hpp"

namespace cuda_backend::cufft {
namespace {

// Along `dim` a tensor is [outer, size, inner].
struct Sides {
  int64_t outer = 1, size = 1, inner = 1;

  Sides(const bp::AnyTensor& tensor, int64_t dim) {
    for (int32_t d = 0; d < tensor.ndim(); ++d)
      (d < dim ? outer : d == dim ? size : inner) *= tensor.size(d);
  }
  Pictures pictures(const bp::AnyTensor& tensor) const {
    return {outer, size, inner, tensor.itemsize()};
  }
};

uint64_t bytes_of(const bp::AnyTensor& tensor) {
  return static_cast<uint64_t>(tensor.numel()) * tensor.itemsize();
}

class Transforming {
 public:
  Transforming(const bp::Call& call, const char* name, bp::In input, bp::Out out, int64_t n,
               int64_t dim)
      : call_(call), card_(call, name), name_(name), input_(input), out_(out), n_(n),
        from_(input, dim), to_(out, dim),
        is_double_(input.dtype() == bp::f64 || input.dtype() == bp::complex128) {}

  // Transforms to real numbers go backward, the others from them forward, whatever is asked for: the difference is in
  // conjugates.
  bp::Status run(cufftType single, cufftType twice, double scale, bool forward) {
    Plans* const plans = plans_of(card_);
    if (plans == nullptr) return bp::Status::from_host(BP_UNSUPPORTED);
    const OutsideCapture outside;  // the library allocates and loads
    const Lines lines{is_double_ ? twice : single, n_, from_.outer * from_.inner};
    const bool is_recorded = !can_measure_on(card_.stream());
    const std::shared_ptr<Plan> plan = plans->plan_for(lines, is_recorded);
    if (plan == nullptr) return bp::Status::from_host(BP_UNSUPPORTED);

    bp::Status status = place(*plan, single == CUFFT_C2R);
    if (status.is_ok()) status = bring_input(single == CUFFT_C2R && forward);
    if (!status.is_ok()) return status;
    const bool turns_forward = single == CUFFT_C2C ? forward : single == CUFFT_R2C;
    const cufftResult result =
        plan->run(card_.stream(), source_, target_, turns_forward, workspace_);
    if (result != CUFFT_SUCCESS) return explain(result);
    return deliver(scale, single == CUFFT_R2C && !forward);
  }

 private:
  // Where lines are read and written, and what the library works in.
  bp::Status place(const Plan& plan, bool overwrites_input) {
    is_copied_ = from_.inner != 1 || overwrites_input;
    Scratch scratch;
    const auto take_all = [&] {
      room_ = is_copied_ ? scratch.take<char>(bytes_of(input_)) : nullptr;
      target_ = to_.inner != 1 ? scratch.take<char>(bytes_of(out_)) : out_.data<char>();
      workspace_ =
          plan.workspace_bytes() != 0 ? scratch.take<char>(plan.workspace_bytes()) : nullptr;
    };
    take_all();
    if (is_copied_ || to_.inner != 1 || plan.workspace_bytes() != 0) {
      if (bp::Status status = scratch.allocate(call_); !status.is_ok()) return status;
      take_all();
    }
    source_ = is_copied_ ? room_ : input_.data<char>();
    return bp::ok;
  }

  bp::Status bring_input(bool conjugates) {
    if (!is_copied_) return bp::ok;
    bp::Status status =
        from_.inner != 1 ? reorder(card_, from_.pictures(input_), true, input_.data<char>(), room_)
                         : card_.check(cudaMemcpyAsync(room_, input_.data<char>(), bytes_of(input_),
                                                       cudaMemcpyDeviceToDevice, card_.stream()));
    const bool is_half = out_.dtype() == bp::f32 || out_.dtype() == bp::f64;
    if (status.is_ok() && is_half)
      status = settle_halves(card_, room_, n_, from_.outer * from_.inner, is_double_, conjugates);
    return status;
  }

  bp::Status deliver(double scale, bool conjugates) {
    const bool is_real = out_.dtype() == bp::f32 || out_.dtype() == bp::f64;
    const int64_t count = out_.numel() * (is_real ? 1 : 2);
    if (scale != 1 || conjugates) {
      bp::Status status =
          scale_parts(card_, target_, count, is_double_, scale, conjugates ? -scale : scale);
      if (!status.is_ok()) return status;
    }
    if (to_.inner == 1) return card_.check_launches();
    return reorder(card_, to_.pictures(out_), false, target_, out_.data<char>());
  }

  bp::Status explain(cufftResult result) const {
    // What the card says is the better reason.
    if (bp::Status failed = card_.check_launches(); !failed.is_ok()) return failed;
    return bp::internal("%s: cuFFT: %lld lines of %lld elements: error %d", name_,
                        static_cast<long long>(from_.outer * from_.inner),
                        static_cast<long long>(n_), static_cast<int>(result));
  }

  const bp::Call& call_;
  OnCard card_;
  const char* name_;
  bp::In input_;
  bp::Out out_;
  int64_t n_;
  Sides from_, to_;
  bool is_double_, is_copied_ = false;
  char *room_ = nullptr, *target_ = nullptr, *workspace_ = nullptr;
  const char* source_ = nullptr;
};

bp::Status fft_c2c(bp::Call call, bp::In input, int64_t dim, double scale, bool forward,
                   bp::Out out) {
  return Transforming(call, "fft_c2c", input, out, input.size(static_cast<int32_t>(dim)), dim)
      .run(CUFFT_C2C, CUFFT_Z2Z, scale, forward);
}

bp::Status fft_r2c(bp::Call call, bp::In input, int64_t dim, double scale, bool forward,
                   bp::Out out) {
  return Transforming(call, "fft_r2c", input, out, input.size(static_cast<int32_t>(dim)), dim)
      .run(CUFFT_R2C, CUFFT_D2Z, scale, forward);
}

bp::Status fft_c2r(bp::Call call, bp::In input, int64_t n, int64_t dim, double scale, bool forward,
                   bp::Out out) {
  return Transforming(call, "fft_c2r", input, out, n, dim)
      .run(CUFFT_C2R, CUFFT_Z2D, scale, forward);
}

// The library reads complex numbers, and pairs of real ones, at once.
template <class Op, class F>
void add_transform_of(bp::Kernels& k, F run, bp::DtypeSet from, bp::DtypeSet to) {
  k.add<Op>(run)
      .dtypes(from)
      .dtypes(Op::place::out, to)
      .alignment(Op::place::input, 16)
      .alignment(Op::place::out, 16)
      .deterministic()
      .capturable()
      .scratch();
}

}  // namespace
}  // namespace cuda_backend::cufft

BP_KERNELS(cuda_fourier) {
  using namespace cuda_backend::cufft;
  constexpr auto reals = bp::DtypeSet(bp::f32) | bp::f64;
  add_transform_of<bp::op::fft_c2c>(k, fft_c2c, bp::complex, bp::complex);
  add_transform_of<bp::op::fft_r2c>(k, fft_r2c, reals, bp::complex);
  add_transform_of<bp::op::fft_c2r>(k, fft_c2r, bp::complex, reals);
}

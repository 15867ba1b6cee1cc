// Gradients of reducing by index.
#include "rules.hpp"

namespace bp::autograd {

namespace {

// What `index` reaches of `src`.
Tensor front_of(const Tensor& src, const Tensor& index) {
  Tensor front = src;
  if (index.ndim() == 0) return reshape(front, {});
  for (std::int64_t d = 0; d < index.ndim(); ++d)
    if (front.size(d) != index.size(d)) front = narrow(front, d, 0, index.size(d));
  return front;
}

// How many elements go into each place: of `src` those that `chosen`, which has index's shape, marks.
Tensor counts_of(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& chosen) {
  return clamp_min(scatter_add(self, dim, index, chosen), 1);
}

// For each place where `input` itself counts, 1.
Tensor self_counted(const Tensor& gradient, std::int64_t dim, const Tensor& index,
                    bool include_self) {
  const Tensor ones = full(gradient.shape(), 1, gradient.dtype(), gradient.device());
  return include_self ? ones : scatter(ones, dim, index, 0);
}

bool is_extreme(std::string_view reduce) {
  return reduce == "amax" || reduce == "amin";
}

struct Shares {
  Tensor self;  // 1 where `input` has a share
  Tensor each;  // the gradient of each share
};

Shares shares_of(const Tensor& gradient, const Tensor& input, std::int64_t dim, const Tensor& index,
                 const Tensor& src, std::string_view reduce, bool include_self,
                 const Tensor& result) {
  Shares shares;
  shares.self = self_counted(gradient, dim, index, include_self);
  Tensor chosen = full(index.shape(), 1, gradient.dtype(), gradient.device());
  if (is_extreme(reduce)) {
    shares.self = shares.self * cast(input == result, gradient.dtype());
    chosen = cast(front_of(src, index) == gather(result, dim, index), gradient.dtype());
  }
  shares.each = gradient / counts_of(shares.self, dim, index, chosen);
  return shares;
}

Tensor product_of_sources(const Tensor& input, std::int64_t dim, const Tensor& index,
                          const Tensor& src, bool include_self) {
  return scatter_reduce(input, dim, index, src, "prod", include_self);
}

}  // namespace

Tensor reduced_input_gradient(const Tensor& gradient, const Tensor& input, std::int64_t dim,
                              const Tensor& index, const Tensor& src, std::string_view reduce,
                              bool include_self, const Tensor& result) {
  if (reduce == "prod") {
    const Tensor nonzero = where(input == 0, 1, input);
    const Tensor others = product_of_sources(nonzero, dim, index, src, include_self) / nonzero;
    return include_self ? gradient * others : scatter(gradient, dim, index, 0);
  }
  if (reduce == "sum") return include_self ? gradient : scatter(gradient, dim, index, 0);
  const Shares shares = shares_of(gradient, input, dim, index, src, reduce, include_self, result);
  if (!include_self) return scatter(gradient, dim, index, 0);
  return shares.each * shares.self;
}

// Through a single 0 goes the product of the others; where there are more it is 0.
Tensor reduced_source_gradient(const Tensor& gradient, const Tensor& input, std::int64_t dim,
                               const Tensor& index, const Tensor& src, std::string_view reduce,
                               bool include_self, const Tensor& result) {
  if (index.numel() == 0) return zeros_like(src);
  if (reduce == "sum") return scatter_added(gradient, dim, index, src.shape());
  if (reduce != "prod") {
    const Shares shares = shares_of(gradient, input, dim, index, src, reduce, include_self, result);
    if (!is_extreme(reduce)) return scatter_added(shares.each, dim, index, src.shape());
    const Tensor is_chosen = front_of(src, index) == gather(result, dim, index);
    return padded_behind(where(is_chosen, gather(shares.each, dim, index), 0), src.shape());
  }
  const Tensor front = front_of(src, index), is_zero = front == 0;
  const Tensor none = full(gradient.shape(), 0, gradient.dtype(), gradient.device());
  const Tensor zeros_there =
      gather(scatter_add(none, dim, index, cast(is_zero, gradient.dtype())), dim, index);
  const Tensor is_alone = logical_and(is_zero, zeros_there == 1);
  const Tensor filled = where(is_alone, 1, front);
  const Tensor others = product_of_sources(input, dim, index, filled, include_self);
  const Tensor through_zero = gather(gradient * others, dim, index);
  const Tensor usual = gather(gradient * result, dim, index) / where(is_zero, 1, front);
  return padded_behind(where(is_alone, through_zero, usual), src.shape());
}

}  // namespace bp::autograd

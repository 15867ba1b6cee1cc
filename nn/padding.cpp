#include <limits>
#include <string_view>

#include <backplane/core_ops/generated/all.hpp>
#include <backplane/nn/padding.hpp>
#include <backplane/tensor/check.hpp>

namespace bp::nn {

Padding::Padding(const char* layer, std::size_t rank, const char* mode, const Sizes& padding,
                 const Scalar& value)
    : layer_(layer), rank_(rank), mode_(mode),
      padding_(padding.each(2 * rank, layer, "padding", std::numeric_limits<std::int64_t>::min(),
                            std::numeric_limits<std::int64_t>::max())),
      value_(value) {}

Tensor Padding::forward(const Tensor& x) const {
  const std::string_view mode = mode_;
  if (mode == "constant" || mode == "zeros") {
    BP_CHECK(static_cast<std::size_t>(x.ndim()) >= rank_,
             "{}: the input is {}; pass {} dimensions or more", layer_, to_string(x.shape()),
             rank_);
    return pad(x, padding_.list(), "constant", value_);
  }
  const auto rank = static_cast<std::size_t>(x.ndim());
  BP_CHECK(rank == rank_ + 1 || rank == rank_ + 2,
           "{}: the input is {}; pass {} dimensions, or {} without a batch", layer_,
           to_string(x.shape()), rank_ + 2, rank_ + 1);
  return pad(x, padding_.list(), mode);
}

std::string Padding::extra_repr() const {
  if (std::string_view(mode_) != "constant") return padding_.text();
  return fmt::format("padding={}, value={}", padding_.text(), repr(value_));
}

}  // namespace bp::nn

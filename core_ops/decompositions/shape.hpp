// Rearranging elements, from other operators.
#pragma once

#include <optional>
#include <string_view>

#include <backplane/core_ops/generated/all.hpp>

namespace bp {

Tensor stack_by_cat(TensorList tensors, std::int64_t dim);
Tensor pad_by_copy(const Tensor& input, IntList pad, const Scalar& value);
Tensor pad_by_mode(const Tensor& input, IntList pad, std::string_view mode,
                   const std::optional<Scalar>& value);
Tensor repeat_by_expand(const Tensor& input, IntList repeats);
Tensor flip_by_select(const Tensor& input, IntList dims);
Tensor roll_by_cat(const Tensor& input, IntList shifts, IntList dims);
Tensor keep_triangle(const Tensor& input, std::int64_t diagonal, bool lower);

}  // namespace bp

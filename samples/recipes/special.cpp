// Samples of special functions: where they are defined, and on both sides of where their series change.
#include <string_view>

#include <backplane/tensor/views.hpp>

#include "draft.hpp"

namespace bp {
namespace {

struct Range {
  double low, high;
};

// No negative numbers, of which they have no value.
bool is_to_the_right(std::string_view name) {
  return name.find("bessel_y") != name.npos || name.find("bessel_k") != name.npos;
}

bool is_polynomial(std::string_view name) {
  return name.find("_polynomial_") != name.npos;
}

// Both arguments of gammainc, gammaincc and zeta.
bool is_of_two(std::string_view name) {
  return name == "gammainc" || name == "gammaincc" || name == "zeta";
}

Range range_of_second(Draft& draft, std::string_view name) {
  if (name == "zeta") return {0.3, 6};
  return draft.is("large") ? Range{15, 35} : Range{0.1, 7};
}

Range range_of(Draft& draft, std::string_view name) {
  const bool is_large = draft.is("large");
  if (is_polynomial(name)) return is_large ? Range{1, 3} : Range{-1, 1};
  if (name == "zeta") return is_large ? Range{6, 12} : Range{1.3, 5};
  if (is_of_two(name)) return is_large ? Range{20, 30} : Range{0.2, 6};
  if (is_to_the_right(name) && !is_large)
    return draft.is("to_the_left") ? Range{0.01, 0.2} : Range{0.2, 4};
  if (draft.is("to_the_left", "second_to_the_left"))
    return name == "polygamma" ? Range{-2.8, -2.2} : Range{-6.3, 0.2};
  if (name == "erfinv") return is_large ? Range{0.9, 1} : Range{-1, 1};
  if (name == "ndtri") return is_large ? Range{0.9, 1} : Range{0, 1};
  if (name == "multigammaln") return is_large ? Range{7, 30} : Range{1.2, 4};
  if (name == "polygamma") return is_large ? Range{5, 30} : Range{0.2, 4};
  if (name == "nextafter") return {-2, 2};
  if (is_large) return draft.dtype() == Dtype::f16 ? Range{3, 5} : Range{6, 40};
  return {-0.9, 3};
}

// Laid out as the recipe says.
Tensor laid_out(Draft& draft, Dims shape, Range range) {
  const auto rank = static_cast<std::int64_t>(shape.size());
  const auto dense = [&](const Dims& dims) { return draft.between(dims, range.low, range.high); };
  if (rank < 2) return dense(shape);
  if (draft.is("non_contiguous")) {
    Dims wider = shape;
    wider[1] *= 2;
    return views::slice(dense(wider), 1, {}, {}, 2);
  }
  if (draft.is("transposed")) return views::transpose(dense({shape[1], shape[0]}), 0, 1);
  if (draft.is("expanded")) return views::expand(dense({1, shape[1]}), shape);
  if (draft.is("offset")) return views::narrow(dense({shape[0] + 1, shape[1]}), 0, 1, shape[0]);
  return dense(shape);
}

Dims shape_of_special(Draft& draft) {
  if (draft.is("several_tiles")) return {3, 134};
  if (draft.is("large", "to_the_left", "second_to_the_left", "second", "fifth", "none", "row",
               "one"))
    return {4, 6};
  return draft.shape();
}

}  // namespace

void draft_special(Draft& draft) {
  const std::string_view name = draft.op().name();
  const Dims shape = shape_of_special(draft);
  const Range range = range_of(draft, name);
  const auto degree = [&](std::int64_t usual) {
    return draft.is("none")                           ? std::int64_t{0}
           : draft.is("second", "second_to_the_left") ? std::int64_t{2}
           : draft.is("fifth")                        ? std::int64_t{5}
                                                      : usual;
  };
  if (name == "polygamma") draft.add_value(degree(1));
  const bool is_special = draft.is("specials");
  draft.add(is_special ? draft.specials(draft.dtype()) : laid_out(draft, shape, range));
  if (name == "multigammaln") draft.add_value(std::int64_t{draft.is("one") ? 1 : 3});
  if (is_polynomial(name)) draft.add_value(degree(4));
  if (name != "nextafter" && !is_of_two(name)) return;
  const bool is_row = draft.is("row") && shape.size() == 2;
  const Dims other = is_special ? Dims{1} : is_row ? Dims{shape[1]} : shape;
  draft.add(laid_out(draft, other, is_of_two(name) ? range_of_second(draft, name) : range));
}

}  // namespace bp

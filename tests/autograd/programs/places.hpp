// Views as lists of places in flat memory, one for each element, row-major. No strides: what a view shows
// is written out, so that nothing here can be wrong in the way that the library's own views are.
#pragma once

#include <stdexcept>
#include <vector>

#include "autograd/programs/program.hpp"

namespace bp::test::programs {

using Places = std::vector<std::int64_t>;
using Shape = std::vector<std::int64_t>;

struct Shown {
  Shape shape;
  Places places;
};

// Why a step cannot be, or why PyTorch refuses it.
enum class Why {
  does_not_fit,
  out_of_range,   // values that differences could not judge
  order_matters,  // what is written is read or written at other places: no result is the right one
  leaf_written,   // from here on: an error in PyTorch, and here
  leaf_written_by_view,
  repeated_written,
  no_grad_view_written,
  no_grad_view_outdated,  // its base was written since
  part_written,           // one of several views of a call
  part_outdated,          // its base was written since
};
class Refused : public std::runtime_error {
 public:
  Refused(Why why, const std::string& what) : std::runtime_error(what), why(why) {}
  bool is_error_in_pytorch() const { return why >= Why::leaf_written; }
  const Why why;
};

bool is_view(const std::string& name);
bool gives_several(const std::string& name);
std::int64_t numel_of(const Shape& shape);

// The results of a view; several of split and chunk. Of reshape and flatten nothing where the places have
// no strides in the new shape: then they copy.
std::vector<Shown> views_of(const Step& step, const Shown& base);
Shape reshaped(const Step& step, const Shape& shape);

// What broadcasting makes of an element: its place among those of a smaller shape, row-major.
std::vector<std::int64_t> broadcast_places(const Shape& from, const Shape& to);
Shape broadcast_shapes_of(const std::vector<Shape>& shapes);

// Is a place shown twice, and by a dimension that only repeats?
bool shows_twice(const Shown& shown);
bool repeats(const Shown& shown);

}  // namespace bp::test::programs

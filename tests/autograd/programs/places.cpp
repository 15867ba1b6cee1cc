#include "autograd/programs/places.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>

namespace bp::test::programs {
namespace {

const std::set<std::string> names{
    "view",   "reshape", "flatten", "transpose",        "permute",    "slice",  "select",
    "narrow", "expand",  "squeeze", "unsqueeze",        "as_strided", "unfold", "diagonal",
    "split",  "chunk",   "unbind",  "split_with_sizes", "detach"};

void require(bool fits, const Step& step) {
  if (!fits) throw Refused(Why::does_not_fit, text_of(step));
}

// The arguments of a view behind the tensor.
class Given {
 public:
  explicit Given(const Step& step) : step_(step) {}
  std::int64_t integer(std::size_t at, std::int64_t otherwise) const {
    if (at >= step_.args.size() || step_.args[at].kind == Argument::Kind::none) return otherwise;
    require(step_.args[at].kind == Argument::Kind::integer, step_);
    return step_.args[at].integer;
  }
  std::int64_t dim(std::size_t at, std::int64_t otherwise, std::size_t rank) const {
    const auto signed_rank = static_cast<std::int64_t>(rank);
    std::int64_t dim = integer(at, otherwise);
    if (dim < 0) dim += signed_rank;
    require(dim >= 0 && dim < signed_rank, step_);
    return dim;
  }
  bool has(std::size_t at) const {
    return at < step_.args.size() && step_.args[at].kind != Argument::Kind::none;
  }
  Shape list(std::size_t at) const {
    require(at < step_.args.size() && step_.args[at].kind == Argument::Kind::numbers, step_);
    return step_.args[at].integers();
  }

 private:
  const Step& step_;
};

std::int64_t linear(const Shape& index, const Shape& shape) {
  std::int64_t at = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) at = at * shape[d] + index[d];
  return at;
}

// Calls `body` with each index, row-major.
void for_each_index(const Shape& shape, const std::function<void(const Shape& index)>& body) {
  Shape index(shape.size(), 0);
  for (std::int64_t i = 0; i < numel_of(shape); ++i) {
    std::int64_t rest = i;
    for (std::size_t d = shape.size(); d-- > 0; rest /= shape[d]) index[d] = rest % shape[d];
    body(index);
  }
}

// A view that shows at each index of `shape` what the base shows at `source(index)`.
Shown picked(const Shown& base, const Shape& shape,
             const std::function<Shape(const Shape& index)>& source) {
  Shown made{shape, {}};
  for_each_index(shape, [&](const Shape& index) {
    made.places.push_back(base.places[static_cast<std::size_t>(linear(source(index), base.shape))]);
  });
  return made;
}

Shown permuted(const Shown& base, const Shape& dims) {
  Shape shape;
  for (std::int64_t dim : dims) shape.push_back(base.shape[static_cast<std::size_t>(dim)]);
  return picked(base, shape, [&](const Shape& index) {
    Shape source(index.size());
    for (std::size_t d = 0; d < dims.size(); ++d)
      source[static_cast<std::size_t>(dims[d])] = index[d];
    return source;
  });
}

Shown sliced(const Shown& base, std::size_t dim, std::int64_t start, std::int64_t count,
             std::int64_t step) {
  Shape shape = base.shape;
  shape[dim] = count;
  return picked(base, shape, [&](Shape index) {
    index[dim] = start + index[dim] * step;
    return index;
  });
}

Shown slice(const Step& step, const Shown& base) {
  const Given given(step);
  const auto dim = static_cast<std::size_t>(given.dim(1, 0, base.shape.size()));
  const std::int64_t size = base.shape[dim], stride = given.integer(4, 1);
  require(stride > 0, step);
  const auto clamped = [&](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? at + size : at, 0, size);
  };
  const std::int64_t start = clamped(given.integer(2, 0)), end = clamped(given.integer(3, size));
  return sliced(base, dim, start, std::max<std::int64_t>(0, end - start + stride - 1) / stride,
                stride);
}

Shown select(const Step& step, const Shown& base) {
  const Given given(step);
  const auto dim = static_cast<std::size_t>(given.dim(1, 0, base.shape.size()));
  const std::int64_t at = given.integer(2, 0), size = base.shape[dim];
  require(at >= -size && at < size, step);
  Shown made = sliced(base, dim, at < 0 ? at + size : at, 1, 1);
  made.shape.erase(made.shape.begin() + static_cast<std::ptrdiff_t>(dim));
  return made;
}

Shown narrow(const Step& step, const Shown& base) {
  const Given given(step);
  const auto dim = static_cast<std::size_t>(given.dim(1, 0, base.shape.size()));
  std::int64_t start = given.integer(2, 0);
  const std::int64_t count = given.integer(3, 0), size = base.shape[dim];
  if (start < 0) start += size;
  require(start >= 0 && count >= 0 && start + count <= size, step);
  return sliced(base, dim, start, count, 1);
}

Shown expand(const Step& step, const Shown& base) {
  Shape shape = Given(step).list(1);
  require(shape.size() >= base.shape.size(), step);
  const std::size_t more = shape.size() - base.shape.size();
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == -1 && d >= more) shape[d] = base.shape[d - more];
    require(shape[d] >= 0 &&
                (d < more || base.shape[d - more] == shape[d] || base.shape[d - more] == 1),
            step);
  }
  Shown made{shape, {}};
  for (std::int64_t at : broadcast_places(base.shape, shape))
    made.places.push_back(base.places[static_cast<std::size_t>(at)]);
  return made;
}

Shown squeeze(const Step& step, const Shown& base) {
  const Given given(step);
  std::vector<bool> asked(base.shape.size(), !given.has(1));
  if (given.has(1))
    for (std::int64_t dim : given.list(1)) {
      if (dim < 0) dim += static_cast<std::int64_t>(base.shape.size());
      require(dim >= 0 && dim < static_cast<std::int64_t>(base.shape.size()), step);
      asked[static_cast<std::size_t>(dim)] = true;
    }
  Shown made{{}, base.places};
  for (std::size_t d = 0; d < base.shape.size(); ++d)
    if (!asked[d] || base.shape[d] != 1) made.shape.push_back(base.shape[d]);
  return made;
}

Shown as_strided(const Step& step, const Shown& base) {
  const Given given(step);
  const Shape shape = given.list(1), strides = given.list(2);
  require(shape.size() == strides.size() && !base.places.empty(), step);
  const std::int64_t offset = given.integer(3, base.places[0]);
  Shown made{shape, {}};
  for_each_index(shape, [&](const Shape& index) {
    made.places.push_back(std::inner_product(index.begin(), index.end(), strides.begin(), offset));
  });
  // What it shows beyond the tensor that it is given has no derivative by that.
  const std::set<std::int64_t> own(base.places.begin(), base.places.end());
  for (std::int64_t place : made.places) require(own.contains(place), step);
  return made;
}

Shown unfold(const Step& step, const Shown& base) {
  const Given given(step);
  const auto dim = static_cast<std::size_t>(given.dim(1, 0, base.shape.size()));
  const std::int64_t size = given.integer(2, 1), stride = given.integer(3, 1);
  require(size > 0 && stride > 0 && size <= base.shape[dim], step);
  Shape shape = base.shape;
  shape[dim] = (shape[dim] - size) / stride + 1;
  shape.push_back(size);
  return picked(base, shape, [&](Shape index) {
    index[dim] = index[dim] * stride + index.back();
    index.pop_back();
    return index;
  });
}

Shown diagonal(const Step& step, const Shown& base) {
  const Given given(step);
  const std::size_t rank = base.shape.size();
  const std::int64_t offset = given.integer(1, 0);
  const auto first = static_cast<std::size_t>(given.dim(2, 0, rank)),
             second = static_cast<std::size_t>(given.dim(3, 1, rank));
  require(first != second, step);
  const std::int64_t down = std::max<std::int64_t>(0, -offset),
                     right = std::max<std::int64_t>(0, offset);
  const std::int64_t count = std::min(base.shape[first] - down, base.shape[second] - right);
  require(count > 0, step);
  Shape shape;
  for (std::size_t d = 0; d < rank; ++d)
    if (d != first && d != second) shape.push_back(base.shape[d]);
  shape.push_back(count);
  return picked(base, shape, [&](const Shape& index) {
    Shape source;
    std::size_t next = 0;
    for (std::size_t d = 0; d < rank; ++d)
      source.push_back(d == first    ? index.back() + down
                       : d == second ? index.back() + right
                                     : index[next++]);
    return source;
  });
}

std::vector<Shown> parts(const Step& step, const Shown& base) {
  const Given given(step);
  const auto dim = static_cast<std::size_t>(given.dim(2, 0, base.shape.size()));
  const std::int64_t size = base.shape[dim], number = given.integer(1, 1);
  require(number > 0 && size > 0, step);
  const std::int64_t each = step.name == "split" ? number : (size + number - 1) / number;
  std::vector<Shown> made;
  for (std::int64_t at = 0; at < size; at += each)
    made.push_back(sliced(base, dim, at, std::min(each, size - at), 1));
  return made;
}

std::vector<Shown> given_parts(const Step& step, const Shown& base) {
  const Given given(step);
  const auto dim = static_cast<std::size_t>(given.dim(2, 0, base.shape.size()));
  std::vector<Shown> made;
  std::int64_t at = 0;
  for (const std::int64_t size : given.list(1)) {
    require(size >= 0 && at + size <= base.shape[dim], step);
    made.push_back(sliced(base, dim, at, size, 1));
    at += size;
  }
  require(at == base.shape[dim], step);
  return made;
}

std::vector<Shown> slices(const Step& step, const Shown& base) {
  const auto dim = static_cast<std::size_t>(Given(step).dim(1, 0, base.shape.size()));
  std::vector<Shown> made;
  for (std::int64_t at = 0; at < base.shape[dim]; ++at) {
    Shown one = sliced(base, dim, at, 1, 1);
    one.shape.erase(one.shape.begin() + static_cast<std::ptrdiff_t>(dim));
    made.push_back(std::move(one));
  }
  return made;
}

// Do the places lie at the strides that the first steps of each dimension have?
bool has_strides(const Shown& shown) {
  bool has = true;
  Shape strides(shown.shape.size(), 0);
  for (std::size_t d = 0; d < strides.size(); ++d) {
    Shape one(strides.size(), 0);
    one[d] = 1;
    if (shown.shape[d] > 1)
      strides[d] =
          shown.places[static_cast<std::size_t>(linear(one, shown.shape))] - shown.places[0];
  }
  std::size_t i = 0;
  for_each_index(shown.shape, [&](const Shape& index) {
    has &= shown.places[i++] ==
           std::inner_product(index.begin(), index.end(), strides.begin(), shown.places[0]);
  });
  return has;
}

}  // namespace

bool is_view(const std::string& name) {
  return names.contains(name);
}

bool gives_several(const std::string& name) {
  return name == "split" || name == "chunk" || name == "unbind" || name == "split_with_sizes";
}

std::int64_t numel_of(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

Shape reshaped(const Step& step, const Shape& shape) {
  const Given given(step);
  if (step.row() == "flatten") {
    if (shape.empty()) return {1};
    const auto first = given.dim(1, 0, shape.size()), last = given.dim(2, -1, shape.size());
    require(first <= last, step);
    Shape made(shape.begin(), shape.begin() + first);
    made.push_back(numel_of({shape.begin() + first, shape.begin() + last + 1}));
    made.insert(made.end(), shape.begin() + last + 1, shape.end());
    return made;
  }
  Shape wanted = given.list(1);
  const std::int64_t all = numel_of(shape);
  if (const auto free = std::find(wanted.begin(), wanted.end(), -1); free != wanted.end()) {
    *free = 1;
    const std::int64_t others = numel_of(wanted);
    require(others > 0 && all % others == 0, step);
    *free = all / others;
  }
  require(numel_of(wanted) == all && all > 0, step);
  return wanted;
}

std::vector<Shown> views_of(const Step& step, const Shown& base) {
  const std::string& name = step.name;
  const std::size_t rank = base.shape.size();
  const Given given(step);
  if (name == "detach") return {base};
  if (name == "view" || name == "reshape" || name == "flatten") {
    Shown made{reshaped(step, base.shape), base.places};
    if (has_strides(made)) return {made};
    require(name != "view", step);
    return {};
  }
  if (name == "transpose" || name == "permute") {
    Shape dims(rank);
    std::iota(dims.begin(), dims.end(), 0);
    if (name == "transpose") {
      std::swap(dims[static_cast<std::size_t>(given.dim(1, 0, rank))],
                dims[static_cast<std::size_t>(given.dim(2, 1, rank))]);
    } else {
      const Shape wanted = given.list(1);
      require(std::is_permutation(dims.begin(), dims.end(), wanted.begin(), wanted.end()), step);
      dims = wanted;
    }
    return {permuted(base, dims)};
  }
  if (name == "slice") return {slice(step, base)};
  if (name == "select") return {select(step, base)};
  if (name == "narrow") return {narrow(step, base)};
  if (name == "expand") return {expand(step, base)};
  if (name == "squeeze") return {squeeze(step, base)};
  if (name == "unsqueeze") {
    Shown made = base;
    made.shape.insert(made.shape.begin() + given.dim(1, 0, rank + 1), 1);
    return {made};
  }
  if (name == "as_strided") return {as_strided(step, base)};
  if (name == "unfold") return {unfold(step, base)};
  if (name == "diagonal") return {diagonal(step, base)};
  if (name == "unbind") return slices(step, base);
  if (name == "split_with_sizes") return given_parts(step, base);
  if (gives_several(name)) return parts(step, base);
  throw std::logic_error(name + " is a view that nobody has described here");
}

std::vector<std::int64_t> broadcast_places(const Shape& from, const Shape& to) {
  std::vector<std::int64_t> places;
  const std::size_t more = to.size() - from.size();
  for_each_index(to, [&](const Shape& index) {
    std::int64_t at = 0;
    for (std::size_t d = 0; d < from.size(); ++d)
      at = at * from[d] + (from[d] == 1 ? 0 : index[d + more]);
    places.push_back(at);
  });
  return places;
}

Shape broadcast_shapes_of(const std::vector<Shape>& shapes) {
  Shape common;
  for (const Shape& shape : shapes) {
    if (shape.size() > common.size())
      common.insert(common.begin(), shape.size() - common.size(), 1);
    for (std::size_t d = 0; d < shape.size(); ++d) {
      std::int64_t& size = common[common.size() - shape.size() + d];
      if (size == 1) size = shape[d];
      if (shape[d] != 1 && shape[d] != size)
        throw Refused(Why::does_not_fit, "shapes do not broadcast");
    }
  }
  return common;
}

bool shows_twice(const Shown& shown) {
  return std::set(shown.places.begin(), shown.places.end()).size() != shown.places.size();
}

bool repeats(const Shown& shown) {
  for (std::size_t d = 0; d < shown.shape.size(); ++d) {
    Shape one(shown.shape.size(), 0);
    one[d] = 1;
    if (shown.shape[d] > 1 &&
        shown.places[static_cast<std::size_t>(linear(one, shown.shape))] == shown.places[0])
      return true;
  }
  return false;
}

}  // namespace bp::test::programs

// Views against a model that keeps every element by its index.
#include <functional>
#include <gtest/gtest.h>
#include <numeric>
#include <optional>
#include <random>
#include <vector>

#include <backplane/tensor/views.hpp>

#include "test_storage.hpp"

namespace bp {
namespace {

using test::make_range;
using Sizes = std::vector<std::int64_t>;

// Values in logical order; a view is a function from new indices to old ones.
struct Model {
  Sizes shape;
  Sizes values;

  static std::int64_t count(const Sizes& shape) {
    return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
  }
  std::int64_t at(const Sizes& index) const {
    std::int64_t flat = 0;
    for (std::size_t d = 0; d < shape.size(); ++d) flat = flat * shape[d] + index[d];
    return values[flat];
  }
  Model view(const Sizes& new_shape, const std::function<Sizes(Sizes)>& old_index) const {
    Model result{new_shape, {}};
    for (std::int64_t i = 0; i < count(new_shape); ++i) {
      Sizes index(new_shape.size());
      std::int64_t rest = i;
      for (std::size_t d = new_shape.size(); d-- > 0; rest /= new_shape[d])
        index[d] = rest % new_shape[d];
      result.values.push_back(at(old_index(index)));
    }
    return result;
  }
};

void read(const Tensor& tensor, std::int64_t dim, const std::int64_t* at, Sizes& out) {
  if (dim == tensor.ndim()) {
    out.push_back(*at);
    return;
  }
  for (std::int64_t i = 0; i < tensor.shape()[dim]; ++i)
    read(tensor, dim + 1, at + i * tensor.strides()[dim], out);
}

Sizes read(const Tensor& tensor) {
  Sizes values;
  read(tensor, 0, tensor.data<std::int64_t>(), values);
  return values;
}

struct Pair {
  Tensor tensor;
  Model model;
};

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  // From 0 up to, without, `end`.
  std::int64_t below(std::int64_t end) { return static_cast<std::int64_t>(engine_() % end); }

 private:
  std::mt19937 engine_;
};

Pair start(Random& random) {
  Sizes shape(std::min<std::int64_t>(random.below(9), 4));
  for (std::int64_t& size : shape) size = random.below(40) == 0 ? 0 : 1 + random.below(6);
  const Tensor tensor = make_range(shape);
  Model model{shape, Sizes(tensor.numel())};
  std::iota(model.values.begin(), model.values.end(), 0);
  return {tensor, model};
}

Pair permute(const Pair& from, Random& random) {
  const std::size_t rank = from.model.shape.size();
  Sizes dims(rank);
  std::iota(dims.begin(), dims.end(), 0);
  for (std::size_t d = rank; d-- > 1;) std::swap(dims[d], dims[random.below(d + 1)]);
  Sizes shape;
  for (std::int64_t dim : dims) shape.push_back(from.model.shape[dim]);
  Sizes given = dims;
  for (std::int64_t& dim : given)
    if (random.below(2)) dim -= static_cast<std::int64_t>(rank);
  return {views::permute(from.tensor, given), from.model.view(shape, [&](const Sizes& index) {
            Sizes old(rank);
            for (std::size_t d = 0; d < rank; ++d) old[dims[d]] = index[d];
            return old;
          })};
}

Pair transpose(const Pair& from, Random& random) {
  const auto rank = static_cast<std::int64_t>(from.model.shape.size());
  const std::int64_t a = rank ? random.below(rank) : 0;
  const std::int64_t b = rank ? random.below(rank) : 0;
  Sizes shape = from.model.shape;
  if (rank) std::swap(shape[a], shape[b]);
  return {views::transpose(from.tensor, a, rank ? b - rank : -1),
          from.model.view(shape, [&](Sizes index) {
            if (rank) std::swap(index[a], index[b]);
            return index;
          })};
}

// Bounds beyond the size are clamped.
Pair slice(const Pair& from, Random& random) {
  const auto rank = static_cast<std::int64_t>(from.model.shape.size());
  if (rank == 0) return from;
  const std::int64_t dim = random.below(rank);
  const std::int64_t size = from.model.shape[dim];
  const std::int64_t step = 1 + random.below(3);
  const std::int64_t begin = random.below(2 * size + 3) - size - 1;
  const std::int64_t end = random.below(2 * size + 3) - size - 1;
  Sizes kept;
  const auto wrapped = [&](std::int64_t at) { return at < 0 ? at + size : at; };
  for (std::int64_t i = std::max<std::int64_t>(wrapped(begin), 0); i < size && i < wrapped(end);
       i += step)
    kept.push_back(i);
  Sizes shape = from.model.shape;
  shape[dim] = static_cast<std::int64_t>(kept.size());
  return {views::slice(from.tensor, dim, begin, end, step),
          from.model.view(shape, [&](Sizes index) {
            index[dim] = kept[index[dim]];
            return index;
          })};
}

Pair select(const Pair& from, Random& random) {
  const auto rank = static_cast<std::int64_t>(from.model.shape.size());
  if (rank == 0) return from;
  const std::int64_t dim = random.below(rank);
  const std::int64_t size = from.model.shape[dim];
  if (size == 0) return from;
  const std::int64_t at = random.below(size);
  Sizes shape = from.model.shape;
  shape.erase(shape.begin() + dim);
  return {views::select(from.tensor, dim - rank, random.below(2) ? at : at - size),
          from.model.view(shape, [&](Sizes index) {
            index.insert(index.begin() + dim, at);
            return index;
          })};
}

Pair narrow(const Pair& from, Random& random) {
  const auto rank = static_cast<std::int64_t>(from.model.shape.size());
  if (rank == 0) return from;
  const std::int64_t dim = random.below(rank);
  const std::int64_t begin = random.below(from.model.shape[dim] + 1);
  const std::int64_t length = random.below(from.model.shape[dim] - begin + 1);
  Sizes shape = from.model.shape;
  shape[dim] = length;
  return {views::narrow(from.tensor, dim, begin, length), from.model.view(shape, [&](Sizes index) {
            index[dim] += begin;
            return index;
          })};
}

Pair expand(const Pair& from, Random& random) {
  const std::size_t added = random.below(2);
  Sizes shape = from.model.shape;
  Sizes given = shape;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1 && random.below(2))
      given[d] = shape[d] = random.below(4);
    else if (random.below(2))
      given[d] = -1;
  }
  for (std::size_t i = 0; i < added; ++i) {
    shape.insert(shape.begin(), 1 + random.below(3));
    given.insert(given.begin(), shape[0]);
  }
  return {views::expand(from.tensor, given), from.model.view(shape, [&](Sizes index) {
            index.erase(index.begin(), index.begin() + static_cast<std::ptrdiff_t>(added));
            for (std::size_t d = 0; d < index.size(); ++d)
              if (from.model.shape[d] == 1) index[d] = 0;
            return index;
          })};
}

Pair squeeze(const Pair& from, Random& random) {
  const bool all = random.below(2) != 0;
  Sizes listed;
  Sizes shape;
  for (std::size_t d = 0; d < from.model.shape.size(); ++d) {
    const bool is_listed = all || random.below(2);
    if (is_listed) listed.push_back(static_cast<std::int64_t>(d));
    if (!is_listed || from.model.shape[d] != 1) shape.push_back(from.model.shape[d]);
  }
  return {all ? views::squeeze(from.tensor) : views::squeeze(from.tensor, listed),
          Model{shape, from.model.values}};
}

Pair unsqueeze(const Pair& from, Random& random) {
  const auto rank = static_cast<std::int64_t>(from.model.shape.size());
  const std::int64_t dim = random.below(rank + 1);
  Sizes shape = from.model.shape;
  shape.insert(shape.begin() + dim, 1);
  return {views::unsqueeze(from.tensor, random.below(2) ? dim : dim - rank - 1),
          Model{shape, from.model.values}};
}

Pair unfold(const Pair& from, Random& random) {
  const auto rank = static_cast<std::int64_t>(from.model.shape.size());
  if (rank == 0) return from;
  const std::int64_t dim = random.below(rank);
  const std::int64_t size = random.below(from.model.shape[dim] + 1);
  const std::int64_t step = 1 + random.below(3);
  Sizes shape = from.model.shape;
  shape[dim] = 0;
  for (std::int64_t at = 0; at + size <= from.model.shape[dim]; at += step) ++shape[dim];
  shape.push_back(size);
  return {views::unfold(from.tensor, dim, size, step), from.model.view(shape, [&](Sizes index) {
            index[dim] = index[dim] * step + index.back();
            index.pop_back();
            return index;
          })};
}

Pair diagonal(const Pair& from, Random& random) {
  const auto rank = static_cast<std::int64_t>(from.model.shape.size());
  if (rank < 2) return from;
  const std::int64_t rows = random.below(rank);
  const std::int64_t columns = (rows + 1 + random.below(rank - 1)) % rank;
  const std::int64_t offset = random.below(9) - 4;
  Sizes shape = from.model.shape;
  std::int64_t size = 0;
  for (std::int64_t i = 0; i < shape[rows]; ++i)
    size += i + offset >= 0 && i + offset < shape[columns];
  shape.erase(shape.begin() + std::max(rows, columns));
  shape.erase(shape.begin() + std::min(rows, columns));
  shape.push_back(size);
  return {views::diagonal(from.tensor, offset, rows, columns - rank),
          from.model.view(shape, [&](Sizes index) {
            const std::int64_t i = index.back() + (offset < 0 ? -offset : 0);
            index.pop_back();
            const std::int64_t row = i, column = i + offset;
            index.insert(index.begin() + std::min(rows, columns), rows < columns ? row : column);
            index.insert(index.begin() + std::max(rows, columns), rows < columns ? column : row);
            return index;
          })};
}

// A split of the number of elements into sizes.
Sizes factors(std::int64_t numel, Random& random) {
  Sizes shape;
  for (std::int64_t rest = numel; shape.size() < 5 && random.below(5) != 0;) {
    std::int64_t factor = 1 + random.below(4);
    while (rest % factor != 0) --factor;
    shape.push_back(factor);
    rest /= factor;
  }
  shape.insert(shape.begin() + random.below(static_cast<std::int64_t>(shape.size()) + 1),
               shape.empty() ? numel : numel / Model::count(shape));
  return shape;
}

// Where elements lie; a view exists if and only if each is where strides would put it.
bool has_strides(const Tensor& tensor, const Sizes& shape) {
  const Sizes at = read(tensor);  // of a range, a value is its place
  const Model places{shape, at};
  Sizes strides(shape.size());
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] < 2) continue;
    Sizes one(shape.size());
    one[d] = 1;
    strides[d] = places.at(one) - at[0];
  }
  const Model expected = places.view(shape, [&](const Sizes& index) { return index; });
  for (std::int64_t i = 0; i < Model::count(shape); ++i) {
    std::int64_t rest = i;
    std::int64_t place = at[0];
    for (std::size_t d = shape.size(); d-- > 0; rest /= shape[d])
      place += rest % shape[d] * strides[d];
    if (expected.values[i] != place) return false;
  }
  return true;
}

Pair reshape(const Pair& from, Random& random) {
  const Sizes shape = factors(from.tensor.numel(), random);
  Sizes given = shape;
  if (from.tensor.numel() > 0 && random.below(2))
    given[random.below(static_cast<std::int64_t>(given.size()))] = -1;
  const std::optional<Tensor> result = views::reshape(from.tensor, given);
  EXPECT_EQ(result.has_value(), from.tensor.numel() == 0 || has_strides(from.tensor, shape))
      << to_string(from.tensor.shape()) << to_string(from.tensor.strides()) << to_string(shape);
  if (!result) return from;
  return {*result, Model{shape, from.model.values}};
}

Pair flatten(const Pair& from, Random& random) {
  const auto rank = static_cast<std::int64_t>(from.model.shape.size());
  const std::int64_t begin = rank ? random.below(rank) : 0;
  const std::int64_t end = rank ? begin + random.below(rank - begin) : 0;
  const std::optional<Tensor> result = views::flatten(from.tensor, begin, rank ? end - rank : -1);
  if (!result) return from;
  Sizes shape = from.model.shape;
  if (rank == 0) shape = {1};
  for (std::int64_t d = end; d > begin; --d) {
    shape[d - 1] *= shape[d];
    shape.erase(shape.begin() + d);
  }
  return {*result, Model{shape, from.model.values}};
}

constexpr Pair (*steps[])(const Pair&, Random&) = {permute, transpose, slice,   select,
                                                   narrow,  expand,    squeeze, unsqueeze,
                                                   unfold,  diagonal,  reshape, flatten};

TEST(views, show_what_an_index_by_index_model_shows) {
  for (unsigned seed = 0; seed < 4000; ++seed) {
    Random random(seed);
    Pair pair = start(random);
    for (int step = 0; step < 5; ++step) {
      if (pair.tensor.ndim() > 7 || pair.tensor.numel() > 2000) break;
      const std::int64_t which = random.below(std::size(steps));
      pair = steps[which](pair, random);
      ASSERT_EQ(pair.tensor.shape().to_vector(), pair.model.shape) << seed << " " << which;
      ASSERT_EQ(read(pair.tensor), pair.model.values) << seed << " " << which;
    }
  }
  EXPECT_EQ(test::TestStorage::alive, 0);
}

}  // namespace
}  // namespace bp

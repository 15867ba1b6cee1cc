// Indexing by a[...].
#include <vector>

#include <backplane/core_ops/generated/selection.hpp>
#include <backplane/core_ops/generated/view.hpp>
#include <backplane/core_ops/indexing.hpp>
#include <backplane/dispatcher/named.hpp>
#include <backplane/tensor/check.hpp>

namespace bp {
namespace {

// How many dimensions the index takes: a mask as many as it has.
std::int64_t dimensions_of(const Index& index) {
  switch (index.kind()) {
    case Index::Kind::axis:
    case Index::Kind::rest: return 0;
    case Index::Kind::position:
    case Index::Kind::slice: return 1;
    case Index::Kind::tensor: break;
  }
  BP_CHECK(index.tensor().defined(), "[]: an index is an undefined tensor; give it a value first");
  return index.tensor().dtype() == boolean ? index.tensor().ndim() : 1;
}

// The dimensions that an ellipsis stands for.
std::int64_t dimensions_left(const Tensor& input, std::initializer_list<Index> indices) {
  std::int64_t taken = 0, num_ellipses = 0;
  for (const Index& index : indices) {
    taken += dimensions_of(index);
    num_ellipses += index.kind() == Index::Kind::rest;
  }
  BP_CHECK(num_ellipses <= 1, "[]: Ellipsis occurs {} times; use it once", num_ellipses);
  BP_CHECK(taken <= input.ndim(),
           "[]: the indices are for {} dimensions, and a tensor of shape {} has {}; leave some out",
           taken, to_string(input.shape()), input.ndim());
  return input.ndim() - taken;
}

// One view for each number and slice, then one index() for all tensors.
Tensor indexed(const Tensor& input, std::initializer_list<Index> indices) {
  const std::int64_t left = dimensions_left(input, indices);
  Tensor view = input;
  std::int64_t at = 0, covered = 0;  // dimensions that `chosen` stands for
  std::vector<Tensor> chosen;
  for (const Index& each : indices) {
    switch (each.kind()) {
      case Index::Kind::position: view = select(view, at, each.position()); break;
      case Index::Kind::slice: {
        const Slice& part = each.slice();
        view = bp::slice(view, at++, part.start, part.stop, part.step);
        break;
      }
      case Index::Kind::axis: view = unsqueeze(view, at++); break;
      case Index::Kind::rest: at += left; break;
      case Index::Kind::tensor:
        // A hole for each dimension between; a mask takes one place for all of its dimensions.
        chosen.resize(chosen.size() + static_cast<std::size_t>(at - covered));
        chosen.push_back(each.tensor());
        covered = at += dimensions_of(each);
        break;
    }
  }
  return chosen.empty() ? view : index(view, chosen);
}

}  // namespace

Tensor Tensor::operator[](std::int64_t position) const {
  return named("[]", [&] { return select(*this, 0, position); });
}

IndexedCopy Tensor::operator[](const Tensor& positions) const {
  return IndexedCopy((*this)[{Index(positions)}]);
}

Tensor Tensor::operator[](std::initializer_list<Index> indices) const {
  return named("[]", [&] { return indexed(*this, indices); });
}

}  // namespace bp

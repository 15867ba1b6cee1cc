// What moves elements: copy, cast and cat.
#include <vector>

#include "tensor_view.hpp"

namespace reference {
namespace {

bp::Status copy(bp::Stream stream, bp::In a, bp::Out out) {
  return submit(stream, [from = TensorView(stream, a), to = TensorView(stream, out)] {
    for (int64_t i = 0; i < to.numel; ++i) move(to.at(i), from.at(i), to.itemsize);
  });
}

bp::Status cast(bp::Stream stream, bp::In a, bp::Dtype, bp::Out out) {
  return with_step_type(a.dtype(), [&]<class T>(Tag<T>) {
    return submit(stream, [from = TensorView(stream, a), to = TensorView(stream, out)] {
      for (int64_t i = 0; i < to.numel; ++i) to.set(i, from.get<T>(i));
    });
  });
}

bp::Status cat(bp::Stream stream, bp::InList tensors, int64_t dim, bp::Out out) {
  std::vector<TensorView> parts;
  for (size_t i = 0; i < tensors.size(); ++i) parts.emplace_back(stream, tensors[i]);
  return submit(stream, [parts, dim, to = TensorView(stream, out)] {
    int64_t begin = 0;
    for (const TensorView& part : parts) {
      const TensorView target = to.walked_as(part);
      for (int64_t i = 0; i < part.numel; ++i)
        move(target.at(i) + begin * to.steps[dim], part.at(i), to.itemsize);
      begin += part.shape[dim];
    }
  });
}

}  // namespace
}  // namespace reference

BP_KERNELS(copy) {
  using namespace reference;
  k.add<bp::op::copy>(copy).dtypes(bp::all).layouts(bp::strided).deterministic();
  k.add<bp::op::cast>(cast).dtypes(bp::all).layouts(bp::strided).deterministic();
  k.add<bp::op::cat>(cat).dtypes(bp::all).layouts(bp::strided).deterministic();
}

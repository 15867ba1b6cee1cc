// cat: each tensor of the list moves to its place in the result, by a launch of its own.
#include "kinds/kinds.hpp"
#include "kinds/walk.hpp"

namespace bp::codegen {
namespace {

class Cat final : public GeneratedKernel {
 public:
  void run(Invocation& invocation) const override {
    const bp_value& list = invocation.arg(0);
    const auto* tensors = static_cast<const bp_tensor* const*>(list.u.ptr);
    const bp_tensor& out = invocation.output();
    const std::int64_t along =
        out.dl.strides[invocation.arg(1).u.i] * static_cast<std::int64_t>(out.itemsize);
    std::int64_t start = offset_of(out);
    for (std::uint32_t i = 0; i < list.aux; ++i) {
      const bp_tensor& a = *tensors[i];
      launch_move(invocation, shape_of(a), out.itemsize, {handle_of(out), start, out.dl.strides},
                  {handle_of(a), offset_of(a), a.dl.strides});
      start += a.dl.shape[invocation.arg(1).u.i] * along;
    }
  }
};

}  // namespace

std::unique_ptr<GeneratedKernel> make_cat(const Operator& op) {
  auto kernel = std::make_unique<Cat>();
  kernel->places = strided_places(op, all_dtypes);
  return kernel;
}

}  // namespace bp::codegen

// The results of a plugin's own operator, as infer() describes them. Include plugin.hpp.
#ifndef BACKPLANE_PLUGIN_OUTPUT_SPEC_HPP
#define BACKPLANE_PLUGIN_OUTPUT_SPEC_HPP

#include <backplane/plugin/values.hpp>

namespace BP_SDK BP_HIDDEN {

// One output, for a custom operator's infer() to fill in.
class OutputSpec {
 public:
  explicit OutputSpec(bp_output_spec* spec) : spec_(spec) {}

  Status like(AnyTensor tensor) const { return set(tensor.dtype(), tensor.shape()); }
  Status set(Dtype dtype, Ints shape) const {
    if (shape.size() > BP_MAX_RANK) {
      return bad_argument("an output of rank %zu; the highest is %d", shape.size(), BP_MAX_RANK);
    }
    spec_->dtype = static_cast<uint32_t>(dtype);
    spec_->ndim = static_cast<uint32_t>(shape.size());
    for (size_t i = 0; i < shape.size(); ++i) spec_->shape[i] = shape[i];
    return ok;
  }

 private:
  bp_output_spec* spec_;
};

// The same for a Tensor[]: add one after the other. What finds no room is not lost, since the host then asks again.
class OutputSpecs {
 public:
  OutputSpecs(bp_output_spec* specs, size_t room) : specs_(specs), room_(room) {}

  Status add(Dtype dtype, Ints shape) {
    if (next_ == room_) return ok;
    return OutputSpec(specs_ + next_++).set(dtype, shape);
  }
  Status add_like(AnyTensor tensor) { return add(tensor.dtype(), tensor.shape()); }

 private:
  bp_output_spec* specs_;
  size_t room_, next_ = 0;
};

}  // namespace BP_HIDDEN

#endif  // BACKPLANE_PLUGIN_OUTPUT_SPEC_HPP

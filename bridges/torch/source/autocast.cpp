// Mixed precision: PyTorch's own lists of what is cast to what, for our device type.
#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <torch/library.h>

namespace at::autocast {
namespace {

TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, library) {
  library.fallback(torch::CppFunction::makeFallthrough());
}

// The macros name their library `m`.
TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, m) {
#define BP_CAST_LOWER(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, lower_precision_fp)
#define BP_CAST_F32(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32)
#define BP_CAST_SET(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32_set_opt_dtype)
#define BP_CAST_PROMOTE(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, promote)
  AT_FORALL_LOWER_PRECISION_FP(BP_CAST_LOWER)
  AT_FORALL_FP32(BP_CAST_F32)
  AT_FORALL_FP32_SET_OPT_DTYPE(BP_CAST_SET)
  AT_FORALL_PROMOTE(BP_CAST_PROMOTE)
}

}  // namespace
}  // namespace at::autocast

// Kinds of tensors that Backplane's devices lack: PyTorch makes them under dispatch keys of their own, where each call is
// told so, in place of PyTorch's list of all keys.
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

namespace bp::bridge {
namespace {

[[noreturn]] void refuse(const c10::OperatorHandle& op, const char* kind, const char* instead) {
  TORCH_CHECK_NOT_IMPLEMENTED(false, op.schema().name(), ": Backplane's devices have no ", kind,
                              " tensors; ", instead);
}
void refuse_sparse(const c10::OperatorHandle& op, torch::jit::Stack* /*stack*/) {
  refuse(op, "sparse", "use dense ones there (to_dense()), or keep this one on the CPU");
}
void refuse_quantized(const c10::OperatorHandle& op, torch::jit::Stack* /*stack*/) {
  refuse(op, "quantized", "use integers with a scale of your own, or keep this one on the CPU");
}
void refuse_nested(const c10::OperatorHandle& op, torch::jit::Stack* /*stack*/) {
  refuse(op, "nested", "pad the parts to one shape, or keep this one on the CPU");
}

TORCH_LIBRARY_IMPL(_, SparsePrivateUse1, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&refuse_sparse>());
}
TORCH_LIBRARY_IMPL(_, SparseCsrPrivateUse1, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&refuse_sparse>());
}
TORCH_LIBRARY_IMPL(_, QuantizedPrivateUse1, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&refuse_quantized>());
}
TORCH_LIBRARY_IMPL(_, NestedTensorPrivateUse1, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&refuse_nested>());
}

}  // namespace
}  // namespace bp::bridge

#include "kernels/clblast.hpp"

#include <dlfcn.h>

namespace opencl::clblast {

#if BP_HAS_CLBLAST

namespace {

struct Functions {
  decltype(&CLBlastSgemm) sgemm = nullptr;
  decltype(&CLBlastDgemm) dgemm = nullptr;
};

// Null members where the library is not installed.
const Functions& functions() {
  static const Functions found = [] {
    Functions f;
    void* library = dlopen("libclblast.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library == nullptr) return f;
    f.sgemm = reinterpret_cast<decltype(f.sgemm)>(dlsym(library, "CLBlastSgemm"));
    f.dgemm = reinterpret_cast<decltype(f.dgemm)>(dlsym(library, "CLBlastDgemm"));
    return f;
  }();
  return found;
}

template <class Gemm, class Number>
CLBlastStatusCode call(Gemm gemm, Number one, const Product& p, cl_command_queue commands) {
  const auto turned = [](const Product::Matrix& matrix) {
    return matrix.transposed ? CLBlastTransposeYes : CLBlastTransposeNo;
  };
  // NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): multiply() is for where is_there() said yes
  return gemm(CLBlastLayoutRowMajor, turned(p.a), turned(p.b), p.m, p.n, p.k, one, p.a.memory,
              p.a.offset, p.a.stride, p.b.memory, p.b.offset, p.b.stride, Number{0}, p.c.memory,
              p.c.offset, p.c.stride, &commands, nullptr);
}

}  // namespace

bool is_there() {
  return functions().sgemm != nullptr && functions().dgemm != nullptr;
}

bp::Status multiply(const Product& product, cl_command_queue commands) {
  const CLBlastStatusCode code = product.dtype == bp::f32
                                     ? call(functions().sgemm, 1.0f, product, commands)
                                     : call(functions().dgemm, 1.0, product, commands);
  if (code == CLBlastSuccess) return bp::ok;
  // Its own codes lie beyond OpenCL's.
  return bp::error(class_of(code), "matmul: CLBlast: status %d", static_cast<int>(code));
}

#else

bool is_there() {
  return false;
}

bp::Status multiply(const Product&, cl_command_queue) {
  return bp::unsupported("matmul: built without CLBlast");
}

#endif

}  // namespace opencl::clblast

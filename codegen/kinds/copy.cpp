// copy and cast, for any strides on both sides. A copy looks at the size of elements alone.
#include <algorithm>
#include <fmt/format.h>

#include "constants.hpp"
#include "dialect/expression_text.hpp"
#include "dialect/helpers.hpp"
#include "kinds/elementwise.hpp"
#include "kinds/kinds.hpp"
#include "kinds/transpose.hpp"

namespace bp::codegen {
namespace {

// The unsigned type of so many bytes; 16 bytes are two u64.
Dtype bits_of_size(std::uint32_t itemsize) {
  switch (itemsize) {
    case 1: return Dtype::u8;
    case 2: return Dtype::u16;
    case 4: return Dtype::u32;
    default: return Dtype::u64;
  }
}

// The same memory seen as elements of another size.
struct Seen {
  std::int64_t shape[BP_MAX_RANK + 1], strides[BP_MAX_RANK + 1];
  bp_tensor tensor;

  explicit Seen(const bp_tensor& of) : tensor(of) {}
  Seen(const Seen&) = delete;
  Seen& operator=(const Seen&) = delete;

  // As one run of elements of `bytes` bytes.
  void as_run(std::uint32_t bytes) {
    shape[0] = tensor.numel * tensor.itemsize / bytes;
    strides[0] = 1;
    set(1, bytes, shape[0]);
    tensor.flags = BP_LAYOUT_CONTIGUOUS | BP_LAYOUT_DENSE | BP_LAYOUT_STRIDED;
  }
  // Elements of 16 bytes as pairs along another dimension.
  void as_pairs() {
    const int rank = tensor.dl.ndim;
    for (int dim = 0; dim < rank; ++dim) {
      shape[dim] = tensor.dl.shape[dim];
      strides[dim] = 2 * tensor.dl.strides[dim];
    }
    shape[rank] = 2;
    strides[rank] = 1;
    set(rank + 1, 8, 2 * tensor.numel);
  }

 private:
  void set(int rank, std::uint32_t bytes, std::int64_t numel) {
    tensor.dl.ndim = rank;
    tensor.dl.shape = shape;
    tensor.dl.strides = strides;
    tensor.itemsize = bytes;
    tensor.numel = numel;
  }
};

// Dimensions in which both lie in one run: whatever their order, a copy of bytes.
bool lie_alike(const bp_tensor& a, const bp_tensor& b) {
  if (a.flags & b.flags & BP_LAYOUT_CONTIGUOUS) return true;
  if (!(a.flags & b.flags & BP_LAYOUT_DENSE)) return false;
  return std::equal(a.dl.strides, a.dl.strides + a.dl.ndim, b.dl.strides);
}

class Copy : public GeneratedKernel {
 public:
  explicit Copy(const Operator& op) : name_(op.name()) { places = strided_places(op, all_dtypes); }

  void run(Invocation& invocation) const override {
    const bp_tensor& out = invocation.output();
    const bp_tensor& from = invocation.tensor(0);
    if (out.dtype == from.dtype)
      copy(invocation, out, from);
    else
      cast(invocation, out, from);
  }

 private:
  void copy(Invocation& invocation, const bp_tensor& out, const bp_tensor& from) const {
    Seen to_seen(out), from_seen(from);
    if (lie_alike(out, from)) {
      const std::uint64_t bytes = static_cast<std::uint64_t>(out.numel) * out.itemsize;
      std::uint32_t size = 8;  // the largest that all starts and ends agree with
      while ((bytes | out.dl.byte_offset | from.dl.byte_offset) % size != 0) size /= 2;
      to_seen.as_run(size);
      from_seen.as_run(size);
    } else if (transpose(invocation, name_, out, from)) {
      return;
    } else if (out.itemsize == 16) {
      if (out.dl.ndim == BP_MAX_RANK || !invocation.for_cpu())
        return copy_elements(invocation, out, from, Dtype::complex128);
      to_seen.as_pairs();
      from_seen.as_pairs();
    }
    copy_elements(invocation, to_seen.tensor, from_seen.tensor,
                  bits_of_size(to_seen.tensor.itemsize));
  }

  void copy_elements(Invocation& invocation, const bp_tensor& out, const bp_tensor& from,
                     Dtype bits) const {
    launch(invocation, out, from, bits, bits);
  }

  void cast(Invocation& invocation, const bp_tensor& out, const bp_tensor& from) const {
    const auto to_dtype = static_cast<Dtype>(out.dtype),
               from_dtype = static_cast<Dtype>(from.dtype);
    invocation.require(to_dtype);
    invocation.require(from_dtype);
    launch(invocation, out, from, to_dtype, from_dtype);
  }

  void launch(Invocation& invocation, const bp_tensor& out, const bp_tensor& from, Dtype to_dtype,
              Dtype from_dtype) const {
    ElementwiseCall elements;
    elements.add(out);
    elements.add(from);
    elements.launch(
        invocation, constants::copied_elements,
        [&](const Form& form) {
          const std::uint64_t variant = form.variant() |
                                        std::uint64_t{index(to_dtype)} << form_bits |
                                        std::uint64_t{index(from_dtype)} << (form_bits + 5);
          return invocation.function(
              variant, [&] { return make_text(invocation, form, to_dtype, from_dtype); });
        },
        [](Values&) {});
  }

  KernelText make_text(const Invocation& invocation, const Form& form, Dtype to_dtype,
                       Dtype from_dtype) const {
    ElementwiseText text;
    text.form = form;
    text.for_cpu = invocation.for_cpu();
    text.language = invocation.device.language();
    text.operands = {{to_dtype, false}, {from_dtype, false}};
    if (has_vector_form(to_dtype) && has_vector_form(from_dtype))
      text.width = vector_width(invocation, std::min(bytes_of_type(compute_type(to_dtype)),
                                                     bytes_of_type(compute_type(from_dtype))));
    const bool copies = to_dtype == from_dtype;
    text.name = copies ? fmt::format("{}_{}", name_, suffix(to_dtype))
                       : fmt::format("{}_{}_{}", name_, suffix(from_dtype), suffix(to_dtype));
    text.step = [=](unsigned width, const auto& input, std::string&) {
      if (copies) return input(1);
      return fmt::format("cast_{}_{}{}({})", suffix(from_dtype), suffix(to_dtype),
                         width == 1 ? std::string() : fmt::format("x{}", width), input(1));
    };
    return elementwise_text(text);
  }

  std::string name_;
};

}  // namespace

std::unique_ptr<GeneratedKernel> make_copy(const Operator& op) {
  const auto& arguments = op.schema->arguments;
  if (arguments.empty() || arguments[0].type != ArgumentType::tensor) return nullptr;
  return std::make_unique<Copy>(op);
}

}  // namespace bp::codegen

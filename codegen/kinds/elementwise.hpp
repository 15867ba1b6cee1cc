// What kernels that visit every element of an output share, whatever they do there: the loops of the text,
// and a call's tensors and numbers on their way to them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "device/invocation.hpp"
#include "dialect/dialect.hpp"
#include "kinds/numbers.hpp"
#include "kinds/sharing.hpp"
#include "kinds/strides.hpp"
#include "kinds/units.hpp"

namespace bp::codegen {

// How a kernel reaches its elements: all tensors lie in one run, or by strides, where a row whose operands
// are neighbours, or one element for all, still goes by vectors.
enum class Reach : std::uint8_t { flat, strided };

struct Form {
  Reach reach = Reach::flat;
  int rank_class = 2;  // of `strided`: dimensions at the most, 2, 3, 4 or BP_MAX_RANK
  // Of `flat`: the number of elements and the starts have 32 bits. Those of three tensors are 16 bytes then; PoCL
  // 3.1 asks malloc for aligned memory for arguments of more, at each launch, which is a fifth of the launch.
  // Of `strided`, on devices of GPU shape: all places have 31 bits, and the kernel goes by units (kinds/units.hpp).
  bool is_narrow = false;
  bool has_wide_units = false;  // with is_narrow, of `strided`: of more than one element
  bool streams = false;         // of `flat`: the result goes past the caches
  // Of `flat` that is_narrow, for one work-item of a processor: all tensors lie in one allocation, which is given once.
  // Each argument more is a tenth to a fifth of a launch on PoCL 3.1.
  bool has_one_block = false;

  // In form_bits bits.
  std::uint64_t variant() const {
    return std::uint64_t(reach) | std::uint64_t{is_narrow} << 1 |
           std::uint64_t{has_wide_units || has_one_block} << 2 | std::uint64_t{streams} << 3 |
           std::uint64_t(rank_class) << 4;
  }
};
inline constexpr int form_bits = 9;

// A work-item's elements are a multiple of it, so that vectors begin where the cache's lines do.
inline constexpr std::int64_t unit_of_share = 64;

// Operand 0 is the output, the others are the inputs.
struct Operand {
  Dtype dtype = Dtype::f32;
  bool is_number = false;  // one value for all, among the kernel's values
};

struct ElementwiseText {
  std::string name;
  std::vector<Operand> operands;
  Form form;
  unsigned width = 1;  // of vectors, on processors; 1: none
  bool for_cpu = true;
  Language language = Language::opencl_c;  // of the device
  // Appends to `statements` what gives the value to store, of `width` elements, and returns it. `input`
  // is the value of an operand in its computing type.
  std::function<std::string(unsigned width, const std::function<std::string(std::size_t)>& input,
                            std::string& statements)>
      step;
};

// Memory: the output, then the inputs that are tensors; or the one block of all. Values: as ElementwiseCall::launch adds
// them.
KernelText elementwise_text(const ElementwiseText& text);

// `name` as a function's, whatever an operator's name holds.
std::string function_name(std::string name);

// The bodies of kernels for such devices: of `flat`, where `n` and the addresses pk are there already; and,
// with its values, of `strided` that is_narrow.
std::string flat_tiles(const ElementwiseText& text);
KernelText strided_units(const ElementwiseText& text);

// Elements of a vector whose computing type has so many bytes; 1: this device takes none.
unsigned vector_width(const Invocation& invocation, unsigned bytes);

// The tensors of a call, operand 0 first, and how its kernel reaches them.
class ElementwiseCall {
 public:
  void add(const bp_tensor& tensor) {
    tensors_[count_++] = &tensor;
    flags_ &= tensor.flags;
    largest_ = std::max(largest_, tensor.itemsize);
    smallest_ = std::min(smallest_, tensor.itemsize);
  }

  // Once all are there. `grain`: elements that are worth a work-item.
  template <class MakeFunction, class AddNumbers>
  void launch(Invocation& invocation, std::int64_t grain, MakeFunction&& function_for,
              AddNumbers&& add_numbers) const {
    Values values;
    Grid grid;
    Form form;
    if (flags_ & BP_LAYOUT_CONTIGUOUS) [[likely]]
      grid.items[0] = flat(invocation, grain, values, form);
    else
      grid.items[0] = strided(invocation, grain, values, form);
    add_numbers(values);
    bp_handle memory[StridedSpace::max_operands];
    const std::size_t num_memory = form.has_one_block ? 1 : count_;
    for (std::size_t k = 0; k < num_memory; ++k) memory[k] = handle_of(*tensors_[k]);
    invocation.launch(function_for(form), grid, memory, num_memory, values);
  }

 private:
  // Its lines are in the caches already when it is written (PoCL 3.1, relu of 16 MiB in place: 102 GB/s through the caches, 36
  // past them).
  bool is_in_place() const {
    const auto is_output = [&](const bp_tensor* input) {
      return handle_of(*input) == handle_of(*tensors_[0]) &&
             input->dl.byte_offset == tensors_[0]->dl.byte_offset;
    };
    return std::any_of(tensors_.begin() + 1, tensors_.begin() + count_, is_output);
  }
  // Append what the loops need and return the number of work-items.
  std::uint64_t flat(const Invocation& invocation, std::int64_t grain, Values& values,
                     Form& form) const;
  std::uint64_t strided(const Invocation& invocation, std::int64_t grain, Values& values,
                        Form& form) const;
  std::uint64_t units(const Invocation& invocation, const StridedSpace& space, Values& values,
                      Form& form) const;
  bool lie_in_one_block() const;
  Tile tile(const Invocation& invocation) const {
    return tile_of(invocation.device.language(), largest_, smallest_, count_ - 1);
  }

  std::array<const bp_tensor*, StridedSpace::max_operands> tensors_;
  std::size_t count_ = 0;
  std::uint32_t flags_ = ~0u;                  // BP_LAYOUT_* of all
  std::uint32_t largest_ = 1, smallest_ = 16;  // elements, in bytes
};

}  // namespace bp::codegen

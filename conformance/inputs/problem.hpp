// A case's arguments, made from its name alone: the same on every machine. How tensors lie, what a call is made of, and a
// problem in the making: arguments with shapes first, then memory and values.
#pragma once

#include <charconv>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <backplane/dispatcher/operator.hpp>
#include <backplane/tensor/shape.hpp>
#include <backplane/tensor/tensor.hpp>

#include "cases/case.hpp"

namespace bp::conform {

using Bytes = std::vector<std::uint8_t>;
using Sizes = std::vector<std::int64_t>;

// A tensor as it shall lie on the device: the whole memory behind it, gaps included, and the view into that.
struct Laid {
  Dtype dtype = f32;
  Sizes shape, strides;     // strides in elements
  std::int64_t offset = 0;  // of element 0, in elements
  Bytes storage;            // all bytes, gaps filled with a pattern of the seed
  // Not 0: the memory has so many bytes, most of which nobody looks at; `storage` then has the elements alone,
  // row-major, each of which is written to its place (a tensor step with "sparse" and "pieces").
  std::uint64_t sparse_bytes = 0;
};

// The names that there are. One that a shape has no room for (transpose of a vector) gives the plain layout.
//   plain       row-major, without gaps                    offset   the same, one element behind the start
//   transpose   the last two dimensions swapped in memory  permute  all dimensions the other way round
//   step2       every other element of the last dimension  padded   rows with three elements between them
//   expand      stride 0 in the first dimension            inner    stride 0 in the last one
//   overlap     windows that share elements (read only)    channels_last  of rank 4 and 5
//   far         two elements 2^31 + 64 bytes apart         own      the sample's own
bool is_layout_name(std::string_view name);
bool is_read_only_layout(std::string_view name);  // several elements share a place

// Without values: the storage has its size and is filled with the gap pattern of the seed.
Laid lay_out(Dtype dtype, const Sizes& shape, std::string_view layout, std::uint64_t seed);

// What a plugin sees of a tensor that lies so in memory without a place; `impl` stays where it is.
void describe_tensor(Dtype dtype, const Sizes& shape, const Sizes& strides,
                     std::uint64_t byte_offset, TensorImpl& impl);
// The BP_LAYOUT_* that hold.
std::uint32_t layout_flags(const Laid& laid);

std::int64_t numel_of(const Sizes& shape);
Sizes row_major_strides(const Sizes& shape);
// One past the last element that is touched, relative to the first.
std::int64_t reach_of(const Sizes& shape, const Sizes& strides);

// Calls `visit` with the place of each element, in elements from the first, in row-major order.
void for_each_place(IntList shape, IntList strides,
                    const std::function<void(std::int64_t place)>& visit);

// Calls `make` for each element in row-major order with its number and its address; of several that share a
// place the last one stays. Of a sparse tensor the storage holds the elements alone.
void for_each_element(Laid& laid, const std::function<void(std::int64_t, unsigned char*)>& make);
// Of a sparse tensor: each element's offset in bytes in the memory that it stands for.
std::vector<std::uint64_t> sparse_offsets(const Laid& laid);
// The elements' bytes, row-major.
Bytes packed_elements(const Laid& laid);

// Of one argument of the schema.
struct Argument {
  bp_value value{};  // of anything but tensors; lists and strings are those that the Problem keeps
  std::vector<int>
      tensors;  // positions in Problem::tensors: one for BP_TENSOR, several for BP_TENSOR_LIST
  std::vector<std::size_t> holes = {};  // of a list: which of its elements are none, rising
  bool is_tensor() const { return value.tag == BP_TENSOR; }
};

// The position of each element of a list, -1 for a hole.
std::vector<int> listed(const Argument& argument);

struct Problem {
  Operator* op = nullptr;
  std::vector<Argument> arguments;  // in schema order; those left out at the end have defaults
  std::vector<Laid> tensors;
  // What the call gives, from the row's shape rule; empty for BP_OP_SHAPE_DATA and composite rows.
  std::vector<OutputSpec> outputs;

  // A copy of what the value points to, if that is a list or a string, lives as long as the problem and its copies.
  bp_value kept(bp_value value);
  // A value of another call: `place_of` tells which of the tensors one is.
  void add_argument(const bp_value& value, const std::function<int(const bp_tensor*)>& place_of);
  // The same call of other tensors, which knows no outputs.
  Problem with_tensors(std::vector<Laid> others) const;

 private:
  std::vector<std::shared_ptr<const void>> kept_;
};

// Finds the outputs by the row's rule (composite rows and views have none); throws what the rule throws.
void find_outputs(Problem& problem);

// Its numbers are compared with such as stand for something (a target of 1 or -1): a step away says something else.
bool names_something(const Problem& problem, std::size_t tensor);

// The call as an application makes it. Throws bad_argument for a case that makes no sense. Each `draw` has other values.
Problem make_problem(const Case& one, std::uint64_t draw = 0);

// The same call as a kernel gets it (docs/notes/kernel-contract.md): promoted, broadcast by strides of 0, dimensions
// wrapped, defaults filled in, outputs known. False if a kernel would not get it in one piece (a cast or a copy comes
// first, nothing to compute, composite).
bool canonical(const Problem& problem, Problem& out);

// The tensor's elements as a row-major tensor on the host's memory device `on`.
Tensor values_of(const Laid& laid, Device on);

// What a tensor of a call means, and so which values it may have.
struct PlannedTensor {
  Dtype dtype = f32;
  Sizes shape;
  std::int64_t index_end = -1;  // not -1: these are indices below it
  bool keeps_values =
      false;  // the sample's, whatever the case's values are: statistics, probabilities, masks
};

struct PlannedProblem {
  Problem problem;  // its tensors are those of a sample, or not there yet
  std::vector<PlannedTensor> tensors;
};

// From "s2x3,1x3:dim=1" or "m17k65n3": the shapes of the tensor arguments in schema order, joined by commas ("#2" is
// a number in a tensor's place, "-" an absent one, "2x3+1x3" a list of tensors; the last one holds for the rest), then
// other arguments by their names; of a tensor the dtype (":index=i32").
void plan_from_text(const Case& one, PlannedProblem& plan);

// From the row's own sample of this name, made by samples/recipes; each `draw` has other numbers.
void plan_from_sample(const Case& one, std::uint64_t draw, PlannedProblem& plan);

// The parts of a text between separators; "" has one part, the empty one.
std::vector<std::string> split_text(std::string_view text, char separator);
// False unless the whole text is such a number.
template <class T> bool read_all_as(std::string_view text, T& out, auto... base) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out, base...);
  return error == std::errc() && end == text.data() + text.size();
}
// "2x3" or ""; false for anything else.
bool read_sizes(std::string_view text, Sizes& out);

[[noreturn]] void refuse_case(const Case& one, const std::string& why);

// ---- Calls that fall apart: along which dimension of its results a row computes each piece from a piece of its arguments

struct Cut {
  std::size_t tensor = 0;  // position in Problem::tensors
  std::size_t dim = 0;
};
struct Split {
  std::size_t dim = 0;  // of every result
  std::int64_t size = 0;
  std::vector<Cut> cuts;  // the tensors that are cut; the others belong to each piece as they are

  const Cut* cut_of(std::size_t tensor) const;
};

// Found by trying on the oracle, bit for bit, so that no list of rows says it. The dimensions are tried from the first
// one on, or from the last one. Threads: any.
std::optional<Split> split_of(const Problem& problem, std::uint64_t seed, bool from_last);

// The piece of so many elements along the split's dimension, as views of the problem's tensors.
Laid narrowed(const Laid& laid, std::size_t dim, std::int64_t start, std::int64_t length);
Problem part_of(const Problem& problem, const Split& split, std::int64_t start,
                std::int64_t length);

}  // namespace bp::conform

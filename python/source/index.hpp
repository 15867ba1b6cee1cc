// What stands in brackets behind a tensor, as C++ reads it.
#pragma once

#include <array>
#include <vector>

#include "objects.hpp"

namespace bp::python {

// Does a layer look at calls with the tensor, so that rows have to make its views?
bool is_seen_by_layers(const Tensor& tensor);

// A tensor made of a list of Python's, or of another's array.
Tensor tensor_from(nb::handle object);

enum class Kind : std::uint8_t { number, slice, none, ellipsis, boolean, mask, places };

// One part of an index, as C++ reads it: nothing below looks at Python's objects again, whose methods could change the
// tensor meanwhile.
struct Part {
  Kind kind;
  bool truth;                    // of a bool
  std::size_t tensor;            // of a mask, or of integers: its place among the tensors
  Py_ssize_t start, stop, step;  // of a slice, as written; a number is in `start`
};

// The index as it was written.
class Written {
 public:
  explicit Written(PyObject* index);

  const Part* begin() const { return parts_.data(); }
  const Part* end() const { return parts_.data() + size_; }
  const Tensor& tensor_of(const Part& part) const { return tensors_[part.tensor]; }
  bool is_basic() const { return is_basic_; }

 private:
  static constexpr std::size_t most = 2 * max_rank + 1;

  void read(PyObject* object, Part& part);
  void read_number(PyObject* object, Part& part);

  void read_other(PyObject* object, Part& part);
  // A NumPy array without dimensions, or its only element.
  void read_array_number(PyObject* object, Part& part);
  void read_tensor(const Tensor& tensor, PyObject* object, Part& part);
  void set_bool(Part& part, bool truth);

  std::array<Part, most> parts_;  // not cleared, since most are never used
  std::size_t size_ = 0;
  std::vector<Tensor> tensors_;
  bool is_basic_ = true;  // numbers, slices, None and ... alone
};

// What an index means for one tensor: a view of it, and indices for dimensions of the view.
class Meaning {
 public:
  Meaning(const Tensor& tensor, const Written& index);

  const Tensor& view() const { return seen_; }
  bool is_view() const { return chosen_.empty(); }
  // Dimensions of the view whose slice went backwards: it shows their elements in the tensor's order.
  const Dims& backwards() const { return backwards_; }
  // For the dimensions of the view: undefined where all of one is taken.
  const std::vector<Tensor>& chosen() const { return chosen_; }
  // Of those with an index, the first. The common dimensions of the indices take its place, unless they come first.
  std::size_t first_chosen() const;
  bool common_comes_first() const { return lie_apart_; }
  // By what the row sees, which does not know of a ... that stands for nothing.
  bool common_comes_first_in_row() const;

 private:
  // The dimensions that ... stands for.
  std::int64_t hidden_dims(const Written& index) const;
  // Does something lie between any two lists, masks and numbers? Then their common dimensions come first in the result.
  static bool lie_apart(const Written& index);

  void take(const Part& part, const Written& index, std::int64_t hidden);

  void take_number(std::int64_t number);
  void take_slice(const Part& part);
  void take_whole(std::int64_t count);
  void add_dim();
  // True is the only place of a new dimension; False none of it.
  Tensor places_of_bool(bool truth) const;
  void take_mask(const Tensor& mask);
  // For the next dimension of the view.
  void choose(Tensor index);
  std::size_t here() const { return static_cast<std::size_t>(source_dim_); }

  const Tensor& tensor_;
  const bool by_rows_, lie_apart_;
  Dims shape_, strides_;  // of the view so far
  std::int64_t offset_ = 0;
  Tensor seen_;  // the view; so far, if rows make it
  Dims backwards_;
  std::vector<Tensor> chosen_;
  std::int64_t source_dim_ = 0, seen_dim_ = 0;
};

}  // namespace bp::python

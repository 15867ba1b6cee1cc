// Sums of products by an equation: every dimension has the number of an axis, and two operands at a time
// become one, by a batch of matrix products where an axis is summed over.
#include <algorithm>
#include <map>
#include <vector>

#include <backplane/tensor/check.hpp>

#include "decompositions/linear.hpp"
#include "rules/decompositions.hpp"

namespace bp {
namespace {

// Letters have the numbers of their characters; the dimensions of an ellipsis follow from the last one on.
constexpr int last_of_ellipsis = 256;
using Axes = std::vector<int>;

// A tensor, and the axis of each of its dimensions, none twice.
struct Factor {
  Tensor tensor;
  Axes axes;

  std::int64_t place_of(int axis) const {
    return std::find(axes.begin(), axes.end(), axis) - axes.begin();
  }
  bool has(int axis) const { return place_of(axis) != static_cast<std::int64_t>(axes.size()); }
};

bool contains_axis(const Axes& axes, int axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

std::string axis_name(int axis) {
  return axis < last_of_ellipsis ? std::string(1, static_cast<char>(axis)) : "...";
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

class Einsum {
 public:
  Einsum(std::string_view equation, std::span<const Tensor> operands) : equation_(equation) {
    for (char c : equation)
      if (c != ' ') text_ += c;
    const std::size_t arrow = text_.find("->");
    read_operands(std::string_view(text_).substr(0, arrow), operands);
    if (arrow == std::string::npos)
      find_output();
    else
      read_output(std::string_view(text_).substr(arrow + 2));
    for (Factor& factor : factors_) drop_broadcast(factor);
  }

  Tensor compute() {
    Factor product = std::move(factors_[0]);
    sum_unneeded(product, 1);
    for (std::size_t i = 1; i < factors_.size(); ++i) {
      sum_unneeded(factors_[i], i + 1, &product);
      sum_unneeded(product, i + 1, &factors_[i]);
      product = multiply(product, factors_[i], i + 1);
    }
    Dims order;
    for (int axis : output_) order.push_back(product.place_of(axis));
    return permute(product.tensor, order);
  }

 private:
  // ---- Reading

  void read_operands(std::string_view terms, std::span<const Tensor> operands) {
    const auto num_terms =
        static_cast<std::size_t>(std::count(terms.begin(), terms.end(), ',')) + 1;
    BP_CHECK(!operands.empty() && num_terms == operands.size(),
             "einsum: '{}' names {} operands and there are {}; write one list of letters for each",
             equation_, num_terms, operands.size());
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const std::size_t comma = std::min(terms.find(','), terms.size());
      factors_.push_back(read_operand(terms.substr(0, comma), operands[i], i));
      terms.remove_prefix(std::min(comma + 1, terms.size()));
    }
  }

  // The axes that a term names; an ellipsis has `num_hidden` dimensions.
  Axes read_term(std::string_view term, std::int64_t num_hidden, bool& has_ellipsis) const {
    Axes axes;
    has_ellipsis = false;
    for (std::size_t at = 0; at < term.size(); ++at) {
      if (is_letter(term[at])) {
        axes.push_back(term[at]);
        continue;
      }
      BP_CHECK(term.substr(at, 3) == "..." && !has_ellipsis,
               "einsum: '{}' has '{}' in '{}'; write letters, and '...' at most once in each list",
               equation_, term.substr(at), term);
      has_ellipsis = true;
      at += 2;
      for (std::int64_t k = num_hidden; k-- > 0;)
        axes.push_back(last_of_ellipsis + static_cast<int>(k));
    }
    return axes;
  }

  Factor read_operand(std::string_view term, const Tensor& tensor, std::size_t number) {
    bool has_ellipsis = false;
    const auto num_letters = static_cast<std::int64_t>(read_term(term, 0, has_ellipsis).size());
    const std::int64_t num_hidden = has_ellipsis ? tensor.ndim() - num_letters : 0;
    BP_CHECK(
        num_hidden >= 0 && num_letters + num_hidden == tensor.ndim(),
        "einsum: '{}' names {} dimensions in '{}' and operand {} has shape {}; write a letter for "
        "each dimension",
        equation_, num_letters, term, number, to_string(tensor.shape()));
    num_hidden_ = std::max(num_hidden_, num_hidden);
    Factor factor{tensor, read_term(term, num_hidden, has_ellipsis)};
    for (int axis : factor.axes) ++num_uses_[axis];
    take_diagonals(factor);
    for (std::size_t d = 0; d < factor.axes.size(); ++d)
      note_size(factor.axes[d], factor.tensor.shape()[d]);
    return factor;
  }

  // A letter that is there twice runs along the diagonal.
  void take_diagonals(Factor& factor) const {
    for (std::size_t i = 0; i < factor.axes.size();) {
      const int axis = factor.axes[i];
      const auto again = std::find(factor.axes.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                                   factor.axes.end(), axis);
      if (again == factor.axes.end()) {
        ++i;
        continue;
      }
      const auto first = static_cast<std::int64_t>(i);
      const std::int64_t second = again - factor.axes.begin();
      BP_CHECK(factor.tensor.size(first) == factor.tensor.size(second),
               "einsum: '{}' has '{}' twice in one operand, for sizes {} and {}; make them equal",
               equation_, axis_name(axis), factor.tensor.size(first), factor.tensor.size(second));
      factor.tensor = diagonal(factor.tensor, 0, first, second);
      factor.axes.erase(again);
      factor.axes.erase(factor.axes.begin() + first);
      factor.axes.push_back(axis);
    }
  }

  void note_size(int axis, std::int64_t size) {
    std::int64_t& known = sizes_.try_emplace(axis, 1).first->second;
    if (size == 1) return;
    BP_CHECK(known == 1 || known == size,
             "einsum: '{}' has '{}' for sizes {} and {}; make them equal, or one of them 1",
             equation_, axis_name(axis), known, size);
    known = size;
  }

  void find_output() {
    for (std::int64_t k = num_hidden_; k-- > 0;)
      output_.push_back(last_of_ellipsis + static_cast<int>(k));
    for (const auto& [axis, count] : num_uses_)
      if (axis < last_of_ellipsis && count == 1) output_.push_back(axis);
  }

  void read_output(std::string_view term) {
    bool has_ellipsis = false;
    output_ = read_term(term, num_hidden_, has_ellipsis);
    for (int axis : output_) {
      BP_CHECK(
          num_uses_.contains(axis),
          "einsum: '{}' has '{}' after the arrow and no operand has it; name it before, or leave "
          "it out",
          equation_, axis_name(axis));
      BP_CHECK(std::count(output_.begin(), output_.end(), axis) == 1,
               "einsum: '{}' has '{}' {} times after the arrow; write it once", equation_,
               axis_name(axis), std::count(output_.begin(), output_.end(), axis));
    }
  }

  // A dimension of size 1 beside a longer one of the same axis says nothing.
  void drop_broadcast(Factor& factor) const {
    Dims dropped;
    Axes kept;
    for (std::size_t d = 0; d < factor.axes.size(); ++d) {
      const bool says_nothing = factor.tensor.shape()[d] == 1 && sizes_.at(factor.axes[d]) != 1;
      if (says_nothing)
        dropped.push_back(static_cast<std::int64_t>(d));
      else
        kept.push_back(factor.axes[d]);
    }
    if (dropped.empty()) return;
    factor.tensor = squeeze(factor.tensor, dropped);
    factor.axes = std::move(kept);
  }

  // ---- Computing

  // Is the axis in the output, or in an operand from number `next` on?
  bool is_needed(int axis, std::size_t next) const {
    if (contains_axis(output_, axis)) return true;
    return std::any_of(factors_.begin() + static_cast<std::ptrdiff_t>(next), factors_.end(),
                       [axis](const Factor& factor) { return factor.has(axis); });
  }

  // Sums over what neither the other factor nor anything later has.
  void sum_unneeded(Factor& factor, std::size_t next, const Factor* other = nullptr) const {
    Dims summed;
    Axes kept;
    for (std::size_t d = 0; d < factor.axes.size(); ++d) {
      const int axis = factor.axes[d];
      if (is_needed(axis, next) || (other && other->has(axis)))
        kept.push_back(axis);
      else
        summed.push_back(static_cast<std::int64_t>(d));
    }
    if (summed.empty()) return;
    factor.tensor = sum(factor.tensor, summed, false, factor.tensor.dtype());
    factor.axes = std::move(kept);
  }

  std::int64_t count(const Axes& axes) const {
    std::int64_t numel = 1;
    for (int axis : axes) numel *= sizes_.at(axis);
    return numel;
  }

  // As a batch of matrices, whose rows and columns run over several axes each.
  Tensor matrices(const Factor& factor, const Axes& batch, const Axes& rows,
                  const Axes& columns) const {
    Dims order;
    for (const Axes* axes : {&batch, &rows, &columns})
      for (int axis : *axes) order.push_back(factor.place_of(axis));
    return reshape(permute(factor.tensor, order), {count(batch), count(rows), count(columns)});
  }

  Factor multiply(const Factor& left, const Factor& right, std::size_t next) const {
    Axes batch, summed, of_left, of_right;
    for (int axis : left.axes) {
      Axes& kind = !right.has(axis) ? of_left : is_needed(axis, next) ? batch : summed;
      kind.push_back(axis);
    }
    for (int axis : right.axes)
      if (!left.has(axis)) of_right.push_back(axis);
    const Tensor input = matrices(left, batch, of_left, summed);
    const Tensor other = matrices(right, batch, summed, of_right);
    Factor product{summed.empty() ? mul(input, other) : bmm(input, other), batch};
    product.axes.insert(product.axes.end(), of_left.begin(), of_left.end());
    product.axes.insert(product.axes.end(), of_right.begin(), of_right.end());
    Dims shape;
    for (int axis : product.axes) shape.push_back(sizes_.at(axis));
    product.tensor = reshape(product.tensor, shape);
    return product;
  }

  std::string_view equation_;
  std::string text_;  // the equation without spaces
  std::vector<Factor> factors_;
  std::map<int, std::int64_t> sizes_;
  std::map<int, int> num_uses_;
  std::int64_t num_hidden_ = 0;  // dimensions of the longest ellipsis
  Axes output_;
};

}  // namespace

Tensor einsum_by_pairs(std::string_view equation, const TensorList& operands) {
  return Einsum(equation, operands.span()).compute();
}

}  // namespace bp

#include "autograd/gradcheck.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <random>

#include <backplane/samples/row_facts.hpp>

#include "core_ops/rewired.hpp"

namespace bp::test {
namespace {

constexpr std::int64_t most_elements = 128;
constexpr double step = 1e-6;

// Calls `body` with each element.
template <class Body> void for_each_element(const Tensor& tensor, Body&& body) {
  auto* data = static_cast<double*>(tensor.data_ptr());
  for (std::int64_t i = 0; i < tensor.numel(); ++i) {
    std::int64_t rest = i, offset = 0;
    for (std::size_t d = tensor.shape().size(); d-- > 0;) {
      offset += rest % tensor.shape()[d] * tensor.strides()[d];
      rest /= tensor.shape()[d];
    }
    body(data[offset]);
  }
}

struct Range {
  double low, width;
};
Range range_of(const Operator& op) {
  if (has_trait(op.name(), Trait::within_one)) return {0.05, 0.9};
  if (has_trait(op.name(), Trait::from_one)) return {1.2, 1.5};
  return {0.5, 1.5};
}

// Not those of another number either: where two inputs are equal, a row may have a kink.
void fill_with_distinct(const Tensor& tensor, Range range, std::size_t number,
                        std::mt19937& random) {
  const double phase = 0.1 + 0.8 * std::fmod(0.5 + 0.618 * static_cast<double>(number), 1);
  std::vector<double> values(static_cast<std::size_t>(tensor.numel()));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = range.low +
                range.width * (static_cast<double>(i) + phase) / static_cast<double>(values.size());
  std::shuffle(values.begin(), values.end(), random);
  std::size_t next = 0;
  for_each_element(tensor, [&](double& element) { element = values[next++]; });
}

// sum(outputs * weights), with weights that differ from element to element; of complex outputs by their parts.
Tensor weighted_sum(const std::vector<Tensor>& outputs) {
  Tensor total = zeros({}, Dtype::f64);
  double phase = 0;
  for (const Tensor& each : outputs) {
    const Tensor output = each.dtype() == Dtype::complex128 ? view_as_real(each) : each;
    if (output.dtype() != Dtype::f64 || output.numel() == 0) continue;
    const Tensor weights =
        cos(reshape(arange(0, output.numel(), 1, Dtype::f64), output.shape()) + phase);
    total = total + sum(output * weights);
    phase += 0.7;
  }
  return total;
}

double value_of(const Differentiable& function, std::span<const Tensor> inputs) {
  const NoGrad constant;
  return *weighted_sum(function(inputs)).data<double>();
}

bool agree(double actual, double expected, double size) {
  return std::isfinite(expected) && std::abs(actual - expected) <= 1e-5 * std::max(1.0, size);
}

// Along one direction that moves every element, each by a length of its own: an error of one element that is more than may be of
// the largest derivative shows.
bool agree_along_a_direction(const Tensor& dense, const Tensor& input,
                             const std::function<double()>& value) {
  std::mt19937 random(11);
  std::uniform_real_distribution<double> length(0.5, 1);
  std::vector<double> direction, before;
  double actual = 0, largest = 0;
  for_each_element(input, [&](double& element) {
    const double gradient = dense.data<double>()[before.size()];
    before.push_back(element);
    direction.push_back(random() % 2 == 0 ? length(random) : -length(random));
    actual += gradient * direction.back();
    largest = std::max(largest, std::abs(gradient));
  });
  const auto value_at = [&](double distance) {
    std::size_t i = 0;
    for_each_element(input, [&](double& element) {
      element = before[i] + distance * direction[i];
      ++i;
    });
    return value();
  };
  const double above = value_at(step), below = value_at(-step);
  std::size_t i = 0;
  for_each_element(input, [&](double& element) { element = before[i++]; });
  return agree(actual, (above - below) / (2 * step), largest);
}

// Element by element, which takes two values for each.
std::string find_wrong_element(const Tensor& dense, const Tensor& input, std::size_t number,
                               const std::function<double()>& value) {
  std::string wrong;
  std::int64_t i = 0;
  for_each_element(input, [&](double& element) {
    const double before = element;
    element = before + step;
    const double above = value();
    element = before - step;
    const double below = value();
    element = before;
    const double expected = (above - below) / (2 * step), actual = dense.data<double>()[i];
    if (wrong.empty() && !agree(actual, expected, std::abs(expected)))
      wrong = fmt::format("input {}, shape {}, element {}: the rule gives {}, differences {}",
                          number, to_string(input.shape()), i, actual, expected);
    ++i;
  });
  return wrong;
}

std::string compare(const Tensor& gradient, const Tensor& input, std::size_t number,
                    const std::function<double()>& value) {
  const Tensor dense = contiguous(gradient);
  if (input.numel() == 0 || agree_along_a_direction(dense, input, value)) return {};
  return find_wrong_element(dense, input, number, value);
}

std::vector<Tensor> gradients_of(const Differentiable& function, std::span<const Tensor> inputs,
                                 bool recorded) {
  const Tensor total = weighted_sum(function(inputs));
  if (!requires_grad(total)) return std::vector<Tensor>(inputs.size());
  autograd::BackwardOptions options;
  options.create_graph = recorded;
  return autograd::grad({total}, inputs, {}, options, true);
}

// ---- Samples of rows ----

// A leaf, and how the sample's tensor is seen in it.
struct Placed {
  Tensor leaf;
  std::function<Tensor(const Tensor& leaf)> shown;
};

Placed placed_as_sampled(const Tensor& tensor) {
  Dims small(tensor.shape());
  for (std::size_t d = 0; d < small.size(); ++d)
    if (tensor.strides()[d] == 0 && small[d] > 1) small[d] = 1;
  if (IntList(small) == tensor.shape()) return {tensor, [](const Tensor& leaf) { return leaf; }};
  return {empty(small, Dtype::f64),
          [shape = Dims(tensor.shape())](const Tensor& leaf) { return expand(leaf, shape); }};
}

// Complex numbers are seen in a leaf of their parts.
Placed placed_as_pairs(const Tensor& tensor, Placing placing) {
  if (placing == Placing::transposed || placing == Placing::channels_last) return {};
  Dims shape(tensor.shape());
  shape.push_back(2);
  return {empty(shape, Dtype::f64), [](const Tensor& leaf) { return view_as_complex(leaf); }};
}

// Undefined leaf: a tensor of this rank cannot lie so.
Placed place(const Tensor& tensor, Placing placing) {
  if (tensor.dtype() == Dtype::complex128) return placed_as_pairs(tensor, placing);
  if (placing == Placing::as_sampled) return placed_as_sampled(tensor);
  Dims shape(tensor.shape());
  if (placing == Placing::contiguous)
    return {empty(shape, Dtype::f64), [](const Tensor& leaf) { return leaf; }};
  if (placing == Placing::transposed && tensor.ndim() >= 2) {
    std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
    return {empty(shape, Dtype::f64), [](const Tensor& leaf) { return transpose(leaf, -1, -2); }};
  }
  if (placing == Placing::channels_last && tensor.ndim() == 4)
    return {empty({shape[0], shape[2], shape[3], shape[1]}, Dtype::f64), [](const Tensor& leaf) {
              return permute(leaf, {0, 3, 1, 2});
            }};
  return {};
}

// Rows that read one half of symmetric, or Hermitian, matrices have derivatives by both.
std::function<Tensor(const Tensor&)> mirrored(const std::function<Tensor(const Tensor&)>& shown) {
  return [shown](const Tensor& leaf) {
    const Tensor seen = shown(leaf);
    return (seen + conj(transpose(seen, -1, -2))) * 0.5;
  };
}

// Some views refuse some layouts, which does not concern derivatives.
bool can_call(const Differentiable& call, std::span<const Tensor> inputs) {
  try {
    const NoGrad constant;
    call(inputs);
    return true;
  } catch (const Error&) {
    return false;
  }
}

bool share_memory(const std::vector<Tensor>& tensors) {
  for (std::size_t i = 0; i < tensors.size(); ++i)
    for (std::size_t k = 0; k < i; ++k)
      if (tensors[i].numel() != 0 && tensors[i].shares_storage(tensors[k])) return true;
  return false;
}

}  // namespace

std::string find_wrong_derivative(const Differentiable& function, std::vector<Tensor> inputs,
                                  bool second) {
  const std::vector<Tensor> gradients = gradients_of(function, inputs, false);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!gradients[i].defined()) continue;
    if (gradients[i].shape() != inputs[i].shape() || gradients[i].dtype() != inputs[i].dtype())
      return fmt::format("input {}: the gradient has shape {}, the input {}", i,
                         to_string(gradients[i].shape()), to_string(inputs[i].shape()));
    const std::string wrong =
        compare(gradients[i], inputs[i], i, [&] { return value_of(function, inputs); });
    if (!wrong.empty()) return wrong;
  }
  if (!second) return {};
  const Differentiable first = [&](std::span<const Tensor> at) {
    const EnableGrad recorded;
    std::vector<Tensor> found;
    for (Tensor& gradient : gradients_of(function, at, true))
      if (gradient.defined()) found.push_back(std::move(gradient));
    return found;
  };
  const std::string wrong = find_wrong_derivative(first, std::move(inputs), false);
  return wrong.empty() ? wrong : "second derivative, " + wrong;
}

Checked check_derivative(Operator& op, const Sample& sample, Placing placing) {
  return check_derivative(
      op, sample, placing,
      [](Operator& called, std::span<const bp_value> args) { return call_boxed(called, args); });
}

Checked check_derivative(Operator& op, const Sample& sample, Placing placing,
                         const SampleCall& made) {
  std::vector<const bp_tensor*> replaced;
  std::vector<std::function<Tensor(const Tensor&)>> shown;
  std::vector<Tensor> leaves;
  std::mt19937 random(7);
  for (const Tensor& tensor : sample.tensors) {
    const bool is_complex_one = tensor.dtype() == Dtype::complex128;
    if (tensor.dtype() != Dtype::f64 && !is_complex_one) continue;
    if (tensor.numel() * (is_complex_one ? 2 : 1) > most_elements)
      return {.wrong = {}, .is_large = true};
    Placed placed = place(tensor, placing);
    if (!placed.leaf.defined()) return {};
    if (has_trait(op.name(), Trait::telling_input))
      copy_(placed.shown(placed.leaf), tensor);
    else
      fill_with_distinct(placed.leaf, range_of(op), leaves.size(), random);
    if (leaves.empty() && has_trait(op.name(), Trait::symmetric))
      placed.shown = mirrored(placed.shown);
    replaced.push_back(&tensor.impl()->abi);
    shown.push_back(std::move(placed.shown));
    leaves.push_back(std::move(placed.leaf));
  }
  if (leaves.empty() || share_memory(leaves)) return {};
  for (const Tensor& leaf : leaves) set_requires_grad(leaf);
  const auto call = [&](std::span<const Tensor> inputs) {
    std::map<const bp_tensor*, Tensor> others;
    for (std::size_t i = 0; i < inputs.size(); ++i) others[replaced[i]] = shown[i](inputs[i]);
    manual_seed(
        7);  // the same random numbers in each call, so that these rows have derivatives too
    const Rewired rewired(sample, others);
    std::vector<bp_value> args(rewired.args().begin(), rewired.args().end());
    for (std::size_t i = args.size(); i < op.schema->arguments.size(); ++i)
      args.push_back(op.schema->arguments[i].default_value);
    return made(op, args);
  };
  if (!can_call(call, leaves)) return {};
  const std::string wrong = find_wrong_derivative(call, leaves, true);
  if (wrong.empty()) return {"", true};
  return {fmt::format("{} ({}): {}", op.name(), sample.recipe, wrong), true};
}

}  // namespace bp::test

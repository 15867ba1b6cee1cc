// An example of every row, run: `write_examples FILE` writes {row: {"call": C++, "result": what it prints}} as JSON, or
// {row: {"none": why there is none}}. core_ops/examples.json is what it wrote last; the pages of docs/operators show it.
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "core_ops/rewired.hpp"
#include "core_ops/rows.hpp"
#include "source_text.hpp"

namespace bp::test {
namespace {

using nlohmann::ordered_json;

// Samples whose tensors or results have more elements show less than they take room for.
constexpr std::int64_t most_elements = 60;

bool shows_an_edge(std::string_view recipe) {
  constexpr std::string_view edges[] = {"several_tiles",  "specials",  "zero",     "no_",
                                        "empty",          "offset",    "expanded", "channels_last",
                                        "non_contiguous", "transposed"};
  return std::any_of(std::begin(edges), std::end(edges),
                     [&](std::string_view edge) { return recipe.starts_with(edge); });
}

// Values with one decimal, since a reader compares them; a [3, 5] becomes [2, 3] if `cuts`.
Tensor made_readable(const Tensor& tensor, bool cuts) {
  Tensor readable = clone(tensor);
  if (is_floating(tensor.dtype()) || is_complex(tensor.dtype())) {
    const Tensor wide = to(readable, is_complex(tensor.dtype()) ? complex128 : f64);
    const Tensor parts = is_complex(tensor.dtype()) ? view_as_real(wide) : wide;
    const Tensor rounded = round(parts * 10) / 10;
    readable = to(is_complex(tensor.dtype()) ? view_as_complex(rounded) : rounded, tensor.dtype());
  }
  for (std::int64_t dim = 0; cuts && dim < readable.ndim(); ++dim) {
    const std::int64_t size = readable.size(dim);
    if (size == 3 || size == 5) readable = narrow(readable, dim, 0, size == 5 ? 3 : 2);
  }
  return contiguous(readable);
}

std::map<const bp_tensor*, Tensor> readable_tensors(const Sample& sample, bool cuts) {
  std::map<const bp_tensor*, Tensor> others;
  for (const bp_value& value : sample.args) {
    auto* listed = static_cast<const bp_tensor* const*>(value.u.ptr);
    const std::uint32_t count = value.tag == BP_TENSOR_LIST ? value.aux : value.tag == BP_TENSOR;
    for (std::uint32_t k = 0; k < count; ++k) {
      const bp_tensor* tensor = value.tag == BP_TENSOR ? value.u.tensor : listed[k];
      if (tensor) others[tensor] = made_readable(Tensor::share(TensorImpl::of(tensor)), cuts);
    }
  }
  return others;
}

std::int64_t num_elements(const std::map<const bp_tensor*, Tensor>& tensors) {
  std::int64_t count = 0;
  for (const auto& [key, tensor] : tensors) count += tensor.numel();
  return count;
}

// Nothing to learn: no elements, or not a number among them.
bool is_dull(const std::vector<Tensor>& results) {
  for (const Tensor& result : results) {
    const bool parts = is_complex(result.dtype());
    const Tensor numbers = to(parts ? view_as_real(result) : result, f64);
    if (result.numel() == 0 || item<bool>(any(isnan(numbers)))) return true;
  }
  return results.empty();
}

// None: the sample is not for showing.
ordered_json example_of(Operator& op, const Sample& sample, bool cuts) {
  const auto others = readable_tensors(sample, cuts);
  if (num_elements(others) > most_elements) return {};
  const Rewired rewired(sample, others);
  // The call may write into its tensors, and the text is of those before.
  const std::string call = source_of(op, rewired.args());
  const std::vector<Tensor> results = call_boxed(op, rewired.args());
  std::int64_t shown = 0;
  for (const Tensor& result : results) shown += result.numel();
  if (shown > most_elements || is_dull(results)) return {};
  return {{"call", call}, {"result", text_of(op, results)}};
}

ordered_json example_of(Operator& op) {
  if (op.draws == Draws::always) return {{"none", "its numbers are random"}};
  if (std::string_view(op.tolerance) == "shape") return {{"none", "its values are not set"}};
  const std::vector<Sample> samples = samples_of(op, usual_dtype_of(op), host_device());
  for (const bool edges : {false, true})
    for (const Sample& sample : samples)
      for (const bool cuts : {true, false}) {
        if (shows_an_edge(sample.recipe) != edges) continue;
        try {
          if (ordered_json example = example_of(op, sample, cuts); !example.is_null())
            return example;
        } catch (const Error&) {
          // The smaller tensors do not fit together.
        }
      }
  return {{"none", "its samples are too large to show, or their results tell nothing"}};
}

int write_examples(const char* file) {
  ordered_json examples;
  for (Operator* op : rows()) examples[op->name()] = example_of(*op);
  std::ofstream stream(file);
  stream << examples.dump(1) << '\n';
  return stream.flush().good() ? 0 : 1;
}

}  // namespace
}  // namespace bp::test

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: write_examples FILE\n";
    return 2;
  }
  return bp::test::write_examples(argv[1]);
}

// Calls of every row, with what came of them, for compare_rows.py: `write_calls FILE` writes FILE.json, a line for each
// call, and FILE.bin, the tensors' elements. For each floating call the derivatives of sum(result * weight) as well.
#include <algorithm>
#include <fstream>
#include <iostream>
#include <set>

#include <backplane/samples/row_facts.hpp>
#include <backplane/tensors.hpp>

#include "core_ops/rewired.hpp"
#include "core_ops/written.hpp"
#include "pytorch/call_writer.hpp"

namespace bp::test {
namespace {

using nlohmann::ordered_json;

constexpr std::uint32_t num_variants = 3;
constexpr std::int64_t most_elements = 20'000;

bool is_differentiable(const Tensor& tensor) {
  return is_floating(tensor.dtype()) || is_complex(tensor.dtype());
}

// Numbers between -1 and 1 that differ from element to element.
Tensor weights_like(const Tensor& result) {
  const Tensor places = arange(0, result.numel(), 1, f64);
  return cast(cos(reshape(places * 0.37, result.shape())), result.dtype());
}

// The weights of the results, and the derivatives by the arguments' tensors.
void differentiate(CallWriter& writer, ordered_json& call, const std::vector<Tensor>& results,
                   const std::vector<Tensor>& leaves) {
  std::vector<Tensor> outputs, weights;
  ordered_json written = ordered_json::array();
  for (const Tensor& result : results) {
    const bool counts = is_differentiable(result) && requires_grad(result);
    written.push_back(counts ? writer.tensor(weights_like(result)) : ordered_json());
    if (!counts) continue;
    outputs.push_back(result);
    weights.push_back(weights_like(result));
  }
  if (outputs.empty()) return;
  call["weights"] = written;
  call["gradients"] = ordered_json::array();
  try {
    for (const Tensor& gradient : autograd::grad(outputs, leaves, weights, {}, true))
      call["gradients"].push_back(writer.tensor(gradient));
  } catch (const Error& error) {
    if (std::string_view(error.what()).find("its derivative is not known") == std::string::npos)
      throw;
    call["has_no_derivative"] = true;
  }
}

void write_call(CallWriter& writer, Operator& op, const Sample& sample, Dtype dtype,
                std::uint32_t variant) {
  std::map<const bp_tensor*, Tensor> others;
  std::vector<Tensor> leaves;
  std::set<const bp_tensor*> written;  // no leaves
  for (const Tensor& tensor : written_by(op, sample.args)) written.insert(&tensor.impl()->abi);
  for (const Tensor& tensor : sample.tensors) {
    const bp_tensor* const key = &tensor.impl()->abi;
    if (tensor.numel() > most_elements) return;
    if (op.schema->returns.empty()) continue;  // a step of an optimizer, which nobody derives
    if (!is_differentiable(tensor) || others.contains(key) || written.contains(key)) continue;
    const Tensor leaf = copy(tensor);
    leaves.push_back(set_requires_grad(leaf));
    others[key] = leaf;
  }
  ordered_json call{
      {"row", op.name()},
      {"tolerance", dtype == complex128 && op.decompose_complex ? "accumulation" : op.tolerance},
      {"recipe", sample.recipe},
      {"dtype", name(dtype)},
      {"variant", variant}};
  const Rewired rewired(sample, others);
  for (const bp_value& value : rewired.args()) call["args"].push_back(writer.argument(value));
  std::vector<Tensor> results;
  try {
    results = call_boxed(op, rewired.args());
    if (op.schema->returns.empty()) results = written_by(op, rewired.args());
    differentiate(writer, call, results, leaves);
  } catch (const Error& error) {
    call["error"] = error.what();
  }
  call["results"] = ordered_json::array();
  for (const Tensor& result : results) call["results"].push_back(writer.tensor(result));
  writer.line(call);
}

void write_row(CallWriter& writer, Operator& op) {
  writer.line({{"schema", op.schema->text}, {"row", op.name()}});
  for (Dtype dtype : {f32, f64, i64, boolean, complex128, f8_e4m3fn, f8_e5m2}) {
    // What computes in something else only stores 8-bit floats.
    const bool is_stored = itemsize(dtype) == 1 && dtype != boolean && contains(op.dtypes, f32);
    if (!contains(op.all_dtypes(), dtype) || is_stored) continue;
    for (std::uint32_t variant = 0; variant < num_variants; ++variant)
      for (const Sample& sample : samples_of(op, dtype, device("cpu"), variant))
        write_call(writer, op, sample, dtype, variant);
  }
}

int write_all(const std::string& file) {
  CallWriter writer(file);
  device("cpu");
  for (Operator* op : registered_operators())
    if (find_row_facts(op->name())) write_row(writer, *op);
  if (writer.flush()) return 0;
  std::cerr << "write_calls: " << file << ".json and .bin cannot be written\n";
  return 1;
}

}  // namespace
}  // namespace bp::test

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: write_calls FILE\n";
    return 1;
  }
  try {
    return bp::test::write_all(argv[1]);
  } catch (const std::exception& error) {
    std::cerr << "write_calls: " << error.what() << '\n';
    return 1;
  }
}

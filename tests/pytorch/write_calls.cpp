// Calls of every row, with what came of them, for compare_rows.py: `write_calls FILE` writes FILE.json, a line for each
// call, and FILE.bin, the tensors' elements. For each floating call the derivatives of sum(result * weight) as well.
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>

#include <backplane/backplane.hpp>
#include <backplane/samples/row_facts.hpp>

#include "core_ops/rewired.hpp"

namespace bp::test {
namespace {

using nlohmann::ordered_json;

constexpr std::uint32_t num_variants = 3;
constexpr std::int64_t most_elements = 20'000;

class Writer {
 public:
  explicit Writer(const std::string& file)
      : lines_(file + ".json"), elements_(file + ".bin", std::ios::binary) {}

  // {"shape": [...], "dtype": "float32", "offset": bytes}, and the elements row-major in the other file.
  ordered_json tensor(const Tensor& tensor) {
    if (!tensor.defined()) return nullptr;
    const NoGrad constant;
    const Tensor dense = contiguous(detach(tensor));
    const ordered_json entry{{"shape", std::vector(dense.shape().begin(), dense.shape().end())},
                             {"dtype", name(dense.dtype())},
                             {"offset", offset_}};
    append(static_cast<const char*>(dense.data_ptr()), dense.nbytes());
    return entry;
  }
  void line(const ordered_json& call) { lines_ << call.dump() << '\n'; }
  bool is_good() { return lines_.flush().good() && elements_.flush().good(); }

 private:
  // Whoever maps the file finds every tensor aligned.
  void append(const char* bytes, std::size_t count) {
    constexpr char nothing[alignment] = {};
    elements_.write(bytes, static_cast<std::streamsize>(count));
    const std::size_t rest = -count % alignment;
    elements_.write(nothing, static_cast<std::streamsize>(rest));
    offset_ += count + rest;
  }

  static constexpr std::size_t alignment = 64;
  std::ofstream lines_, elements_;
  std::size_t offset_ = 0;
};

// Numbers that JSON has no word for are text.
ordered_json number(double value) {
  if (std::isfinite(value)) return {{"number", value}};
  return {{"text_number", std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf"}};
}

ordered_json argument(Writer& writer, const bp_value& value) {
  const auto* integers = static_cast<const std::int64_t*>(value.u.ptr);
  switch (value.tag) {
    case BP_TENSOR:
      return {{"tensor", writer.tensor(Tensor::share(TensorImpl::of(value.u.tensor)))}};
    case BP_TENSOR_LIST: {
      ordered_json list = ordered_json::array();
      auto* elements = static_cast<const bp_tensor* const*>(value.u.ptr);
      for (std::uint32_t i = 0; i < value.aux; ++i)
        list.push_back(elements[i] ? writer.tensor(Tensor::share(TensorImpl::of(elements[i])))
                                   : ordered_json());
      return {{"tensors", list}};
    }
    case BP_INT: return {{"number", value.u.i}};
    case BP_DOUBLE: return number(value.u.f);
    case BP_BOOLEAN: return {{"number", value.u.i != 0}};
    case BP_STRING:
      return {{"text", std::string(static_cast<const char*>(value.u.ptr), value.aux)}};
    case BP_INT_LIST: return {{"integers", std::vector(integers, integers + value.aux)}};
    case BP_DTYPE: return {{"dtype", name(static_cast<Dtype>(value.u.i))}};
    case BP_DEVICE: return {{"device", "cpu"}};
    default: return nullptr;
  }
}

bool is_differentiable(const Tensor& tensor) {
  return is_floating(tensor.dtype()) || is_complex(tensor.dtype());
}

// Numbers between -1 and 1 that differ from element to element.
Tensor weights_like(const Tensor& result) {
  const Tensor places = arange(0, result.numel(), 1, f64);
  return cast(cos(reshape(places * 0.37, result.shape())), result.dtype());
}

// The weights of the results, and the derivatives by the arguments' tensors.
void differentiate(Writer& writer, ordered_json& call, const std::vector<Tensor>& results,
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

// What is written by the call is no leaf.
std::set<const bp_tensor*> written_by(const Operator& op, const Sample& sample) {
  std::set<const bp_tensor*> written;
  for (std::size_t i = 0; i < sample.args.size(); ++i)
    if (sample.args[i].tag == BP_TENSOR && (op.mutates >> i & 1u))
      written.insert(sample.args[i].u.tensor);
  return written;
}

void write_call(Writer& writer, Operator& op, const Sample& sample, Dtype dtype,
                std::uint32_t variant) {
  std::map<const bp_tensor*, Tensor> others;
  std::vector<Tensor> leaves;
  const std::set<const bp_tensor*> written = written_by(op, sample);
  for (const Tensor& tensor : sample.tensors) {
    const bp_tensor* const key = &tensor.impl()->abi;
    if (tensor.numel() > most_elements) return;
    if (!is_differentiable(tensor) || others.contains(key) || written.contains(key)) continue;
    const Tensor leaf = copy(tensor);
    leaves.push_back(set_requires_grad(leaf));
    others[key] = leaf;
  }
  ordered_json call{{"row", op.name()},
                    {"tolerance", op.tolerance},
                    {"recipe", sample.recipe},
                    {"dtype", name(dtype)},
                    {"variant", variant}};
  const Rewired rewired(sample, others);
  for (const bp_value& value : rewired.args()) call["args"].push_back(argument(writer, value));
  std::vector<Tensor> results;
  try {
    results = call_boxed(op, rewired.args());
    differentiate(writer, call, results, leaves);
  } catch (const Error& error) {
    call["error"] = error.what();
  }
  call["results"] = ordered_json::array();
  for (const Tensor& result : results) call["results"].push_back(writer.tensor(result));
  writer.line(call);
}

void write_row(Writer& writer, Operator& op) {
  writer.line({{"schema", op.schema->text}, {"row", op.name()}});
  for (Dtype dtype : {f32, f64, i64, boolean, complex128}) {
    if (!contains(op.dtypes, dtype)) continue;
    for (std::uint32_t variant = 0; variant < num_variants; ++variant)
      for (const Sample& sample : samples_of(op, dtype, device("cpu"), variant))
        write_call(writer, op, sample, dtype, variant);
  }
}

int write_all(const std::string& file) {
  Writer writer(file);
  device("cpu");
  for (Operator* op : registered_operators())
    if (find_row_facts(op->name())) write_row(writer, *op);
  if (writer.is_good()) return 0;
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

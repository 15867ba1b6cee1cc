// Calls of every row under Autocast("cpu"), with the dtypes that came of them, for compare_casts.py: `write_casts FILE` writes
// FILE.json, a line for each call, and FILE.bin, the tensors' elements. Each sample in float32, in bfloat16, and with its
// first tensor in bfloat16.
#include <iostream>
#include <set>

#include <backplane/amp/autocast.hpp>
#include <backplane/core_ops/cast_rules.hpp>
#include <backplane/samples/row_facts.hpp>

#include "core_ops/rewired.hpp"
#include "core_ops/written.hpp"
#include "pytorch/call_writer.hpp"

namespace bp::test {
namespace {

using nlohmann::ordered_json;

constexpr std::int64_t most_elements = 5'000;

enum class Given { wide, low, mixed };
const char* name_of(Given given) {
  return given == Given::wide ? "float32" : given == Given::low ? "bfloat16" : "mixed";
}

// The sample's tensors in the dtypes that are to be tried. What the call writes keeps its dtype, as running statistics do.
std::map<const bp_tensor*, Tensor> others_of(const Operator& op, const Sample& sample,
                                             Given given) {
  std::map<const bp_tensor*, Tensor> others;
  std::set<const bp_tensor*> written;
  for (const Tensor& tensor : written_by(op, sample.args)) written.insert(&tensor.impl()->abi);
  for (const Tensor& tensor : sample.tensors) {
    const bp_tensor* const key = &tensor.impl()->abi;
    if (given == Given::wide || tensor.dtype() != f32 || written.contains(key)) continue;
    others[key] = cast(tensor, bf16);
    if (given == Given::mixed) break;
  }
  return others;
}

void write_call(CallWriter& writer, Operator& op, const Sample& sample, Given given) {
  for (const Tensor& tensor : sample.tensors)
    if (tensor.numel() > most_elements) return;
  const auto others = others_of(op, sample, given);
  const Rewired rewired(sample, others);
  ordered_json call{{"row", op.name()},
                    {"tolerance", "exact"},
                    {"recipe", sample.recipe},
                    {"dtype", name_of(given)},
                    {"results", ordered_json::array()},
                    {"dtypes", ordered_json::array()}};
  for (const bp_value& value : rewired.args()) call["args"].push_back(writer.argument(value));
  try {
    const amp::Autocast scope("cpu");
    for (const Tensor& result : call_boxed(op, rewired.args()))
      call["dtypes"].push_back(result.defined() ? ordered_json(name(result.dtype()))
                                                : ordered_json());
  } catch (const Error& error) {
    call["error"] = error.what();
  }
  writer.line(call);
}

int write_all(const std::string& file) {
  CallWriter writer(file);
  const Device cpu_device = device("cpu");
  for (Operator* op : registered_operators()) {
    if (!find_row_facts(op->name()) || op->schema->returns.empty()) continue;
    writer.line(
        {{"schema", op->schema->text}, {"row", op->name()}, {"cast", name(cast_rule_of(*op))}});
    for (const Sample& sample : samples_of(*op, usual_dtype_of(*op), cpu_device))
      for (const Given given : {Given::wide, Given::low, Given::mixed})
        write_call(writer, *op, sample, given);
  }
  if (writer.flush()) return 0;
  std::cerr << "write_casts: " << file << ".json and .bin cannot be written\n";
  return 1;
}

}  // namespace
}  // namespace bp::test

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: write_casts FILE\n";
    return 1;
  }
  try {
    return bp::test::write_all(argv[1]);
  } catch (const std::exception& error) {
    std::cerr << "write_casts: " << error.what() << '\n';
    return 1;
  }
}

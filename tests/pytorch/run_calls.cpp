// Runs calls that Python wrote, for compare_opinfo.py: `run_calls CALLS RESULTS [DEVICE [FIRST]]`. CALLS.json has a call
// in each line, CALLS.bin the elements of its tensors; RESULTS.json and .bin get what came of each call, written before
// the next one begins, so that a call that ends the process is the first without a line. FIRST lines are skipped. `run_calls --forms`
// tells the functions that it knows beside the rows.
#include <deque>
#include <iostream>

#include <backplane/dispatcher/operator_source.hpp>

#include "pytorch/call_reader.hpp"
#include "pytorch/call_writer.hpp"
#include "pytorch/forms.hpp"

namespace bp::test {
namespace {

using nlohmann::ordered_json;

// One call's arguments. What values point to lives here.
class Arguments : public TensorReader {
 public:
  using TensorReader::TensorReader;

  bp_value value(const ordered_json& entry) {
    if (entry.is_null()) return {};
    const std::string& kind = entry.begin().key();
    const ordered_json& said = entry.begin().value();
    if (kind == "tensor") return value_of(tensors_.emplace_back(tensor(said)));
    if (kind == "tensors") return tensor_list(said);
    if (kind == "integer") return value_of(said.get<std::int64_t>());
    if (kind == "boolean") return value_of(said.get<bool>());
    if (kind == "real") return value_of(real_of(said));
    if (kind == "complex") return complex(said);
    if (kind == "text") return value_of(std::string_view(texts_.emplace_back(said)));
    if (kind == "integers") return value_of(IntList(integers_.emplace_back(said)));
    if (kind == "reals") return real_list(said);
    if (kind == "dtype") return value_of(dtype_from_name(said.get<std::string>()));
    throw std::runtime_error("run_calls: an argument of the unknown kind '" + kind + "'");
  }

 private:
  bp_value complex(const ordered_json& said) {
    const std::vector<double>& pair =
        reals_.emplace_back(std::vector{real_of(said[0]), real_of(said[1])});
    bp_value value{};
    value.tag = BP_COMPLEX;
    value.u.ptr = pair.data();
    return value;
  }
  bp_value real_list(const ordered_json& said) {
    std::vector<double>& list = reals_.emplace_back();
    for (const ordered_json& one : said) list.push_back(real_of(one));
    bp_value value{};
    value.tag = BP_DOUBLE_LIST;
    value.aux = static_cast<std::uint32_t>(list.size());
    value.u.ptr = list.data();
    return value;
  }
  bp_value tensor_list(const ordered_json& said) {
    std::vector<Tensor> list;
    for (const ordered_json& one : said) list.push_back(tensor(one));
    tensors_.insert(tensors_.end(), list.begin(), list.end());
    return lists_.emplace_back(std::span<const Tensor>(list)).value();
  }

  std::deque<Tensor> tensors_;
  std::deque<TensorListValue> lists_;
  std::deque<std::string> texts_;
  std::deque<std::vector<std::int64_t>> integers_;
  std::deque<std::vector<double>> reals_;
};

std::vector<bp_value> in_order(const Schema& schema, const ordered_json& named, Arguments& made) {
  std::vector<bp_value> values;
  for (const SchemaArgument& argument : schema.arguments) {
    const auto given = named.find(argument.name);
    values.push_back(given == named.end() ? argument.default_value : made.value(*given));
  }
  return values;
}

std::vector<Tensor> results_of(const ordered_json& call, Arguments& made) {
  const std::string row = call["row"];
  if (const Form* const form = find_form(row)) {
    Schema schema;
    parse_schema(form->schema, schema);
    return form->call(Given(in_order(schema, call["args"], made)));
  }
  Operator* const op = find_operator(row);
  if (!op) throw std::runtime_error(row + ": there is no such row");
  return call_boxed(*op, in_order(*op->schema, call["args"], made));
}

// Of the results that have a weight.
void differentiate(CallWriter& writer, ordered_json& line, const ordered_json& call,
                   const std::vector<Tensor>& results, Arguments& made) {
  std::vector<Tensor> outputs, weights;
  for (std::size_t i = 0; i < std::min(results.size(), call["weights"].size()); ++i) {
    if (call["weights"][i].is_null() || !requires_grad(results[i])) continue;
    outputs.push_back(results[i]);
    weights.push_back(made.tensor(call["weights"][i]));
  }
  line["gradients"] = ordered_json::array();
  if (outputs.empty()) {
    for (std::size_t i = 0; i < made.leaves().size(); ++i) line["gradients"].push_back(nullptr);
    return;
  }
  for (const Tensor& gradient : autograd::grad(outputs, made.leaves(), weights, {}, true))
    line["gradients"].push_back(writer.tensor(gradient));
}

void run_call(CallWriter& writer, const ordered_json& call, Arguments& made) {
  ordered_json line = ordered_json::object();
  try {
    const std::vector<Tensor> results = results_of(call, made);
    ordered_json written = ordered_json::array();
    for (const Tensor& result : results) written.push_back(writer.tensor(result));
    line["results"] = written;
    if (call.contains("weights")) differentiate(writer, line, call, results, made);
  } catch (const std::exception& error) {
    line[line.contains("results") ? "gradient_error" : "error"] = error.what();
  }
  writer.line(line);
}

// {name: schema}
int tell_forms() {
  ordered_json told;
  for (const Form& form : forms()) told[Schema::name_in(form.schema)] = form.schema;
  std::cout << told.dump() << '\n';
  return 0;
}

int run_all(const std::string& calls, const std::string& results, const std::string& where,
            int first) {
  ensure_operators();
  const Device on = device(where);
  const std::vector<char> elements = bytes_of(calls + ".bin");
  CallWriter writer(results);
  std::ifstream lines(calls + ".json");
  std::string line;
  for (int number = 0; std::getline(lines, line); ++number) {
    if (number < first) continue;
    Arguments made(elements, on);
    run_call(writer, ordered_json::parse(line), made);
    if (!writer.flush()) throw std::runtime_error(results + ".json and .bin cannot be written");
  }
  return 0;
}

}  // namespace
}  // namespace bp::test

int main(int argc, char** argv) {
  if (argc == 2 && argv[1] == std::string_view("--forms")) return bp::test::tell_forms();
  if (argc < 3 || argc > 5) {
    std::cerr << "usage: run_calls CALLS RESULTS [DEVICE [FIRST]] | run_calls --forms\n";
    return 1;
  }
  try {
    return bp::test::run_all(argv[1], argv[2], argc > 3 ? argv[3] : "cpu",
                             argc > 4 ? std::stoi(argv[4]) : 0);
  } catch (const std::exception& error) {
    std::cerr << "run_calls: " << error.what() << '\n';
    return 1;
  }
}

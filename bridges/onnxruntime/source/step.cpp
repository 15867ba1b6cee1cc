// Matching nodes with entries, and calling these.
#include "step.hpp"

#include <algorithm>
#include <unordered_map>

#include <backplane/backplane.hpp>
#include <backplane/dispatcher/registry.hpp>
#include <backplane/runtime/allocator.hpp>
#include <backplane/runtime/device_registry.hpp>

namespace bp::onnx {
namespace {

struct Known {
  Entry entry;
  std::shared_ptr<const Schema> schema;
};

const std::unordered_multimap<std::string, Known>& known() {
  static const auto once = [] {
    std::unordered_multimap<std::string, Known> map;
    for (const Entry& entry : all_entries()) {
      auto schema = std::make_shared<Schema>();
      parse_schema(entry.schema, *schema);
      map.emplace(entry.onnx, Known{entry, std::move(schema)});
    }
    return map;
  }();
  return once;
}

bool is_default_domain(const std::string& domain) {
  return domain.empty() || domain == "ai.onnx";
}

// ONNX's number of a dtype as ours; -1 for what we lack.
std::int64_t our_dtype(std::int64_t type) {
  const std::optional<Dtype> dtype = dtype_of(static_cast<int>(type));
  return dtype ? static_cast<std::int64_t>(index(*dtype)) : -1;
}

template <class T>
void widen(const void* bytes, std::size_t count, std::vector<std::int64_t>& out) {
  const T* numbers = static_cast<const T*>(bytes);
  out.assign(numbers, numbers + count);
}

// The tensor's whole numbers, on the host.
std::shared_ptr<const std::vector<std::int64_t>> fetch(const Tensor& tensor) {
  auto numbers = std::make_shared<std::vector<std::int64_t>>();
  const auto count = static_cast<std::size_t>(tensor.numel());
  if (count == 0) return numbers;
  std::vector<std::int64_t> words((tensor.nbytes() + 7) / 8);
  copy_to_host_memory(tensor, words.data());
  switch (tensor.dtype()) {
    case i64:
      words.resize(count);
      *numbers = std::move(words);
      break;
    case i32: widen<std::int32_t>(words.data(), count, *numbers); break;
    case i16: widen<std::int16_t>(words.data(), count, *numbers); break;
    case u8: widen<std::uint8_t>(words.data(), count, *numbers); break;
    case i8: widen<std::int8_t>(words.data(), count, *numbers); break;
    case boolean: widen<bool>(words.data(), count, *numbers); break;
    default:
      throw Error(ErrorClass::bad_argument, "expected whole numbers, got a tensor of " +
                                                std::string(bp::name(tensor.dtype())));
  }
  return numbers;
}

const std::shared_ptr<const std::vector<std::int64_t>>& whole_numbers(Value& value) {
  if (!value.whole) value.whole = fetch(value.tensor);
  return value.whole;
}

std::int64_t only_number(const std::vector<std::int64_t>& numbers, const std::string& name) {
  if (numbers.size() != 1)
    throw Error(ErrorClass::bad_argument,
                name + " is one number, got " + std::to_string(numbers.size()));
  return numbers[0];
}

std::vector<double> reals_of(const Tensor& tensor) {
  const Tensor wide = to(tensor, f64);
  std::vector<double> numbers(static_cast<std::size_t>(wide.numel()));
  if (!numbers.empty()) copy_to_host_memory(wide, numbers.data());
  return numbers;
}

bp_value value_of_reals(const std::vector<double>& numbers) {
  bp_value value{};
  value.tag = BP_DOUBLE_LIST;
  value.aux = static_cast<std::uint32_t>(numbers.size());
  value.u.ptr = numbers.data();
  return value;
}

}  // namespace

struct Step::Frame {
  std::vector<bp_value> values;
  std::vector<const bp_tensor*> pointers;
  std::vector<std::shared_ptr<const std::vector<std::int64_t>>> lists;
  std::vector<std::vector<double>> reals;
  std::vector<Scalar> numbers;
};

std::unique_ptr<Step> Step::make(const GraphNode& node, Device device, std::string& why) {
  if (!is_default_domain(node.domain)) return why = "it is of the domain " + node.domain, nullptr;
  if (node.has_subgraphs) return why = "it has graphs of its own", nullptr;
  NodeFacts facts;
  facts.version = node.version;
  facts.device = device;
  for (const GraphValue& value : node.inputs) facts.inputs.push_back(value.facts);
  for (const GraphValue& value : node.outputs) facts.results.push_back(value.facts);
  for (const auto* list : {&facts.inputs, &facts.results})
    for (const ValueFacts& value : *list)
      if (value.exists && !value.dtype)
        return why = "a value is not a tensor of numbers that Backplane has", nullptr;
  const auto [begin, end] = known().equal_range(node.type);
  why = begin == end ? "no row or recipe has it" : "";
  for (auto each = begin; each != end; ++each) {
    const auto& [entry, schema] = each->second;
    if (node.version < entry.since || node.version > entry.until) {
      if (why.empty())
        why = "version " + std::to_string(node.version) + " of the operator is not known";
      continue;
    }
    if (!facts.inputs.empty() && facts.inputs[0].exists &&
        !contains(entry.dtypes, *facts.inputs[0].dtype)) {
      why = "not of " + std::string(bp::name(*facts.inputs[0].dtype));
      continue;
    }
    std::unique_ptr<Step> step(new Step);
    step->entry_ = &entry;
    step->schema_ = schema;
    step->facts_ = facts;
    step->name_ = name_of(node);
    try {
      if (step->bind(node, why)) return step;
    } catch (const Error& error) {
      why = error.what();
    }
  }
  return nullptr;
}

bool Step::bind(const GraphNode& node, std::string& why) {
  if (entry_->row) {
    row_ = find_operator(entry_->row);
    if (!row_) return why = "the row " + std::string(entry_->row) + " is missing", false;
  }
  const auto& arguments = schema_->arguments;
  prepared_.resize(arguments.size());
  sources_.resize(arguments.size());
  std::size_t input = 0;
  for (std::size_t place = 0; place < arguments.size(); ++place) {
    const SchemaArgument& argument = arguments[place];
    if (argument.has_default) prepared_[place] = argument.default_value;
    if (argument.keyword_only) {
      const auto found =
          std::find_if(node.attributes.begin(), node.attributes.end(),
                       [&](const Attribute& each) { return each.name == argument.name; });
      if (found != node.attributes.end()) {
        if (!bind_attribute(argument, *found, place, why)) return false;
      } else if (!argument.has_default && !argument.optional) {
        return why = "it has no attribute " + argument.name, false;
      }
      continue;
    }
    Source& source = sources_[place];
    source.input = static_cast<int>(input);
    if (argument.type == ArgumentType::tensor_list) {
      source.kind = Source::tensors;
      input = node.inputs.size();
      continue;
    }
    const bool is_there = input < node.inputs.size() && node.inputs[input].facts.exists;
    ++input;
    if (!is_there) {
      if (!argument.optional && !argument.has_default)
        return why = "it has no input " + argument.name, false;
      continue;
    }
    const GraphValue& given = node.inputs[input - 1];
    switch (argument.type) {
      case ArgumentType::tensor: source.kind = Source::tensor; break;
      case ArgumentType::integer_list: source.kind = Source::wholes; break;
      case ArgumentType::real_list: source.kind = Source::numbers; break;
      case ArgumentType::integer:
      case ArgumentType::boolean: source.kind = Source::whole; break;
      default: source.kind = Source::number;
    }
    if (given.constant && source.kind != Source::tensor)
      bind_constant(borrow(given.constant, host_device()), place);
  }
  if (input < node.inputs.size()) return why = "it has more inputs than are known", false;
  for (const Attribute& attribute : node.attributes)
    if (schema_->find(attribute.name) < 0)
      return why = "its attribute " + attribute.name + " is not known", false;
  if (!schema_->returns_list() && node.outputs.size() > schema_->returns.size()) {
    for (std::size_t i = schema_->returns.size(); i < node.outputs.size(); ++i)
      if (node.outputs[i].facts.exists) return why = "it has more results than are known", false;
  }
  if (entry_->accepts && !entry_->accepts(Arguments(prepared_.data(), facts_)))
    return why = "its attributes or shapes are not served", false;
  return true;
}

void Step::bind_constant(const Tensor& constant, std::size_t place) {
  Source& source = sources_[place];
  stored_.push_back(std::make_unique<Stored>());
  Stored& stored = *stored_.back();
  if (source.kind == Source::numbers) {
    stored.reals = reals_of(constant);
    prepared_[place] = value_of_reals(stored.reals);
  } else if (source.kind == Source::number) {
    stored.number = item<Scalar>(constant);
    prepared_[place] = value_of(stored.number);
  } else {
    stored.ints = *fetch(constant);
    prepared_[place] = source.kind == Source::wholes
                           ? value_of(IntList(stored.ints.data(), stored.ints.size()))
                           : value_of(only_number(stored.ints, schema_->arguments[place].name));
  }
  source.kind = Source::prepared;
}

bool Step::bind_attribute(const SchemaArgument& argument, const Attribute& attribute,
                          std::size_t place, std::string& why) {
  stored_.push_back(std::make_unique<Stored>());
  Stored& stored = *stored_.back();
  bp_value& value = prepared_[place];
  const auto wrong = [&] {
    return why = "its attribute " + argument.name + " is of another type", false;
  };
  switch (argument.type) {
    case ArgumentType::integer:
      if (attribute.ints.size() != 1) return wrong();
      value = value_of(attribute.ints[0]);
      return true;
    case ArgumentType::boolean:
      if (attribute.ints.size() != 1) return wrong();
      value = value_of(attribute.ints[0] != 0);
      return true;
    case ArgumentType::dtype: {
      if (attribute.ints.size() != 1) return wrong();
      if (attribute.ints[0] == 0) return true;
      const std::int64_t dtype = our_dtype(attribute.ints[0]);
      if (dtype < 0) return why = "it makes numbers that Backplane lacks", false;
      value = value_of(static_cast<Dtype>(dtype));
      return true;
    }
    case ArgumentType::integer_list:
      stored.ints = attribute.ints;
      value = value_of(IntList(stored.ints.data(), stored.ints.size()));
      return true;
    case ArgumentType::scalar:
    case ArgumentType::real:
      if (attribute.reals.size() == 1)
        value = value_of(attribute.reals[0]);
      else if (attribute.ints.size() == 1)
        value = value_of(attribute.ints[0]);
      else
        return wrong();
      return true;
    case ArgumentType::real_list:
      stored.reals = attribute.reals;
      value = value_of_reals(stored.reals);
      return true;
    case ArgumentType::string:
      stored.text = attribute.text;
      value = value_of(std::string_view(stored.text));
      return true;
    case ArgumentType::tensor:
      if (!attribute.tensor.defined()) return wrong();
      stored.tensor = to(attribute.tensor, facts_.device);
      value = value_of(stored.tensor);
      return true;
    default: return wrong();
  }
}

void Step::fill(Frame& frame, std::span<Value* const> inputs) const {
  frame.values = prepared_;
  // What values point to stays where it is.
  frame.pointers.reserve(inputs.size());
  frame.reals.reserve(sources_.size());
  frame.numbers.reserve(sources_.size());
  for (std::size_t place = 0; place < sources_.size(); ++place) {
    const Source& source = sources_[place];
    bp_value& value = frame.values[place];
    const auto input = static_cast<std::size_t>(source.input);
    switch (source.kind) {
      case Source::prepared: break;
      case Source::tensor: value = value_of(inputs[input]->tensor); break;
      case Source::tensors: {
        const std::size_t begin = frame.pointers.size();
        for (std::size_t i = input; i < inputs.size(); ++i)
          frame.pointers.push_back(
              inputs[i] && inputs[i]->tensor.defined() ? &inputs[i]->tensor.impl()->abi : nullptr);
        value = bp_value{};
        value.tag = BP_TENSOR_LIST;
        value.aux = static_cast<std::uint32_t>(inputs.size() - input);
        value.u.ptr = frame.pointers.data() + begin;
        break;
      }
      case Source::wholes:
        frame.lists.push_back(whole_numbers(*inputs[input]));
        value = value_of(IntList(frame.lists.back()->data(), frame.lists.back()->size()));
        break;
      case Source::whole:
        value =
            value_of(only_number(*whole_numbers(*inputs[input]), schema_->arguments[place].name));
        break;
      case Source::numbers:
        frame.reals.push_back(reals_of(inputs[input]->tensor));
        value = value_of_reals(frame.reals.back());
        break;
      case Source::number:
        frame.numbers.push_back(item<Scalar>(inputs[input]->tensor));
        value = value_of(frame.numbers.back());
        break;
    }
  }
}

void Step::run(std::span<Value* const> inputs, std::span<Value> results) const {
  Frame frame;
  fill(frame, inputs);
  std::vector<Tensor> made;
  if (row_) {
    made = call_all(*row_, frame.values.data(), static_cast<std::uint32_t>(frame.values.size()));
  } else {
    entry_->run(Arguments(frame.values.data(), facts_), made);
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!facts_.results[i].exists) continue;
    if (i >= made.size() || !made[i].defined())
      throw Error(ErrorClass::unsupported, "no result " + std::to_string(i));
    const Dtype wanted = *facts_.results[i].dtype;
    results[i].tensor = made[i].dtype() == wanted ? std::move(made[i]) : to(made[i], wanted);
  }
}

std::vector<const Entry*> known_entries() {
  std::vector<const Entry*> list;
  for (const auto& [name, each] : known()) list.push_back(&each.entry);
  return list;
}

}  // namespace bp::onnx

// Boxed calls: arguments as a stack of values, checked against the schema.
#include <backplane/dispatcher/argument_check.hpp>
#include <backplane/dispatcher/call.hpp>
#include <backplane/dispatcher/operator_source.hpp>
#include <backplane/dispatcher/registry.hpp>
#include <backplane/tensor/check.hpp>

namespace bp {
namespace {

constexpr const char* tag_names[] = {"None",    "Tensor", "int",      "float",   "bool",
                                     "complex", "str",    "int[]",    "float[]", "Tensor[]",
                                     "Dtype",   "Device", "Generator"};

const char* tag_name(std::uint32_t tag) {
  return tag < std::size(tag_names) ? tag_names[tag] : "a value of unknown tag";
}

const char* type_name(const SchemaArgument& argument) {
  static constexpr const char* names[] = {"Tensor", "Tensor[]", "Scalar",  "int",
                                          "int[]",  "float",    "float[]", "bool",
                                          "str",    "Dtype",    "Device",  "Generator"};
  return argument.holes ? "Tensor?[]" : names[static_cast<unsigned>(argument.type)];
}

bool is_number(std::uint32_t tag) {
  return tag == BP_INT || tag == BP_DOUBLE || tag == BP_BOOLEAN || tag == BP_COMPLEX;
}

// Is it an address?
bool points(std::uint32_t tag) {
  return tag == BP_TENSOR || tag == BP_TENSOR_LIST || tag == BP_STRING || tag == BP_INT_LIST ||
         tag == BP_DOUBLE_LIST || tag == BP_COMPLEX || tag == BP_GENERATOR;
}

bool fits(const SchemaArgument& argument, const bp_value& value, bool scalar_ok) {
  if (value.tag == BP_NONE) return argument.optional;
  switch (argument.type) {
    case ArgumentType::tensor: return value.tag == BP_TENSOR || (scalar_ok && is_number(value.tag));
    case ArgumentType::tensor_list:
      return value.tag == BP_TENSOR_LIST || (scalar_ok && is_number(value.tag));
    case ArgumentType::scalar: return is_number(value.tag);
    case ArgumentType::integer: return value.tag == BP_INT;
    case ArgumentType::integer_list: return value.tag == BP_INT_LIST;
    case ArgumentType::real: return value.tag == BP_DOUBLE || value.tag == BP_INT;
    case ArgumentType::real_list: return value.tag == BP_DOUBLE_LIST;
    case ArgumentType::boolean: return value.tag == BP_BOOLEAN;
    case ArgumentType::string: return value.tag == BP_STRING;
    case ArgumentType::dtype: return value.tag == BP_DTYPE;
    case ArgumentType::device: return value.tag == BP_DEVICE;
    case ArgumentType::generator: return value.tag == BP_GENERATOR;
  }
  return false;
}

void check_argument(const Operator& op, std::size_t place, const bp_value& value) {
  const SchemaArgument& argument = op.schema->arguments[place];
  BP_CHECK(fits(argument, value, op.scalar_ok >> place & 1u),
           "{}: argument '{}' takes {}{}, got {}; the schema is {}", op.name(), argument.name,
           type_name(argument), argument.optional ? " or None" : "", tag_name(value.tag),
           op.schema->text);
  const bool is_one = value.tag == BP_TENSOR || value.tag == BP_GENERATOR;
  BP_CHECK(!points(value.tag) || value.u.ptr || (value.aux == 0 && !is_one),
           "{}: argument '{}' is a {} at NULL; pass the address of one", op.name(), argument.name,
           tag_name(value.tag));
}

}  // namespace

void check_arguments(const Operator& op, std::span<const bp_value> args) {
  if (!op.registered.load(std::memory_order_acquire)) ensure_operators();
  BP_CHECK(args.size() == op.schema->arguments.size(),
           "{}: takes {} arguments, got {}; the schema is {}", op.name(),
           op.schema->arguments.size(), args.size(), op.schema->text);
  for (std::size_t i = 0; i < args.size(); ++i) check_argument(op, i, args[i]);
}

TensorListValue::TensorListValue(std::span<const Tensor> tensors) {
  pointers_.reserve(tensors.size());
  for (const Tensor& tensor : tensors)
    pointers_.push_back(tensor.defined() ? &tensor.impl()->abi : nullptr);
}

bp_value TensorListValue::value() const {
  bp_value v{};
  v.tag = BP_TENSOR_LIST;
  v.aux = static_cast<std::uint32_t>(pointers_.size());
  v.u.ptr = pointers_.data();
  return v;
}

namespace {

constexpr std::size_t most_arguments = 64;  // of a schema

// What most arguments are: told without a call.
inline bool is_tensor_for(const SchemaArgument& argument, const bp_value& value) {
  return value.tag == BP_TENSOR && argument.type == ArgumentType::tensor && value.u.tensor;
}

inline void check_has_default(const Operator& op, const SchemaArgument& argument) {
  BP_CHECK(argument.has_default || argument.optional,
           "{}: argument '{}' is missing; the schema is {}", op.name(), argument.name,
           op.schema->text);
}

// All arguments of the call in schema order: those given, checked, and the defaults of the others.
std::uint32_t complete(const Operator& op, std::span<const bp_value> args, bp_value* values) {
  if (!op.registered.load(std::memory_order_acquire)) ensure_operators();
  const SchemaArgument* argument = op.schema->arguments.data();
  const std::size_t count = op.schema->arguments.size();
  BP_CHECK(args.size() <= count, "{}: takes {} arguments, got {}; the schema is {}", op.name(),
           count, args.size(), op.schema->text);
  for (std::size_t i = 0; i < count; ++i, ++argument) {
    const bool is_given = i < args.size() && args[i].tag != default_argument;
    if (is_given && !is_tensor_for(*argument, args[i])) check_argument(op, i, args[i]);
    if (!is_given) check_has_default(op, *argument);
    values[i] = is_given ? args[i] : argument->default_value;
    if (argument->type == ArgumentType::real && values[i].tag == BP_INT)
      values[i] = value_of(static_cast<double>(values[i].u.i));
  }
  return static_cast<std::uint32_t>(count);
}

// Of an operator with one result, by the shortest path that there is for its kind.
void call_for_one(Operator& op, bp_value* values, std::uint32_t count, Tensor& result) {
  if (op.kind == BP_KIND_POINTWISE) {
    if (result.defined())
      call_pointwise_into(op, values, count, result);
    else
      result = call_pointwise(op, values, count);
  } else if (result.defined()) {
    call_one_into(op, values, count, result);
  } else {
    result = op.view ? call_view(op, values, count) : call_one(op, values, count);
  }
}

}  // namespace

std::vector<Tensor> call_boxed(Operator& op, std::span<const bp_value> args) {
  bp_value values[most_arguments];
  return call_all(op, values, complete(op, args, values));
}

void call_boxed(Operator& op, std::span<const bp_value> args, std::span<Tensor> results) {
  bp_value values[most_arguments];
  const std::uint32_t count = complete(op, args, values);
  if (results.size() == 1 && op.schema->returns.size() == 1 && !op.count) [[likely]]
    return call_for_one(op, values, count, results[0]);
  const std::uint32_t wanted = num_results_of(op, values, count);
  BP_CHECK(results.size() == wanted,
           "{}: there is room for {} results, and the call has {}; the schema is {}", op.name(),
           results.size(), wanted, op.schema->text);
  dispatch(Call{op, values, count, results.data(), wanted});
}

std::uint32_t num_boxed_results(Operator& op, std::span<const bp_value> args) {
  bp_value values[most_arguments];
  const std::uint32_t count = complete(op, args, values);
  return num_results_of(op, values, count);
}

std::vector<Tensor> call_boxed(std::string_view name, std::initializer_list<bp_value> args) {
  ensure_operators();
  Operator* op = find_operator(name);
  BP_CHECK(op, "{}: there is no operator of this name; 'backplane ops' lists them", name);
  return call_boxed(*op, std::span<const bp_value>(args.begin(), args.size()));
}

}  // namespace bp

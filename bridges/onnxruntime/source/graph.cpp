// Reading graphs of ONNX Runtime.
#include "graph.hpp"

#include <algorithm>

#include <backplane/backplane.hpp>
#include <backplane/runtime/allocator.hpp>

namespace bp::onnx {
namespace {

// By ONNX's number of the type.
constexpr std::optional<Dtype> dtypes_by_type[] = {
    std::nullopt, f32,          u8,      i8,        u16,          i16,     i32,
    i64,          std::nullopt, boolean, f16,       f64,          u32,     u64,
    complex64,    complex128,   bf16,    f8_e4m3fn, std::nullopt, f8_e5m2, std::nullopt};

template <class Count, class Get, class Element = const OrtValueInfo*, class Owner>
std::vector<Element> list_of(const Count& count, const Get& get, Owner* owner) {
  std::size_t size = 0;
  check(count(owner, &size));
  std::vector<Element> list(size);
  if (size > 0) check(get(owner, list.data(), size));
  return list;
}

std::string text_of(const OrtOpAttr* attribute, int type) {
  std::size_t bytes = 0;
  if (OrtStatus* status = ort::read_attribute(attribute, type, nullptr, 0, &bytes))
    ort::release_status(status);
  std::string text(bytes, '\0');
  check(ort::read_attribute(attribute, type, text.data(), bytes, &bytes));
  while (!text.empty() && text.back() == '\0') text.pop_back();
  return text;
}

template <class T> std::vector<T> numbers_of(const OrtOpAttr* attribute, int type) {
  std::size_t bytes = 0;
  if (OrtStatus* status = ort::read_attribute(attribute, type, nullptr, 0, &bytes))
    ort::release_status(status);
  std::vector<T> numbers(bytes / sizeof(T));
  if (!numbers.empty()) check(ort::read_attribute(attribute, type, numbers.data(), bytes, &bytes));
  return numbers;
}

// Undefined for what is not a tensor of our numbers, such as strings.
Tensor tensor_of(const OrtOpAttr* handle) {
  OrtValue* value = nullptr;
  check(ort::tensor_of_attribute(handle, &value));
  const struct Release {
    OrtValue* value;
    ~Release() { ort::release_value(value); }
  } release{value};
  try {
    return clone(borrow(value, host_device()));
  } catch (const RuntimeFailure&) {
    return {};
  }
}

Attribute read_attribute(const OrtOpAttr* handle) {
  Attribute attribute;
  const char* name = nullptr;
  check(ort::attribute_name(handle, &name));
  attribute.name = name;
  check(ort::attribute_type(handle, &attribute.type));
  switch (attribute.type) {
    case int_attribute:
    case ints_attribute: attribute.ints = numbers_of<std::int64_t>(handle, attribute.type); break;
    case float_attribute:
    case floats_attribute:
      for (const float each : numbers_of<float>(handle, attribute.type))
        attribute.reals.push_back(each);
      break;
    case string_attribute: attribute.text = text_of(handle, attribute.type); break;
    case tensor_attribute: attribute.tensor = tensor_of(handle); break;
    default: break;
  }
  return attribute;
}

GraphValue read_value(const OrtValueInfo* handle) {
  GraphValue value;
  if (!handle) return value;
  const char* name = nullptr;
  check(ort::value_name(handle, &name));
  value.name = name;
  if (value.name.empty()) return value;
  value.facts.exists = true;
  const OrtTypeInfo* type = nullptr;
  check(ort::value_type(handle, &type));
  const OrtTensorTypeAndShapeInfo* tensor = nullptr;
  if (type) check(ort::tensor_info_of_type(type, &tensor));
  if (tensor) {
    int element = 0;
    check(ort::element_type(tensor, &element));
    value.facts.dtype = dtype_of(element);
    std::size_t ndim = 0;
    check(ort::num_dimensions(tensor, &ndim));
    value.facts.shape.resize(ndim);
    if (ndim > 0) check(ort::dimensions(tensor, value.facts.shape.data(), ndim));
    value.facts.ndim = static_cast<std::int64_t>(ndim);
  }
  bool is_constant = false;
  check(ort::is_constant(handle, &is_constant));
  if (is_constant) check(ort::initializer_value(handle, &value.constant));
  value.facts.is_constant = value.constant != nullptr;
  return value;
}

}  // namespace

void check(OrtStatus* status) {
  if (!status) return;
  const std::string message = ort::error_message(status);
  ort::release_status(status);
  throw RuntimeFailure(message);
}

OrtStatus* status_of_current_exception() noexcept {
  try {
    throw;
  } catch (const std::exception& error) {
    return ort::create_status(failed, error.what());
  } catch (...) {
    return ort::create_status(failed, "backplane: an unknown error");
  }
}

std::optional<Dtype> dtype_of(int element_type) {
  if (element_type < 0 || element_type >= static_cast<int>(std::size(dtypes_by_type)))
    return std::nullopt;
  return dtypes_by_type[element_type];
}

TensorFacts tensor_facts(const OrtValue* value) {
  OrtTensorTypeAndShapeInfo* info = nullptr;
  check(ort::tensor_info_of_value(value, &info));
  const struct Release {
    OrtTensorTypeAndShapeInfo* info;
    ~Release() { ort::release_tensor_info(info); }
  } release{info};
  int element = 0;
  check(ort::element_type(info, &element));
  std::size_t ndim = 0;
  check(ort::num_dimensions(info, &ndim));
  Dims shape(ndim, 0), strides(ndim, 1);
  if (ndim > 0) check(ort::dimensions(info, shape.data(), ndim));
  for (std::size_t i = ndim; i-- > 1;)
    strides[i - 1] = strides[i] * std::max<std::int64_t>(shape[i], 1);
  const std::optional<Dtype> dtype = dtype_of(element);
  if (!dtype)
    throw RuntimeFailure("backplane: a tensor of ONNX's type " + std::to_string(element) +
                         ", which Backplane lacks");
  TensorFacts facts{*dtype, shape, strides};
  check(ort::mutable_data(const_cast<OrtValue*>(value), &facts.data));
  for (const std::int64_t size : shape) facts.is_empty |= size == 0;
  return facts;
}

Tensor borrow(const OrtValue* value, Device host) {
  const TensorFacts facts = tensor_facts(value);
  if (facts.is_empty) return empty_tensor(facts.shape, facts.dtype, host);
  return tensor_from_blob(facts.data, facts.shape, facts.strides, facts.dtype, host, nullptr,
                          nullptr);
}

std::string name_of(const GraphNode& node) {
  return node.type + (node.name.empty() ? "" : " '" + node.name + "'");
}

GraphNode read_node(const OrtNode* handle) {
  GraphNode node;
  node.handle = handle;
  const char* text = nullptr;
  check(ort::node_name(handle, &text));
  node.name = text;
  check(ort::operator_type(handle, &text));
  node.type = text;
  check(ort::operator_domain(handle, &text));
  node.domain = text;
  check(ort::since_version(handle, &node.version));
  const char* provider = nullptr;
  check(ort::provider_of_node(handle, &provider));
  node.is_taken = provider && *provider;
  std::size_t num_subgraphs = 0;
  check(ort::num_subgraphs(handle, &num_subgraphs));
  node.has_subgraphs = num_subgraphs > 0;
  for (const OrtValueInfo* value : list_of(ort::num_inputs, ort::inputs, handle))
    node.inputs.push_back(read_value(value));
  for (const OrtValueInfo* value : list_of(ort::num_outputs, ort::outputs, handle))
    node.outputs.push_back(read_value(value));
  if (node.has_subgraphs) return node;
  std::size_t count = 0;
  check(ort::num_attributes(handle, &count));
  std::vector<const OrtOpAttr*> attributes(count);
  if (count > 0) check(ort::attributes(handle, attributes.data(), count));
  for (const OrtOpAttr* attribute : attributes)
    node.attributes.push_back(read_attribute(attribute));
  return node;
}

std::vector<GraphNode> read_nodes(const OrtGraph* graph) {
  std::size_t count = 0;
  check(ort::num_nodes(graph, &count));
  std::vector<const OrtNode*> handles(count);
  if (count > 0) check(ort::nodes(graph, handles.data(), count));
  std::vector<GraphNode> nodes;
  for (const OrtNode* handle : handles) nodes.push_back(read_node(handle));
  return nodes;
}

}  // namespace bp::onnx

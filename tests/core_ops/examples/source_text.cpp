#include "source_text.hpp"

#include <complex>
#include <fmt/format.h>
#include <sstream>

#include <backplane/tensors.hpp>

namespace bp::test {
namespace {

const char* constant_of(Dtype dtype) {
  constexpr const char* names[] = {"boolean", "i8",  "i16", "i32",       "i64",
                                   "u8",      "u16", "u32", "u64",       "f16",
                                   "bf16",    "f32", "f64", "complex64", "complex128"};
  constexpr Dtype dtypes[] = {boolean, i8,  i16,  i32, i64, u8,        u16,       u32,
                              u64,     f16, bf16, f32, f64, complex64, complex128};
  for (std::size_t i = 0; i < std::size(dtypes); ++i)
    if (dtypes[i] == dtype) return names[i];
  return "?";
}

std::string real_text(double number) {
  if (std::isinf(number)) return number > 0 ? "INFINITY" : "-INFINITY";
  std::string text = fmt::format("{}", number);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

// Elements as literals, row-major.
std::vector<std::string> literals_of(const Tensor& tensor) {
  std::vector<std::string> literals;
  // Of float32, the shortest text that gives the number again.
  if (is_floating(tensor.dtype()) && tensor.dtype() != f64)
    for (const float number : to_vector<float>(to(tensor, f32)))
      literals.push_back(real_text(std::stod(fmt::format("{}", number))));
  else if (is_floating(tensor.dtype()))
    for (const double number : to_vector<double>(tensor)) literals.push_back(real_text(number));
  else
    for (const std::int64_t number : to_vector<std::int64_t>(to(tensor, i64)))
      literals.push_back(tensor.dtype() == boolean ? number ? "true" : "false"
                                                   : fmt::format("{}", number));
  return literals;
}

std::string nested(std::span<const std::string> literals, IntList shape) {
  if (shape.empty()) return literals[0];
  const IntList inner(shape.data() + 1, shape.size() - 1);
  const std::size_t step = literals.size() / static_cast<std::size_t>(shape[0]);
  std::string text;
  for (std::int64_t i = 0; i < shape[0]; ++i)
    text += fmt::format("{}{}", i ? ", " : "",
                        nested(literals.subspan(static_cast<std::size_t>(i) * step, step), inner));
  return "{" + text + "}";
}

std::string list_text(IntList list) {
  std::string text;
  for (const std::int64_t number : list)
    text += fmt::format("{}{}", text.empty() ? "" : ", ", number);
  return "{" + text + "}";
}

std::string tensor_text(const Tensor& tensor) {
  const Dtype dtype = tensor.dtype();
  if (is_complex(dtype))
    return fmt::format("view_as_complex({})", tensor_text(view_as_real(tensor)));
  const bool plain = dtype == f32 || dtype == i64 || dtype == boolean;
  if (tensor.numel() == 0)
    return fmt::format("zeros({}{})", list_text(tensor.shape()),
                       dtype == f32 ? "" : fmt::format(", {}", constant_of(dtype)));
  const std::string option = plain ? "" : fmt::format(", {{.dtype = {}}}", constant_of(dtype));
  const std::vector<std::string> literals = literals_of(tensor);
  if (tensor.ndim() <= 4)
    return fmt::format("tensor({}{})", nested(literals, tensor.shape()), option);
  const IntList flat{tensor.numel()};
  return fmt::format("reshape(tensor({}{}), {})", nested(literals, flat), option,
                     list_text(tensor.shape()));
}

// The text of a call in the making: lines that make its tensors, and its arguments.
struct Source {
  std::string lines;

  std::string tensor(const std::string& name, const bp_tensor* given) {
    if (!given) return "{}";
    lines += fmt::format("const Tensor {} = {};\n", name,
                         tensor_text(Tensor::share(TensorImpl::of(given))));
    return name;
  }
  std::string tensors(const std::string& name, const bp_value& value) {
    auto* listed = static_cast<const bp_tensor* const*>(value.u.ptr);
    std::string text;
    for (std::uint32_t k = 0; k < value.aux; ++k)
      text += (k ? ", " : "") + tensor(fmt::format("{}_{}", name, k), listed[k]);
    return "{" + text + "}";
  }
  std::string argument(const std::string& name, const bp_value& value) {
    switch (value.tag) {
      case BP_TENSOR: return tensor(name, value.u.tensor);
      case BP_TENSOR_LIST: return tensors(name, value);
      case BP_INT: return fmt::format("{}", value.u.i);
      case BP_DOUBLE: return real_text(value.u.f);
      case BP_BOOLEAN: return value.u.i ? "true" : "false";
      case BP_STRING:
        return fmt::format("\"{}\"",
                           std::string_view(static_cast<const char*>(value.u.ptr), value.aux));
      case BP_INT_LIST:
        return list_text({static_cast<const std::int64_t*>(value.u.ptr), value.aux});
      case BP_DTYPE: return constant_of(static_cast<Dtype>(value.u.i));
      case BP_DEVICE: return "host_device()";
      case BP_COMPLEX: {
        const std::complex<double> number = Scalar::from_value(value).to_complex();
        return fmt::format("std::complex({}, {})", real_text(number.real()),
                           real_text(number.imag()));
      }
      default: return "{}";
    }
  }
};

bool is_default(const SchemaArgument& argument, const bp_value& value) {
  if (!argument.has_default) return false;
  Source given, by_default;
  return given.argument("", value) == by_default.argument("", argument.default_value);
}

}  // namespace

std::string source_of(const Operator& op, std::span<const bp_value> args) {
  while (!args.empty() && args.back().tag != BP_TENSOR && args.back().tag != BP_TENSOR_LIST &&
         is_default(op.schema->arguments[args.size() - 1], args.back()))
    args = args.first(args.size() - 1);
  Source source;
  std::string list;
  for (std::size_t i = 0; i < args.size(); ++i)
    list += (i ? ", " : "") + source.argument(op.schema->arguments[i].name, args[i]);
  return fmt::format("{}{}({});", source.lines, op.name(), list);
}

std::string text_of(const Operator& op, const std::vector<Tensor>& results) {
  std::string text;
  const bool named = op.schema->returns.size() > 1;
  for (std::size_t i = 0; i < results.size(); ++i) {
    std::ostringstream printed;
    printed << results[i];
    if (i) text += "\n";
    if (named) text += op.schema->returns[i].name + ": ";
    std::string lines = printed.str();
    text += lines;
  }
  return text;
}

}  // namespace bp::test

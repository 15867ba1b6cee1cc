#include "judge/calls.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>

#include <backplane/core_ops/creation.hpp>
#include <backplane/core_ops/generated/factory.hpp>
#include <backplane/dispatcher/call.hpp>
#include <backplane/loading/environment.hpp>
#include <backplane/loading/loader.hpp>
#include <backplane/runtime/allocator.hpp>
#include <backplane/runtime/generator.hpp>
#include <backplane/runtime/stream.hpp>
#include <backplane/tensor/error.hpp>
#include <backplane/tensor/views.hpp>

namespace bp::conform {
namespace {

// Classes are counted where nobody says how many there are, and rows whose shape depends on data refuse what has no values.
bool rule_reads_values(const Problem& problem) {
  if (const int place = problem.op->schema->find("num_classes"); place >= 0) {
    const auto at = static_cast<std::size_t>(place);
    return at >= problem.arguments.size() || problem.arguments[at].value.u.i == -1;
  }
  return (problem.op->flags & BP_OP_SHAPE_DATA) != 0;
}

auto abi_in(const std::vector<Tensor>& tensors) {
  return [&](int place) { return &tensors[static_cast<std::size_t>(place)].impl()->abi; };
}

void fill_arguments(const Problem& problem, InferredCall& out) {
  Operator& op = *problem.op;
  const bool reads = rule_reads_values(problem);
  for (const Laid& laid : problem.tensors)  // strides decide layouts, at which no rule looks
    out.tensors.push_back(reads ? values_of(laid, oracle())
                                : empty_tensor(laid.shape, laid.dtype, meta_device));
  for (const SchemaArgument& argument : op.schema->arguments)
    out.args.push_back(argument.default_value);
  for (std::size_t i = 0; i < problem.arguments.size(); ++i) {
    const Argument& argument = problem.arguments[i];
    bp_value& value = out.args[i];
    value = shown_value(argument, out.lists, abi_in(out.tensors));
    if (op.schema->arguments[i].type == ArgumentType::real && value.tag == BP_INT)
      value = Scalar(static_cast<double>(value.u.i)).value();
  }
}

}  // namespace

int InferredCall::position_of(const bp_tensor* tensor) const {
  for (std::size_t i = 0; i < tensors.size(); ++i)
    if (&tensors[i].impl()->abi == tensor) return static_cast<int>(i);
  return -1;
}

std::size_t count_results(const Problem& problem) {
  const std::size_t num_declared = problem.op->schema->returns.size();
  if (!problem.op->count) return num_declared;
  InferredCall call;
  fill_arguments(problem, call);
  try {
    return num_results_of(*problem.op, call.args.data(),
                          static_cast<std::uint32_t>(call.args.size()));
  } catch (const Error&) {
    return num_declared;
  }
}

void infer_call(const Problem& problem, InferredCall& out) {
  fill_arguments(problem, out);
  const auto num_results = static_cast<std::uint32_t>(count_results(problem));
  std::vector<Tensor> results(num_results);
  out.inferred = Inferred(num_results);
  problem.op->infer({*problem.op, out.args.data(), static_cast<std::uint32_t>(out.args.size()),
                     results.data(), num_results},
                    out.inferred);
}

namespace {

// The view that `laid` describes of its storage.
Tensor shown(const Tensor& storage, const Laid& laid) {
  return views::as_strided(storage, laid.shape, laid.strides, laid.offset);
}

Tensor storage_of(std::size_t count, Dtype dtype) {
  return empty({static_cast<std::int64_t>(count)}, dtype, oracle());
}

bp_value absolute(bp_value value) {
  if (value.tag == BP_INT) value.u.i = value.u.i < 0 ? -value.u.i : value.u.i;
  if (value.tag == BP_DOUBLE) value.u.f = std::fabs(value.u.f);
  return value;
}

bp_value edited(bp_value value, const SchemaArgument& argument, const CallOptions& options,
                bool makes_tensors) {
  if (value.tag == BP_TENSOR || value.tag == BP_TENSOR_LIST) return value;
  if (argument.type == ArgumentType::device) return value_of(oracle());
  if (argument.type == ArgumentType::dtype && options.dtype) {
    const bool is_floating = value.tag == BP_DTYPE && has_fractions(static_cast<Dtype>(value.u.i));
    if (is_floating || (value.tag == BP_NONE && makes_tensors)) return value_of(*options.dtype);
  }
  if (options.step != 0 && argument.name == "eps" && value.tag == BP_NONE)
    return value_of(options.step);
  if (argument.type == ArgumentType::scalar && options.absolute_numbers) return absolute(value);
  // What limits a result limits neither the sum before it nor how many terms that has.
  const bool is_limit = argument.name == "min" || argument.name == "max";
  if (options.absolute_numbers && is_limit) value.tag = BP_NONE;
  return value;
}

}  // namespace

bp_value shown_value(const Argument& argument, TensorLists& lists,
                     const std::function<const bp_tensor*(int place)>& abi_of) {
  bp_value value = argument.value;
  if (value.tag == BP_TENSOR) value.u.tensor = abi_of(argument.tensors[0]);
  if (value.tag != BP_TENSOR_LIST) return value;
  std::vector<const bp_tensor*>& list = lists.emplace_back();
  for (const int place : listed(argument)) list.push_back(place < 0 ? nullptr : abi_of(place));
  value.aux = static_cast<std::uint32_t>(list.size());
  value.u.ptr = list.data();
  return value;
}

Tensor laid_out(const Laid& laid) {
  const Tensor storage = storage_of(laid.storage.size() / itemsize(laid.dtype), laid.dtype);
  if (!laid.storage.empty()) std::memcpy(storage.data_ptr(), laid.storage.data(), storage.nbytes());
  return shown(storage, laid);
}

Tensor laid_out_wide(const Laid& laid, std::optional<Dtype> through) {
  const bool becomes_real = through && !has_fractions(laid.dtype);
  const Dtype wide = becomes_real ? wide_dtype(*through) : wide_dtype(laid.dtype);
  if (wide == laid.dtype && !through) return laid_out(laid);
  const std::size_t count = laid.storage.size() / itemsize(laid.dtype);
  std::vector<double> values = to_doubles(laid.storage.data(), count, laid.dtype);
  if (through)
    for (double& value : values) value = rounded_to(value, *through);
  const Tensor storage = storage_of(count, wide);
  const std::span<double> out = stored_numbers(storage);
  std::ranges::fill(out, 0.0);  // imaginary parts that the dtype lacks
  const std::size_t stride = parts_of(wide) / parts_of(laid.dtype);
  for (std::size_t i = 0; i < values.size(); ++i) out[i * stride] = values[i];
  return shown(storage, laid);
}

std::span<double> stored_numbers(const Tensor& tensor) {
  if (tensor.dtype() != f64 && tensor.dtype() != complex128) return {};
  const Storage& storage = *tensor.impl()->storage;
  return {reinterpret_cast<double*>(storage.handle + storage.offset),
          storage.bytes / sizeof(double)};
}

void change_elements(const Tensor& tensor, std::size_t t, const Change& change) {
  std::size_t i = 0;
  for (double& value : stored_numbers(tensor)) value = change(value, t, i++);
}

std::vector<Tensor> call_row(const Problem& problem, const std::vector<Tensor>& tensors,
                             const CallOptions& options) {
  const Operator& op = *problem.op;
  std::vector<bp_value> values;
  TensorLists lists;
  for (std::size_t i = 0; i < op.schema->arguments.size(); ++i) {
    const SchemaArgument& argument = op.schema->arguments[i];
    const bool is_given = i < problem.arguments.size();
    const bp_value value = is_given ? shown_value(problem.arguments[i], lists, abi_in(tensors))
                                    : argument.default_value;
    values.push_back(edited(value, argument, options, problem.tensors.empty()));
  }
  std::unique_lock<std::mutex> drawing;
  if (op.draws != Draws::never) {
    // One generator for all threads that judge.
    static std::mutex mutex;
    drawing = std::unique_lock(mutex);
    default_generator(oracle()).set_state({options.seed, 0});
  }
  std::vector<Tensor> results = call_boxed(*problem.op, values);
  // An index out of range comes out here, not in a later call.
  Stream::current(oracle()).synchronize();
  return results;
}

bp_value argument_value(const Problem& problem, const char* name) {
  const int place = problem.op->schema->find(name);
  if (place < 0) return {};
  const auto at = static_cast<std::size_t>(place);
  return at < problem.arguments.size() ? problem.arguments[at].value
                                       : problem.op->schema->arguments[at].default_value;
}

bool has_number_beyond(const Problem& problem, Dtype dtype) {
  for (const SchemaArgument& argument : problem.op->schema->arguments) {
    const bp_value value = argument_value(problem, argument.name.c_str());
    if (value.tag == BP_DOUBLE && rounded_to(value.u.f, dtype) != value.u.f) return true;
  }
  return false;
}

std::vector<double> doubles_of(const Tensor& tensor) {
  if (tensor.numel() == 0) return {};
  const Tensor dense = contiguous(tensor);
  return to_doubles(dense.data_ptr(), static_cast<std::size_t>(dense.numel()), dense.dtype());
}

std::string integer_text(Dtype dtype, const unsigned char* at) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, itemsize(dtype));
  if (!is_signed_integer(dtype)) return std::to_string(word);
  const auto unused = 64 - 8 * itemsize(dtype);
  return std::to_string(static_cast<std::int64_t>(word << unused) >> unused);
}

namespace {

std::string oracle_path() {
  const std::filesystem::path folder =
      std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const std::filesystem::path file = "lib/backplane/conformance/libbackplane_oracle.so";
  // Where plugins lie, or, of a program that was copied, beside it.
  const std::filesystem::path installed = loading::Environment::current().library_folder /
                                          "backplane/conformance/libbackplane_oracle.so";
  for (const std::filesystem::path& place : {installed, folder / ".." / file, folder / file})
    if (std::filesystem::exists(place)) return std::filesystem::weakly_canonical(place).string();
  throw_error(ErrorClass::unsupported, "conform: the reference is missing, a plugin at " +
                                           (folder.parent_path() / file).string() +
                                           "; install the whole suite");
}

}  // namespace

Device oracle() {
  static const Device device = load_plugin(oracle_path()).devices.at(0)->device;
  return device;
}

namespace {

// Of "3 ulp" 3.
std::optional<double> ulps_of(std::string_view tolerance) {
  if (!tolerance.ends_with(" ulp")) return std::nullopt;
  return std::strtod(std::string(tolerance).c_str(), nullptr);
}

// A product, a quotient or a square: of complex numbers that is several roundings.
bool ends_in_product(const Operator& op) {
  if (op.num_nodes == 0) return false;
  const std::uint16_t last = op.nodes[op.num_nodes - 1].code;
  return last == BP_X_MUL || last == BP_X_DIV;
}

// And what the row says of its ulps, in `all`.
RuleKind kind_of(Evaluation& all, Dtype dtype) {
  const Operator& op = all.op();
  const std::string_view tolerance = op.tolerance;
  if (tolerance == "shape") return RuleKind::shape;
  if (!has_fractions(dtype)) return RuleKind::exact;
  const std::optional<double> ulps = ulps_of(tolerance);
  all.ulps = ulps.value_or(0);
  if (op.decompose_complex && is_complex_function(all.problem)) return RuleKind::functions;
  const bool is_expression = op.kind == BP_KIND_POINTWISE && op.num_nodes != 0;
  if (tolerance == "exact")
    return is_expression && is_complex(dtype) && ends_in_product(op) ? RuleKind::expression
                                                                     : RuleKind::exact;
  if (is_expression) {
    all.ulps = ulps.value_or(4);
    return RuleKind::expression;
  }
  if (ulps) return all.is(Trait::conditioned) ? RuleKind::conditioned : RuleKind::ulp;
  return all.is(Trait::sums_products) ? RuleKind::products : RuleKind::conditioned;
}

// Inputs that the call casts first are rounded to what it computes in, before they are widened.
std::optional<Dtype> dtype_cast_to(const Problem& problem, Dtype computed) {
  if (!has_fractions(computed)) return std::nullopt;
  const bool names_dtype = argument_value(problem, "dtype").tag == BP_DTYPE;
  const bool casts = std::ranges::any_of(
      problem.tensors, [&](const Laid& laid) { return names_dtype || !has_fractions(laid.dtype); });
  return casts ? std::optional(computed) : std::nullopt;
}

// Is tensor `t` among those that promotion converts? Others, such as indices and conditions, stay as they are.
bool is_converted(const Problem& problem, std::size_t t) {
  const Operator& op = *problem.op;
  for (std::size_t i = 0; i < problem.arguments.size(); ++i)
    for (const int place : problem.arguments[i].tensors)
      if (static_cast<std::size_t>(place) == t) return (op.promoted >> i & 1u) != 0;
  return false;
}

std::vector<Tensor> wide_inputs(const Problem& problem, std::optional<Dtype> through) {
  std::vector<Tensor> inputs;
  for (std::size_t t = 0; t < problem.tensors.size(); ++t)
    inputs.push_back(
        laid_out_wide(problem.tensors[t], is_converted(problem, t) ? through : std::nullopt));
  return inputs;
}

// Of what comes of the call: its first result, or the first tensor that it writes into.
Dtype dtype_of_first(const Problem& problem, const std::vector<Tensor>& results) {
  if (!results.empty()) return results[0].dtype();
  for (std::size_t i = 0; i < problem.arguments.size(); ++i) {
    const std::vector<int>& tensors = problem.arguments[i].tensors;
    if ((problem.op->mutates >> i & 1u) && !tensors.empty())
      return problem.tensors[static_cast<std::size_t>(tensors[0])].dtype;
  }
  return f32;
}

}  // namespace

std::vector<Tensor> changed_inputs(const Problem& problem, std::optional<Dtype> through,
                                   const Change& change) {
  std::vector<Tensor> fresh = wide_inputs(problem, through);
  for (std::size_t t = 0; t < fresh.size(); ++t) {
    // Elements that share a place are rounded each for itself: a mean of equal numbers need not be that number.
    const Laid& laid = problem.tensors[t];
    if (numel_of(laid.shape) > reach_of(laid.shape, laid.strides)) fresh[t] = contiguous(fresh[t]);
    if (!names_something(problem, t)) change_elements(fresh[t], t, change);
  }
  return fresh;
}

std::vector<Tensor> Evaluation::changed(const Change& change) const {
  return changed_inputs(problem, through, change);
}

Tensor Evaluation::operand(const std::vector<Tensor>& wide, std::size_t argument,
                           const Sizes& shape, Scalar& number) const {
  const std::vector<Argument>& given = problem.arguments;
  if (argument < given.size() && given[argument].is_tensor())
    return views::expand(wide[static_cast<std::size_t>(given[argument].tensors[0])], shape);
  const std::string& name = op().schema->arguments[argument].name;
  number = Scalar::from_value(argument_value(problem, name.c_str()));
  return {};
}

bool Evaluation::flushes(Dtype dtype) const {
  if (dtype == bf16 && kind == RuleKind::products && numerics.flushes_bf16_products) return true;
  return numerics.flushes_denormals && (dtype == f32 || dtype == bf16 || dtype == complex64);
}

std::vector<Tensor> call_as_given(const Problem& problem, std::uint64_t seed,
                                  std::vector<std::size_t>* written) {
  std::vector<Tensor> tensors;
  for (const Laid& laid : problem.tensors) tensors.push_back(laid_out(laid));
  CallOptions options;
  options.seed = seed;
  std::vector<Tensor> results = call_row(problem, tensors, options);
  for (std::size_t t = 0; written && t < tensors.size(); ++t) {
    const Storage& storage = *tensors[t].impl()->storage;
    const Bytes& before = problem.tensors[t].storage;
    if (!before.empty() &&
        std::memcmp(reinterpret_cast<const void*>(storage.handle + storage.offset), before.data(),
                    before.size()) != 0)
      written->push_back(t);
  }
  return results;
}

Evaluation evaluation_of(const Problem& problem, const Case& one, const Numerics& numerics,
                         const std::vector<Tensor>& given) {
  Evaluation all{problem, one, numerics};
  Dtype computed = dtype_of_first(problem, given);
  all.facts = find_row_facts(problem.op->name());
  all.kind = kind_of(all, computed);
  for (const Tensor& result : given)  // the first may be indices
    if (all.kind == RuleKind::exact && has_fractions(result.dtype()))
      all.kind = kind_of(all, computed = result.dtype());
  all.is_composite = problem.op->kind == BP_KIND_COMPOSITE;
  all.options.seed = one.seed;
  if (all.kind == RuleKind::exact || all.kind == RuleKind::shape) return all;
  all.options.dtype = wide_dtype(computed);
  all.through = dtype_cast_to(problem, computed);
  if (all.is(Trait::own_step)) all.options.step = computed == f64 ? 0 : 0x1p-23;
  all.inputs = wide_inputs(problem, all.through);
  return all;
}

}  // namespace bp::conform

#include "judge/calls.hpp"

#include <cmath>
#include <cstring>
#include <deque>
#include <mutex>

#include <backplane/core_ops/creation.hpp>
#include <backplane/core_ops/generated/factory.hpp>
#include <backplane/dispatcher/call.hpp>
#include <backplane/runtime/generator.hpp>
#include <backplane/runtime/stream.hpp>
#include <backplane/tensor/views.hpp>

#include "judge/expected.hpp"
#include "judge/numbers.hpp"

namespace bp::conform {
namespace {

std::size_t num_stored(const Laid& laid) {
  return laid.storage.size() / itemsize(laid.dtype);
}

// The view that `laid` describes of its storage.
Tensor shown(const Tensor& storage, const Laid& laid) {
  return views::as_strided(storage, laid.shape, laid.strides, laid.offset);
}

Tensor storage_of(std::size_t count, Dtype dtype) {
  return empty({static_cast<std::int64_t>(count)}, dtype, oracle());
}

bool is_floating_dtype(const bp_value& value) {
  return value.tag == BP_DTYPE && has_fractions(static_cast<Dtype>(value.u.i));
}

bp_value absolute(bp_value value) {
  if (value.tag == BP_INT) value.u.i = value.u.i < 0 ? -value.u.i : value.u.i;
  if (value.tag == BP_DOUBLE) value.u.f = std::fabs(value.u.f);
  return value;
}

// One call's arguments; lists of tensors live here.
struct BoxedArguments {
  std::vector<bp_value> values;
  std::deque<std::vector<const bp_tensor*>> lists;
};

bp_value tensor_value(const Argument& argument, const std::vector<Tensor>& tensors,
                      BoxedArguments& boxed) {
  if (argument.value.tag == BP_TENSOR)
    return value_of(tensors[static_cast<std::size_t>(argument.tensors[0])]);
  std::vector<const bp_tensor*>& list = boxed.lists.emplace_back();
  for_each_listed(argument, [&](int place) {
    list.push_back(place < 0 ? nullptr : &tensors[static_cast<std::size_t>(place)].impl()->abi);
  });
  bp_value value = argument.value;
  value.aux = static_cast<std::uint32_t>(list.size());
  value.u.ptr = list.data();
  return value;
}

bp_value edited(bp_value value, const SchemaArgument& argument, const CallOptions& options,
                bool makes_tensors) {
  if (argument.type == ArgumentType::device) return value_of(oracle());
  if (argument.type == ArgumentType::dtype && options.dtype) {
    if (is_floating_dtype(value) || (value.tag == BP_NONE && makes_tensors))
      return value_of(*options.dtype);
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

Tensor laid_out(const Laid& laid) {
  const Tensor storage = storage_of(num_stored(laid), laid.dtype);
  if (!laid.storage.empty()) std::memcpy(storage.data_ptr(), laid.storage.data(), storage.nbytes());
  return shown(storage, laid);
}

Tensor laid_out_wide(const Laid& laid, std::optional<Dtype> through) {
  const bool becomes_real = through && !has_fractions(laid.dtype);
  const Dtype wide = becomes_real ? wide_dtype(*through) : wide_dtype(laid.dtype);
  if (wide == laid.dtype && !through) return laid_out(laid);
  const std::size_t count = num_stored(laid);
  std::vector<double> values = to_doubles(laid.storage.data(), count, laid.dtype);
  if (through)
    for (double& value : values) value = rounded_to(value, *through);
  const Tensor storage = storage_of(count, wide);
  auto* out = count == 0 ? nullptr : static_cast<double*>(storage.data_ptr());
  const std::size_t stride = parts_of(wide) / parts_of(laid.dtype);
  if (stride == 2) std::fill_n(out, 2 * count, 0.0);
  for (std::size_t i = 0; i < values.size(); ++i) out[i * stride] = values[i];
  return shown(storage, laid);
}

void change_elements(const Tensor& tensor, std::size_t t, const Change& change) {
  if (tensor.dtype() != f64 && tensor.dtype() != complex128) return;
  const Storage& storage = *tensor.impl()->storage;
  auto* values = reinterpret_cast<double*>(storage.handle + storage.offset);
  const std::size_t count = storage.bytes / sizeof(double);
  for (std::size_t i = 0; i < count; ++i) values[i] = change(values[i], t, i);
}

std::vector<Tensor> call_row(const Problem& problem, const std::vector<Tensor>& tensors,
                             const CallOptions& options) {
  const Operator& op = *problem.op;
  BoxedArguments boxed;
  for (std::size_t i = 0; i < op.schema->arguments.size(); ++i) {
    const SchemaArgument& argument = op.schema->arguments[i];
    const bool is_given = i < problem.arguments.size();
    const std::uint32_t tag = is_given ? problem.arguments[i].value.tag : BP_NONE;
    if (tag == BP_TENSOR || tag == BP_TENSOR_LIST) {
      boxed.values.push_back(tensor_value(problem.arguments[i], tensors, boxed));
    } else {
      const bp_value value = is_given ? problem.arguments[i].value : argument.default_value;
      boxed.values.push_back(edited(value, argument, options, problem.tensors.empty()));
    }
  }
  std::unique_lock<std::mutex> drawing;
  if (op.draws != Draws::never) {
    // One generator for all threads that judge.
    static std::mutex mutex;
    drawing = std::unique_lock(mutex);
    default_generator(oracle()).set_state({options.seed, 0});
  }
  std::vector<Tensor> results = call_boxed(*problem.op, boxed.values);
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

}  // namespace bp::conform

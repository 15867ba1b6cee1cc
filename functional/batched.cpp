#include "batched.hpp"

#include <algorithm>

#include <backplane/core_ops/creation.hpp>
#include <backplane/core_ops/generated/all.hpp>
#include <backplane/tensor/check.hpp>
#include <backplane/tensor/views.hpp>

namespace bp::functional {
namespace {

struct Whole : LayerData {
  Whole(std::uint64_t key, Tensor tensor) : LayerData(key), tensor(std::move(tensor)) {}
  bool is_opaque() const override { return true; }
  Tensor tensor;
};

Tensor shared_of(const bp_tensor* abi) {
  return abi ? Tensor::share(TensorImpl::of(abi)) : Tensor();
}

Tensor attach(const Level& level, const Tensor& tensor, const Tensor& whole) {
  set_layer_data(*tensor.impl(), std::make_unique<Whole>(level.key(), whole));
  return whole;
}

// The view of the base's whole that `view` is of the base, which is row-major.
Tensor whole_of_view(const Tensor& base, const Tensor& view) {
  Dims shape(view.shape()), strides(view.strides());
  shape.insert(0, base.size(0));
  strides.insert(0, base.strides()[0]);
  const Tensor of = Tensor::share(view.impl()->view_base);
  return as_strided(base, shape, strides,
                    base.storage_offset() + view.storage_offset() - of.storage_offset());
}

// Writes to a result that the caller gave.
void write(const BatchedCall& of, const Tensor& result, const Tensor& whole) {
  Tensor target = whole_of(of.level(), result);
  if (!target.defined()) target = let_join(of.level(), result);
  BP_CHECK(target.defined(),
           "{}: elements of a batch are written to a tensor that all of them share; make that one "
           "for each element, or call the form that returns its result",
           of.call().op.name());
  copy_into(target, expand(whole, target.shape()));
}

}  // namespace

Tensor batched(const Level& level, const Tensor& whole) {
  const IntList shape = whole.shape(), strides = whole.strides();
  // Element 0: nobody computes with it, but it has an element's shape, strides and place.
  Tensor element = make_view(whole, {shape.data() + 1, shape.size() - 1},
                             {strides.data() + 1, strides.size() - 1}, whole.storage_offset());
  element.impl()->keys = 0;
  attach(level, element, whole);
  return element;
}

Tensor whole_of(const Level& level, const Tensor& tensor) {
  if (!tensor.defined()) return {};
  if (const LayerData* data = level.data_of(tensor)) return static_cast<const Whole*>(data)->tensor;
  TensorImpl* base = tensor.impl()->view_base;
  const LayerData* data = base ? find_layer_data(*base, level.key()) : nullptr;
  // A view that is older than its base's batch.
  return data
             ? attach(level, tensor, whole_of_view(static_cast<const Whole*>(data)->tensor, tensor))
             : Tensor();
}

Tensor let_join(const Level& level, const Tensor& tensor) {
  TensorImpl* of = tensor.impl()->view_base;
  const Tensor base = of ? Tensor::share(of) : tensor;
  if (!(base.impl()->keys & key_of(Layer::vmap)) || !base.is_contiguous()) return {};
  attach(level, base, copy(repeated(base, state_of(level).size)));
  return whole_of(level, tensor);
}

Tensor with_rank(const Tensor& tensor, std::int64_t rank, std::int64_t behind) {
  if (tensor.ndim() >= rank) return tensor;
  Dims shape(tensor.shape());
  while (static_cast<std::int64_t>(shape.size()) < rank)
    shape.insert(static_cast<std::size_t>(behind), 1);
  return reshape(tensor, shape);
}

Tensor repeated(const Tensor& tensor, std::int64_t times) {
  Dims shape(tensor.shape());
  shape.insert(0, times);
  return expand(tensor, shape);
}

Tensor Operand::shape_alone() const {
  const IntList shape = tensor.shape();
  const IntList of_element = {shape.data() + batched, shape.size() - batched};
  return empty(of_element, tensor.dtype(), meta_device);
}

BatchedCall::BatchedCall(const Call& call, const Level& level)
    : call_(call), level_(level), values_(call.args, call.args + call.num_args) {
  const auto add = [&](std::uint32_t place, const bp_tensor* abi) {
    const Tensor tensor = shared_of(abi), whole = whole_of(level, tensor);
    operands_.push_back({place, whole.defined() ? whole : tensor, whole.defined()});
  };
  for (std::uint32_t i = 0; i < call.num_args; ++i) {
    if (values_[i].tag == BP_TENSOR) add(i, values_[i].u.tensor);
    auto* listed = static_cast<const bp_tensor* const*>(values_[i].u.ptr);
    for (std::uint32_t k = 0; values_[i].tag == BP_TENSOR_LIST && k < values_[i].aux; ++k)
      add(i, listed[k]);
  }
}

bool BatchedCall::is_batched() const {
  bool found = false;
  for (const Operand& operand : operands_) found = found || operand.batched;
  for (std::uint32_t i = 0; i < call_.num_results; ++i)
    found = found || whole_of(level_, call_.results[i]).defined();
  return found;
}

void BatchedCall::set_list(std::uint32_t place, std::vector<std::int64_t> list) {
  lists_.push_back(std::move(list));
  values_[place] = value_of(IntList(lists_.back()));
}

std::vector<bp_value> BatchedCall::arguments_of_kept() {
  std::vector<bp_value> args = values_;
  tensor_lists_.clear();
  std::size_t next = 0;
  for (bp_value& arg : args) {
    if (arg.tag == BP_TENSOR) arg = value_of(kept_[next++]);
    if (arg.tag != BP_TENSOR_LIST) continue;
    auto& list = tensor_lists_.emplace_back();
    for (std::uint32_t k = 0; k < arg.aux; ++k, ++next)
      list.push_back(kept_[next].defined() ? &kept_[next].impl()->abi : nullptr);
    arg.u.ptr = list.data();
  }
  return args;
}

std::vector<Tensor> BatchedCall::run() {
  std::vector<bp_value> args = arguments([](const Operand& operand) { return operand.tensor; });
  return call_all(call_.op, args.data(), call_.num_args);
}

std::vector<Tensor> BatchedCall::shapes() {
  std::vector<bp_value> args =
      arguments([](const Operand& operand) { return operand.shape_alone(); });
  for (bp_value& arg : args)
    if (arg.tag == BP_DEVICE) arg = value_of(meta_device);
  return call_all(call_.op, args.data(), call_.num_args);
}

void BatchedCall::deliver(const std::vector<Tensor>& wholes) {
  for (std::uint32_t i = 0; i < call_.num_results; ++i) {
    if (!wholes[i].defined()) continue;
    if (call_.results[i].defined()) {
      write(*this, call_.results[i], wholes[i]);
      continue;
    }
    Dims shape(wholes[i].shape());
    shape[0] = size();
    const bool is_whole = wholes[i].shape() == IntList(shape);
    call_.results[i] = batched(level_, is_whole ? wholes[i] : expand(wholes[i], shape));
  }
}

}  // namespace bp::functional

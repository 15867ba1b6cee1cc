#include "batched.hpp"

#include <algorithm>

#include <backplane/core_ops/creation.hpp>
#include <backplane/core_ops/generated/all.hpp>
#include <backplane/dispatcher/argument_check.hpp>
#include <backplane/tensor/check.hpp>
#include <backplane/tensor/views.hpp>

namespace bp::functional {
namespace {

struct Whole : LayerData {
  Whole(std::uint64_t key, Tensor tensor) : LayerData(key), tensor(std::move(tensor)) {}
  bool is_opaque() const override { return tensor.defined(); }
  Tensor tensor;  // undefined: the tensor was made inside the run, and all elements share it
};

Tensor kept_whole(const TensorImpl& impl, const Level& level) {
  const LayerData* data = find_layer_data(impl, level.key());
  return data ? static_cast<const Whole*>(data)->tensor : Tensor();
}

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

// Remembers that the level's run made the tensor, or shows it of one that it made.
void note_made_inside(const Level& level, const Tensor& tensor) {
  const TensorImpl& impl = *tensor.impl();
  if (!(impl.keys & key_of(Layer::vmap))) return;
  if (impl.view_base && !find_layer_data(*impl.view_base, level.key())) return;
  attach(level, tensor, {});
}

// What no row made, as empty(), is known by vmap's key alone, which says nothing where a run is within another.
bool is_made_inside(const Level& level, const TensorImpl& impl) {
  if (!(impl.keys & key_of(Layer::vmap))) return false;
  if (find_layer_data(impl, level.key())) return true;
  for (const LayerData* data = impl.layer_data; data; data = data->next)
    if (data->layer() == static_cast<unsigned>(Layer::vmap)) return false;
  for (const Level* outer = level.below(); outer; outer = outer->below())
    if (outer->layer() == Layer::vmap) return false;
  return true;
}

// Makes a tensor, or what it is a view of, one of the batch, and gives its whole; undefined if the run did not make it.
Tensor let_join(const Level& level, const Tensor& tensor) {
  TensorImpl* of = tensor.impl()->view_base;
  const Tensor base = of ? Tensor::share(of) : tensor;
  if (!is_made_inside(level, *base.impl()) || !base.is_contiguous()) return {};
  attach(level, base, copy(repeated(base, state_of(level).size)));
  return whole_of(level, tensor);
}

// Writes to a result that the caller gave, if a call without a batch would.
void write(const BatchedCall& of, const Tensor& result, const Tensor& whole) {
  const char* const op = of.call().op.name();
  const Tensor target = whole_to_write(of, result);
  check_output_dtype(of.call().op, whole.dtype(), target.dtype());
  const IntList shape = whole.shape();
  const IntList of_element = {shape.data() + 1, shape.size() - 1};
  BP_CHECK(of_element == result.shape(),
           "{}: the output has shape {}, the result has {}; give one of that shape", op,
           to_string(result.shape()), to_string(of_element));
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
  if (Tensor own = kept_whole(*tensor.impl(), level); own.defined()) return own;
  const TensorImpl* base = tensor.impl()->view_base;
  const Tensor of_base = base ? kept_whole(*base, level) : Tensor();
  // A view that is older than its base's batch.
  return of_base.defined() ? attach(level, tensor, whole_of_view(of_base, tensor)) : Tensor();
}

Tensor whole_to_write(const BatchedCall& of, const Tensor& tensor) {
  Tensor whole = whole_of(of.level(), tensor);
  if (!whole.defined()) whole = let_join(of.level(), tensor);
  BP_CHECK(whole.defined(),
           "{}: elements of a batch are written to a tensor that all of them share; make that one "
           "for each element, or call the form that returns its result",
           of.call().op.name());
  return whole;
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

void BatchedCall::run_unbatched() {
  std::vector<const TensorImpl*> there;
  for (const Operand& operand : operands_) there.push_back(operand.tensor.impl());
  for (std::uint32_t i = 0; i < call_.num_results; ++i) there.push_back(call_.results[i].impl());
  dispatch(call_);
  for (std::uint32_t i = 0; i < call_.num_results; ++i) {
    const Tensor& result = call_.results[i];
    if (result.defined() && std::find(there.begin(), there.end(), result.impl()) == there.end())
      note_made_inside(level_, result);
  }
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
    Tensor whole = wholes[i].shape() == IntList(shape) ? wholes[i] : expand(wholes[i], shape);
    // Each element has its own, since the tensor may be written to.
    if (shape[0] > 1 && whole.strides()[0] == 0 && !call_.op.is_view()) whole = copy(whole);
    call_.results[i] = batched(level_, whole);
  }
}

}  // namespace bp::functional

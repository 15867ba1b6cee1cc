#include <deque>

#include <backplane/dispatcher/argument_check.hpp>
#include <backplane/dispatcher/call.hpp>
#include <backplane/dispatcher/operator_source.hpp>
#include <backplane/dispatcher/registry.hpp>
#include <backplane/dispatcher/transfer.hpp>
#include <backplane/runtime/allocator.hpp>
#include <backplane/tensor/check.hpp>
#include <backplane/tracing/saved_call.hpp>

#include "tensors_over.hpp"
#include "unseen.hpp"

namespace bp::tracing {
namespace {

// The saved call's arguments as values, and what they point to.
class Arguments {
 public:
  Arguments(const SavedCall& saved, const Operator& op, Device device) : op_(op) {
    for (const auto& bytes : saved.storages) {
      Tensor copy = empty_tensor({static_cast<std::int64_t>(bytes.size())}, Dtype::u8, device);
      if (!bytes.empty()) copy_from_host_memory(copy, bytes.data());
      storages_.push_back(std::move(copy));
    }
    const auto& declared = op.schema->arguments;
    for (std::size_t i = 0; i < saved.args.size(); ++i) {
      const bool is_device = i < declared.size() && declared[i].type == ArgumentType::device;
      values_.push_back(is_device ? value_of(device) : value(saved.args[i], device));
    }
    check_arguments(op, values_);
  }

  std::vector<bp_value>& values() { return values_; }
  Tensor tensor(const SavedTensor& saved, Device device) {
    if (checked_numel(op_.name(), saved.shape) == 0)
      return empty_tensor(saved.shape, saved.dtype, device);
    BP_CHECK(saved.storage < storages_.size(),
             "{}: a tensor lies in storage {} of {}; save the call again", op_.name(),
             saved.storage, storages_.size());
    return tensor_over(storages_[saved.storage], saved, op_.name());
  }

 private:
  bp_value value(const SavedArgument& argument, Device device) {
    bp_value v{};
    v.tag = argument.tag;
    v.u.i = argument.integer;
    const auto point_to = [&](const auto& list) {
      v.aux = static_cast<std::uint32_t>(list.size());
      v.u.ptr = list.data();
    };
    switch (argument.tag) {
      case BP_DOUBLE: v.u.f = argument.reals.empty() ? 0 : argument.reals[0]; break;
      case BP_COMPLEX:
        BP_CHECK(argument.reals.size() == 2, "{}: a complex number has {} parts; it needs 2",
                 op_.name(), argument.reals.size());
        v.u.ptr = argument.reals.data();
        break;
      case BP_DOUBLE_LIST: point_to(argument.reals); break;
      case BP_INT_LIST: point_to(argument.list); break;
      case BP_STRING: point_to(argument.text); break;
      case BP_TENSOR:
      case BP_TENSOR_LIST: return tensors(argument, device);
      case BP_GENERATOR: return generator(argument);
      default: break;
    }
    return v;
  }

  bp_value tensors(const SavedArgument& argument, Device device) {
    auto& pointers = lists_.emplace_back();
    for (const std::optional<SavedTensor>& saved : argument.tensors)
      pointers.push_back(saved ? &kept_.emplace_back(tensor(*saved, device)).impl()->abi : nullptr);
    if (argument.tag == BP_TENSOR) {
      BP_CHECK(pointers.size() == 1 && pointers[0], "{}: an argument is {} tensors; it takes 1",
               op_.name(), pointers.size());
      return value_of(kept_.back());
    }
    bp_value v{};
    v.tag = BP_TENSOR_LIST;
    v.aux = static_cast<std::uint32_t>(pointers.size());
    v.u.ptr = pointers.data();
    return v;
  }

  bp_value generator(const SavedArgument& argument) {
    BP_CHECK(argument.list.size() == 2, "{}: a generator has {} numbers; it needs seed and offset",
             op_.name(), argument.list.size());
    bp_value v{};
    v.tag = BP_GENERATOR;
    v.u.ptr =
        &generators_.emplace_back(bp_generator{{sizeof(bp_generator), BP_TYPE_GENERATOR, nullptr},
                                               static_cast<std::uint64_t>(argument.list[0]),
                                               static_cast<std::uint64_t>(argument.list[1])});
    return v;
  }

  const Operator& op_;
  std::deque<bp_generator> generators_;
  std::vector<Tensor> storages_;
  std::deque<Tensor> kept_;
  std::deque<std::vector<const bp_tensor*>> lists_;
  std::vector<bp_value> values_;
};

}  // namespace

std::vector<Tensor> repeat_call(const SavedCall& saved, Device device) {
  ensure_operators();
  Operator* op = find_operator(saved.op);
  BP_CHECK(op,
           "{}: there is no operator of this name; load the plugin that brings it with --plugin",
           saved.op);
  device_record(device);  // opened, so that copies have a stream to go on
  const Unseen unseen;
  Arguments arguments(saved, *op, device);
  const std::uint32_t num_results = num_results_of(
      *op, arguments.values().data(), static_cast<std::uint32_t>(arguments.values().size()));
  BP_CHECK(saved.results.size() == num_results,
           "{}: {} results are saved, and the operator has {}; save the call again", saved.op,
           saved.results.size(), num_results);
  std::vector<Tensor> results(saved.results.size());
  for (std::size_t i = 0; i < results.size(); ++i)
    if (saved.results[i]) results[i] = arguments.tensor(*saved.results[i], device);
  dispatch(Call{*op, arguments.values().data(),
                static_cast<std::uint32_t>(arguments.values().size()), results.data(),
                static_cast<std::uint32_t>(results.size())});
  return results;
}

}  // namespace bp::tracing

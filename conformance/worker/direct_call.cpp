#include "worker/direct_call.hpp"

#include <algorithm>

#include <backplane/dispatcher/registry.hpp>

#include "refuse.hpp"

namespace bp::conform {
namespace {

class CallReader {
 public:
  CallReader(const DirectPlugin& plugin, const std::function<ObjectPlace(int)>& place_of,
             DirectCall& call)
      : plugin_(plugin), place_of_(place_of), call_(call) {}

  DirectTensor& tensor(const Json& json) {
    DirectTensor& made = call_.tensors.emplace_back();
    TensorImpl& impl = made.impl;
    const Dtype dtype = dtype_from_name(json.at("dtype").get_ref<const std::string&>());
    const Json &shape = json.at("shape"), &strides = json.at("strides");
    if (shape.size() > max_rank || strides.size() != shape.size())
      refuse("script: shape and strides of a tensor do not fit");
    for (std::size_t i = 0; i < shape.size(); ++i) {
      impl.shape[i] = shape[i].get<std::int64_t>();
      impl.strides[i] = strides[i].get<std::int64_t>();
    }
    made.object = json.at("object").get<int>();
    made.offset = json.value("offset", std::uint64_t{0});
    const ObjectPlace place = place_of_(made.object);
    bp_tensor& abi = impl.abi;
    abi.size = sizeof(bp_tensor);
    abi.dl.data = reinterpret_cast<void*>(place.handle);
    abi.dl.device = {plugin_.info.dl_device_type, plugin_.info.dl_device_id};
    abi.dl.ndim = static_cast<std::int32_t>(shape.size());
    abi.dl.dtype = dl_dtype(dtype);
    abi.dl.shape = impl.shape;
    abi.dl.strides = impl.strides;
    abi.dl.byte_offset = place.front + made.offset;
    abi.device = 1;
    abi.dtype = index(dtype);
    abi.itemsize = itemsize(dtype);
    update_layout(impl);
    return made;
  }

  bp_value value(const Json& json) {
    bp_value device{};
    device.tag = BP_DEVICE;
    device.u.i = 1;
    return read_value(json, call_.lists, device, [&](const Json& each) {
      call_.inputs.push_back(&tensor(each));
      return &call_.inputs.back()->impl.abi;
    });
  }

 private:
  const DirectPlugin& plugin_;
  const std::function<ObjectPlace(int)>& place_of_;
  DirectCall& call_;
};

bool takes_tensor(const bp_arg& arg, const bp_tensor& tensor) {
  if (arg.dtypes && !(arg.dtypes >> tensor.dtype & 1u)) return false;
  if (arg.layouts && !(arg.layouts & tensor.flags)) return false;
  if (!((arg.spaces ? arg.spaces : 1u) & 1u)) return false;
  if (tensor.dl.ndim < arg.min_rank || (arg.max_rank && tensor.dl.ndim > arg.max_rank))
    return false;
  return arg.alignment <= 1 || tensor.dl.byte_offset % arg.alignment == 0;
}

bool takes_value(const DirectKernel& kernel, const DirectCall& call, std::size_t place) {
  const bp_value& value = call.args[place];
  const bool number = value.tag == BP_INT || value.tag == BP_DOUBLE || value.tag == BP_BOOLEAN ||
                      value.tag == BP_COMPLEX;
  const bool in_place_of_tensor = number && (call.op->scalar_ok >> place & 1u);
  if (place >= kernel.args.size()) return !in_place_of_tensor;
  const bp_arg& arg = kernel.args[place];
  if (in_place_of_tensor) return arg.scalar_ok != 0;
  if (value.tag == BP_TENSOR) return takes_tensor(arg, *value.u.tensor);
  if (value.tag != BP_TENSOR_LIST) return true;
  auto* elements = static_cast<const bp_tensor* const*>(value.u.ptr);
  return std::all_of(elements, elements + value.aux,
                     [&](const bp_tensor* each) { return !each || takes_tensor(arg, *each); });
}

// A kernel that asks for density alone walks all its tensors in the order of memory: their strides must agree.
bool strides_agree(const DirectKernel& kernel, const DirectCall& call) {
  const bp_tensor* first = nullptr;
  bool agree = true;
  const auto visit = [&](std::size_t place, const bp_tensor& tensor) {
    if (place >= kernel.args.size()) return;
    const std::uint32_t layouts = kernel.args[place].layouts;
    if (!(layouts & BP_LAYOUT_DENSE) || (layouts & BP_LAYOUT_STRIDED)) return;
    if (!first) first = &tensor;
    const bool is_result = place >= static_cast<std::size_t>(kernel.num_known);
    // A reduction's result has another shape than what it reads.
    if (is_result &&
        (first->dl.ndim != tensor.dl.ndim ||
         !std::equal(first->dl.shape, first->dl.shape + first->dl.ndim, tensor.dl.shape)))
      return;
    agree = agree && first->dl.ndim == tensor.dl.ndim &&
            std::equal(first->dl.strides, first->dl.strides + first->dl.ndim, tensor.dl.strides);
  };
  for (std::size_t i = 0; i < call.args.size(); ++i)
    if (call.args[i].tag == BP_TENSOR) visit(i, *call.args[i].u.tensor);
  for (std::size_t i = 0; i < call.outputs.size(); ++i)
    visit(static_cast<std::size_t>(kernel.num_known) + i, call.outputs[i]->impl.abi);
  return agree;
}

// Are the arguments that the kernel's schema does not have at their defaults, and those whole that it has as int?
bool knows_all(const DirectKernel& kernel, const DirectCall& call) {
  if (!are_whole(call.args.data(), kernel.whole)) return false;
  for (std::size_t i = static_cast<std::size_t>(kernel.num_known); i < call.args.size(); ++i) {
    const bp_value& usual = call.op->schema->arguments[i].default_value;
    if (call.args[i].tag != usual.tag || call.args[i].aux != usual.aux ||
        call.args[i].u.i != usual.u.i)
      return false;
  }
  return true;
}

}  // namespace

std::unique_ptr<DirectCall> read_call(const Json& step, const DirectPlugin& plugin,
                                      const std::function<ObjectPlace(int)>& place_of) {
  const std::string& name = step.at("op").get_ref<const std::string&>();
  auto call = std::make_unique<DirectCall>();
  call->op = find_operator(name);
  if (!call->op) refuse("script: there is no operator '{}'", name);
  CallReader reader(plugin, place_of, *call);
  for (const Json& each : step.at("args")) call->args.push_back(reader.value(each));
  const auto& arguments = call->op->schema->arguments;
  for (std::size_t i = call->args.size(); i < arguments.size(); ++i)
    call->args.push_back(arguments[i].default_value);
  for (const Json& each : step.at("outputs")) call->outputs.push_back(&reader.tensor(each));
  return call;
}

bool declaration_takes(const DirectKernel& kernel, const DirectCall& call, bool deterministic) {
  if (kernel.num_known < 0 || call.op->schema->name != kernel.declared.op ||
      !knows_all(kernel, call))
    return false;
  const auto known = static_cast<std::size_t>(kernel.num_known);
  for (std::size_t i = 0; i < std::min(known, call.args.size()); ++i)
    if (!takes_value(kernel, call, i)) return false;
  if (!strides_agree(kernel, call)) return false;
  const bool allocates = (call.op->flags & BP_OP_SHAPE_DATA) != 0;
  for (std::size_t i = 0; i < call.outputs.size(); ++i) {
    if (known + i >= kernel.args.size()) break;
    const bp_arg& arg = kernel.args[known + i];
    const bp_tensor& out = call.outputs[i]->impl.abi;
    if (allocates ? (arg.dtypes && !(arg.dtypes >> out.dtype & 1u)) : !takes_tensor(arg, out))
      return false;
  }
  return !deterministic || (kernel.declared.flags & BP_KERNEL_DETERMINISTIC);
}

void for_each_span(const DirectTensor& tensor,
                   const std::function<void(std::uint64_t, std::uint64_t)>& f) {
  const bp_tensor& abi = tensor.impl.abi;
  if (abi.numel == 0) return;
  if (abi.flags & BP_LAYOUT_DENSE)
    return f(tensor.offset, static_cast<std::uint64_t>(abi.numel) * abi.itemsize);
  for_each_place(abi, [&](std::int64_t place) {
    f(tensor.offset + static_cast<std::uint64_t>(place) * abi.itemsize, abi.itemsize);
  });
}

}  // namespace bp::conform

// Calls of the direct lane: read from a step, which kernel takes one, and what is watched while it runs.
#include <algorithm>
#include <deque>
#include <fmt/format.h>

#include <backplane/dispatcher/registry.hpp>

#include "cases/kernels.hpp"
#include "worker/direct_scope.hpp"
#include "worker/skew.hpp"

namespace bp::conform {

// A tensor of a call, and the object behind it.
struct DirectTensor {
  TensorImpl impl{};  // its first member is what the plugin sees
  int object = 0;
  std::uint64_t offset = 0;  // bytes from the object's first byte

  void lie_in(const GuardedBlock* block) {
    const bp_region place = block ? block->region(offset, 0) : bp_region{};
    impl.abi.dl.data = reinterpret_cast<void*>(place.handle);
    impl.abi.dl.byte_offset = block ? place.offset : offset;
  }
};

// Arguments and outputs point into the other members: it stays where it is.
struct DirectCall {
  // From {"op", "args", "outputs"}. Missing arguments take their defaults.
  DirectCall(const Json& step, DirectScope& scope);
  DirectCall(const DirectCall&) = delete;
  DirectCall& operator=(const DirectCall&) = delete;

  Operator* op = nullptr;
  std::deque<DirectTensor> tensors;
  std::vector<bp_value> args;
  std::vector<DirectTensor*> outputs;
  std::vector<DirectTensor*> inputs;
  ArgumentLists lists;

 private:
  DirectTensor& add_tensor(const Json& json, DirectScope& scope);
};

DirectCall::DirectCall(const Json& step, DirectScope& scope) {
  const std::string& name = step.at("op").get_ref<const std::string&>();
  op = find_operator(name);
  if (!op) refuse("script: there is no operator '{}'", name);
  bp_value device{};
  device.tag = BP_DEVICE;
  device.u.i = 1;
  for (const Json& each : step.at("args"))
    args.push_back(read_value(each, lists, device, [&](const Json& tensor) {
      return &inputs.emplace_back(&add_tensor(tensor, scope))->impl.abi;
    }));
  const auto& arguments = op->schema->arguments;
  for (std::size_t i = args.size(); i < arguments.size(); ++i)
    args.push_back(arguments[i].default_value);
  for (const Json& each : step.at("outputs")) outputs.push_back(&add_tensor(each, scope));
}

DirectTensor& DirectCall::add_tensor(const Json& json, DirectScope& scope) {
  DirectTensor& made = tensors.emplace_back();
  const auto shape = json.at("shape").get<Sizes>(), strides = json.at("strides").get<Sizes>();
  if (shape.size() > max_rank || strides.size() != shape.size())
    refuse("script: shape and strides of a tensor do not fit");
  made.object = json.at("object");
  made.offset = json.value<std::uint64_t>("offset", 0);
  describe_tensor(dtype_from_name(json.at("dtype").get_ref<const std::string&>()), shape, strides,
                  0, made.impl);
  made.lie_in(scope.find_block(made.object));
  made.impl.abi.dl.device = {scope.plugin.info.dl_device_type, scope.plugin.info.dl_device_id};
  return made;
}

namespace {

// Are the arguments that the kernel's schema does not have at their defaults, and those whole that it has as int?
bool knows_all(const DirectKernel& kernel, const DirectCall& call) {
  if (!are_whole(call.args.data(), kernel.known.whole)) return false;
  for (std::size_t i = static_cast<std::size_t>(kernel.known.count); i < call.args.size(); ++i) {
    const bp_value& usual = call.op->schema->arguments[i].default_value;
    if (call.args[i].tag != usual.tag || call.args[i].aux != usual.aux ||
        call.args[i].u.i != usual.u.i)
      return false;
  }
  return true;
}

bool is_taken(const DirectKernel& kernel, const DirectCall& call, bool deterministic) {
  if (kernel.known.count < 0 || !knows_all(kernel, call)) return false;
  std::vector<const bp_tensor*> outputs;
  for (const DirectTensor* each : call.outputs) outputs.push_back(&each->impl.abi);
  return declaration_takes(
             {kernel.declared.op, kernel.args, static_cast<std::size_t>(kernel.known.count)},
             *call.op, call.args, outputs) &&
         (!deterministic || (kernel.declared.flags & BP_KERNEL_DETERMINISTIC));
}

// Calls `f` with the bytes of the tensor's elements, as spans from the object's first byte, in the order of memory where it is
// dense.
template <class F> void for_each_span(const DirectTensor& tensor, F&& f) {
  const bp_tensor& abi = tensor.impl.abi;
  if (abi.numel == 0) return;
  if (abi.flags & BP_LAYOUT_DENSE)
    return f(tensor.offset, static_cast<std::uint64_t>(abi.numel) * abi.itemsize);
  const auto rank = static_cast<std::size_t>(abi.dl.ndim);
  for_each_place({abi.dl.shape, rank}, {abi.dl.strides, rank}, [&](std::int64_t place) {
    f(tensor.offset + static_cast<std::uint64_t>(place) * abi.itemsize, abi.itemsize);
  });
}

void note_roles(DirectScope& scope, const DirectCall& call) {
  for (const DirectTensor* each : call.inputs)
    if (GuardedBlock* const block = scope.own_block(each->object)) block->was_input = true;
  for (const DirectTensor* each : call.outputs)
    if (GuardedBlock* const block = scope.own_block(each->object)) block->was_output = true;
}

void expect_outputs(DirectScope& scope, const DirectCall& call) {
  for (const DirectTensor* each : call.outputs)
    if (GuardedBlock* const block = scope.own_block(each->object))
      for_each_span(
          *each, [&](std::uint64_t offset, std::uint64_t bytes) { block->forget(offset, bytes); });
}

bp_code add_workspace(DirectScope& scope, std::uint64_t bytes, std::uint64_t alignment,
                      bp_region& out) {
  auto made = std::make_unique<GuardedBlock>(scope.plugin, -1, scope.poison);
  const bp_code code = made->allocate(std::max<std::uint64_t>(bytes, 1), alignment);
  if (code != BP_OK) return code;
  out = made->region(0, bytes);
  scope.workspaces.push_back(std::move(made));
  return BP_OK;
}

bp_code add_output(DirectScope& scope, DirectTensor& tensor, std::uint32_t ndim,
                   const std::int64_t* shape) {
  TensorImpl& impl = tensor.impl;
  const Sizes sizes(shape, shape + ndim);
  describe_tensor(static_cast<Dtype>(impl.abi.dtype), sizes, row_major_strides(sizes),
                  impl.abi.dl.byte_offset, impl);
  if (impl.abi.numel == 0) return BP_OK;
  auto made = std::make_unique<GuardedBlock>(scope.plugin, tensor.object, scope.poison);
  const bp_code code = made->allocate(
      static_cast<std::uint64_t>(impl.abi.numel) * impl.abi.itemsize, impl.abi.itemsize);
  if (code != BP_OK) return code;
  tensor.offset = 0;
  tensor.lie_in(made.get());
  scope.blocks[tensor.object] = std::move(made);
  return BP_OK;
}

// A call as a kernel is given it.
class GivenCall {
 public:
  GivenCall(DirectScope& scope, const DirectKernel& kernel, DirectCall& call, const Json& step)
      : scope_(scope), kernel_(kernel), call_(call), step_(step), skew_(read_skew(step)),
        outputs_(static_cast<std::uint32_t>(call.outputs.size())) {
    const bool allocates = (call.op->flags & BP_OP_SHAPE_DATA) != 0;
    for (std::size_t i = 0; i < call.outputs.size(); ++i)
      outputs_[i] = allocates ? nullptr : &call.outputs[i]->impl.abi;
    abi_.h = {sizeof(bp_call), BP_TYPE_CALL, nullptr};
    abi_.op = &call.op->abi;
    abi_.args = call.args.data();
    abi_.outputs = outputs_.data();
    abi_.num_args = static_cast<std::uint32_t>(kernel.known.count);
    abi_.num_outputs = static_cast<std::uint32_t>(call.outputs.size());
    abi_.device = scope.plugin.device;
    abi_.stream = scope.stream_of(step);
    abi_.host_data = &context_;
  }
  GivenCall(const GivenCall&) = delete;
  GivenCall& operator=(const GivenCall&) = delete;

  bp_code run(Json& result) {
    const bp_kernel& declared = kernel_.declared;
    if (declared.supports)
      if (const bp_code says = give(declared.supports); says != BP_OK) return says;
    if (declared.plan)
      if (const bp_code says = plan(); says != BP_OK) return says;
    bp_region fault{};
    if (declared.flags & BP_KERNEL_MAY_FAULT) {
      if (const bp_code code = clear_fault(); code != BP_OK) return code;
      fault = scope_.fault->region(0, 8);
      abi_.fault = &fault;
    }
    told_error() = {};
    const bp_code code = give(declared.run);
    if (code == BP_OK && !(declared.flags & BP_KERNEL_DETERMINISTIC)) ++scope_.plugin.varying_calls;
    if (code == BP_UNSUPPORTED && (declared.supports || declared.plan))
      scope_.watch.add("promises", {{"op", call_.op->name()}, {"kernel", kernel_.place}});
    result["kernel"] = kernel_.place;
    return code;
  }

 private:
  // Calls a function of the kernel with the call as the plugin is to see it.
  template <class... More>
  bp_code give(bp_code (*function)(void*, const bp_call*, More*...), More*... more) {
    if (!skew_) return function(kernel_.declared.self, &abi_, more...);
    DirectHost& host = scope_.plugin.host;
    SkewedCall given(abi_, host.show(call_.op, skew_), skew_);
    skewed_ = &given;
    const bp_code code = function(kernel_.declared.self, given.get(), more...);
    skewed_ = nullptr;
    std::string fault = given.fault();
    if (fault.empty()) fault = host.fault_in_structs();
    if (!fault.empty()) host.note_fault(fmt::format("{}: {}", call_.op->name(), fault));
    return code;
  }

  // Gives the call its plan and workspace: a fresh plan, or that of the step's number, made where it is new.
  bp_code plan() {
    const int number = step_.value("plan", -1);
    const auto found = scope_.plans.find(number);
    DirectScope::KeptPlan plan{&kernel_, {}};
    if (found != scope_.plans.end() && found->second.kernel == &kernel_) {
      plan = found->second;
    } else {
      plan.said.h = {sizeof plan.said, BP_TYPE_PLAN, nullptr};
      told_error() = {};
      if (const bp_code code = give(kernel_.declared.plan, &plan.said); code != BP_OK) return code;
      if (number < 0)
        scope_.fresh_plans.push_back(plan);
      else
        scope_.plans[number] = plan;
    }
    const bp_plan& said = plan.said;
    if (said.alignment & (said.alignment - 1))
      scope_.plugin.host.note_fault(fmt::format("{}: its plan asks for a workspace aligned to {}",
                                                kernel_.declared.op, said.alignment));
    abi_.plan = said.own;
    if (said.workspace == 0) return BP_OK;
    return add_workspace(scope_, said.workspace,
                         said.alignment ? said.alignment : scope_.plugin.offset_alignment(),
                         abi_.workspace);
  }

  bp_code clear_fault() {
    if (!scope_.fault) {
      scope_.fault = std::make_unique<GuardedBlock>(scope_.plugin, -3, scope_.poison);
      if (const bp_code code = scope_.fault->allocate(8, 8); code != BP_OK) return code;
    }
    const std::uint64_t nothing = 0;
    scope_.fault->write(&nothing, sizeof nothing);
    return BP_OK;
  }

  bp_code give_workspace(std::uint64_t bytes, std::uint64_t alignment, bp_region& out) {
    if (!(kernel_.declared.flags & BP_KERNEL_SCRATCH))
      scope_.plugin.host.note_fault(
          fmt::format("{}: asks for a workspace without BP_KERNEL_SCRATCH", call_.op->name()));
    return add_workspace(scope_, bytes, alignment, out);
  }

  bp_code allocate_output(std::uint32_t index, std::uint32_t ndim, const std::int64_t* shape) {
    if (!(call_.op->flags & BP_OP_SHAPE_DATA) || index >= call_.outputs.size()) {
      scope_.plugin.host.note_fault(
          fmt::format("{}: allocate_output of output {}", call_.op->name(), index));
      told_error() = {BP_BAD_ARGUMENT, "allocate_output: not for this operator or output"};
      return BP_BAD_ARGUMENT;
    }
    const bp_code code = add_output(scope_, *call_.outputs[index], ndim, shape);
    if (code != BP_OK) return code;
    outputs_[index] = &call_.outputs[index]->impl.abi;
    if (skewed_) skewed_->show(index, *outputs_[index]);
    return BP_OK;
  }

  DirectScope& scope_;
  const DirectKernel& kernel_;
  DirectCall& call_;
  const Json& step_;
  const Skew skew_;
  PerResult<bp_tensor*> outputs_;
  bp_call abi_{};
  CallContext context_{[this](auto&&... asked) { return give_workspace(asked...); },
                       [this](auto... asked) { return allocate_output(asked...); }};
  SkewedCall* skewed_ = nullptr;  // what the plugin sees of the call, if it is not the call itself
};

// {"do":"call"}: without "kernel" the candidates in the core's order. "kept": parsed once for all repetitions.
Json call(DirectScope& scope, const Json& step) {
  DirectPlugin& plugin = scope.plugin;
  std::shared_ptr<DirectCall> own;
  std::shared_ptr<DirectCall>& call =
      step.contains("kept") ? scope.prepared[step["kept"].get<std::string>()] : own;
  if (!call) call = std::make_shared<DirectCall>(step, scope);
  const bool quiet = step.value("quiet", false);  // many repetitions: the look comes at the end
  if (!quiet) note_roles(scope, *call);
  const int wanted = step.value("kernel", -1);
  Json result = {{"kernel", -1}};
  bp_code code = BP_UNSUPPORTED;
  told_error() = {BP_UNSUPPORTED, "no declared kernel takes this call"};
  for (const DirectKernel& kernel : plugin.kernels) {
    if (wanted >= 0 ? kernel.place != wanted : kernel.declared.op != call->op->schema->name)
      continue;
    if (wanted < 0 && !is_taken(kernel, *call, plugin.host.deterministic != 0)) continue;
    code = GivenCall(scope, kernel, *call, step).run(result);
    if (code != BP_UNSUPPORTED) break;
  }
  if (code == BP_OK) {
    expect_outputs(scope, *call);
    if (code = scope.settle_step(step, true); code != BP_OK) result["late"] = true;
  } else if (code != BP_UNSUPPORTED) {
    static_cast<void>(plugin.queue.synchronize(plugin.device, scope.stream_of(step)));
  }
  result.update(answer(code));
  const bool is_idle = scope.busy.empty();
  if (quiet) {
    if (is_idle) scope.end_workspaces();
    return result;
  }
  std::uint64_t fault = 0;
  if (scope.fault && is_idle) scope.fault->read(&fault, sizeof fault);
  if (fault != 0) result["fault"] = fault;
  Json& outputs = result["outputs"] = Json::array();
  for (const DirectTensor* each : call->outputs) {
    const auto& said = each->impl.abi.dl;
    outputs.push_back({{"shape", Sizes(said.shape, said.shape + said.ndim)}});
  }
  if (is_idle && code != BP_DEVICE_LOST) scope.look_at_all(code == BP_OK ? nullptr : "failed");
  return result;
}

}  // namespace

const DirectSteps call_steps = {{"call", call}};

}  // namespace bp::conform

// Calls of the direct lane: read from a step, which kernel takes one, and what is watched while it runs.
#include <algorithm>
#include <fmt/format.h>

#include <backplane/dispatcher/registry.hpp>

#include "cases/kernels.hpp"
#include "refuse.hpp"
#include "worker/direct_scope.hpp"
#include "worker/skew.hpp"

namespace bp::conform {
namespace {

class CallReader {
 public:
  CallReader(const DirectPlugin& plugin, const std::function<ObjectPlace(int)>& place_of,
             DirectCall& call)
      : plugin_(plugin), place_of_(place_of), call_(call) {}

  DirectTensor& tensor(const Json& json) {
    DirectTensor& made = call_.tensors.emplace_back();
    const auto shape = json.at("shape").get<Sizes>(), strides = json.at("strides").get<Sizes>();
    if (shape.size() > max_rank || strides.size() != shape.size())
      refuse("script: shape and strides of a tensor do not fit");
    made.object = json.at("object").get<int>();
    made.offset = json.value("offset", std::uint64_t{0});
    const ObjectPlace place = place_of_(made.object);
    describe_tensor(dtype_from_name(json.at("dtype").get_ref<const std::string&>()), shape, strides,
                    place.front + made.offset, made.impl);
    made.impl.abi.dl.data = reinterpret_cast<void*>(place.handle);
    made.impl.abi.dl.device = {plugin_.info.dl_device_type, plugin_.info.dl_device_id};
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

bool is_taken(const DirectKernel& kernel, const DirectCall& call, bool deterministic) {
  if (kernel.num_known < 0 || !knows_all(kernel, call)) return false;
  std::vector<const bp_tensor*> outputs;
  for (const DirectTensor* each : call.outputs) outputs.push_back(&each->impl.abi);
  return declaration_takes(
             {kernel.declared.op, kernel.args, static_cast<std::size_t>(kernel.num_known)},
             *call.op, call.args, outputs) &&
         (!deterministic || (kernel.declared.flags & BP_KERNEL_DETERMINISTIC));
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

namespace {

class Context : public CallContext {
 public:
  Context(DirectScope& scope, DirectCall& call, DirectHost& host, bp_tensor** shown,
          bool may_scratch)
      : scope_(scope), call_(call), host_(host), shown_(shown), may_scratch_(may_scratch) {}

  bp_code workspace(std::uint64_t bytes, std::uint64_t alignment, bp_region& out) override {
    if (!may_scratch_)
      host_.note_fault(
          fmt::format("{}: asks for a workspace without BP_KERNEL_SCRATCH", call_.op->name()));
    return scope_.add_workspace(bytes, alignment, out);
  }

  bp_code allocate_output(std::uint32_t index, std::uint32_t ndim,
                          const std::int64_t* shape) override {
    if (!(call_.op->flags & BP_OP_SHAPE_DATA) || index >= call_.outputs.size()) {
      host_.note_fault(fmt::format("{}: allocate_output of output {}", call_.op->name(), index));
      told_error() = {BP_BAD_ARGUMENT, "allocate_output: not for this operator or output"};
      return BP_BAD_ARGUMENT;
    }
    const bp_code code = scope_.add_output(*call_.outputs[index], ndim, shape);
    if (code == BP_OK) shown_[index] = &call_.outputs[index]->impl.abi;
    if (code == BP_OK && skewed) skewed->show(index, *shown_[index]);
    return code;
  }

  SkewedCall* skewed = nullptr;  // what the plugin sees of the call, if it is not the call itself

 private:
  DirectScope& scope_;
  DirectCall& call_;
  DirectHost& host_;
  bp_tensor** shown_;
  const bool may_scratch_;
};

Json shape_json(const bp_tensor& tensor) {
  return Sizes(tensor.dl.shape, tensor.dl.shape + tensor.dl.ndim);
}

}  // namespace

bp_code DirectScope::add_workspace(std::uint64_t bytes, std::uint64_t alignment, bp_region& out) {
  auto made = std::make_unique<GuardedBlock>(plugin_, -1, poison_, false);
  const bp_code code = made->allocate(std::max<std::uint64_t>(bytes, 1), alignment);
  if (code != BP_OK) return code;
  out = {made->handle(), made->front(), bytes};
  workspaces_.push_back(std::move(made));
  return BP_OK;
}

bp_code DirectScope::add_output(DirectTensor& tensor, std::uint32_t ndim,
                                const std::int64_t* shape) {
  TensorImpl& impl = tensor.impl;
  impl.abi.dl.ndim = static_cast<std::int32_t>(ndim);
  std::int64_t stride = 1;
  for (std::uint32_t d = ndim; d-- > 0;) {
    impl.shape[d] = shape[d];
    impl.strides[d] = stride;
    stride *= std::max<std::int64_t>(shape[d], 1);
  }
  update_layout(impl);
  if (impl.abi.numel == 0) return BP_OK;
  auto made = std::make_unique<GuardedBlock>(plugin_, tensor.object, poison_, false);
  const bp_code code = made->allocate(
      static_cast<std::uint64_t>(impl.abi.numel) * impl.abi.itemsize, impl.abi.itemsize);
  if (code != BP_OK) return code;
  tensor.offset = 0;
  impl.abi.dl.data = reinterpret_cast<void*>(made->handle());
  impl.abi.dl.byte_offset = made->front();
  blocks_[tensor.object] = std::move(made);
  return BP_OK;
}

void DirectScope::note_roles(const DirectCall& call) {
  for (const DirectTensor* each : call.inputs)
    if (const auto found = blocks_.find(each->object); found != blocks_.end())
      found->second->was_input = true;
  for (const DirectTensor* each : call.outputs)
    if (const auto found = blocks_.find(each->object); found != blocks_.end())
      found->second->was_output = true;
}

void DirectScope::expect_outputs(const DirectCall& call) {
  for (const DirectTensor* each : call.outputs) {
    const auto found = blocks_.find(each->object);
    if (found == blocks_.end()) continue;
    for_each_span(*each, [&](std::uint64_t offset, std::uint64_t bytes) {
      found->second->forget(offset, bytes);
    });
  }
}

bp_code DirectScope::run_kernel(const DirectKernel& kernel, DirectCall& call, const Json& step,
                                Json& result) {
  const bool allocates = (call.op->flags & BP_OP_SHAPE_DATA) != 0;
  PerResult<bp_tensor*> shown(static_cast<std::uint32_t>(call.outputs.size()));
  for (std::size_t i = 0; i < call.outputs.size(); ++i)
    shown[i] = allocates ? nullptr : &call.outputs[i]->impl.abi;
  bp_call abi{};
  abi.h = {sizeof(bp_call), BP_TYPE_CALL, nullptr};
  abi.op = &call.op->abi;
  abi.args = call.args.data();
  abi.outputs = shown.data();
  abi.num_args = static_cast<std::uint32_t>(kernel.num_known);
  abi.num_outputs = static_cast<std::uint32_t>(call.outputs.size());
  abi.device = plugin_.device;
  abi.stream = stream_of(step);
  Context context(*this, call, plugin_.host, shown.data(),
                  (kernel.declared.flags & BP_KERNEL_SCRATCH) != 0);
  abi.host_data = static_cast<CallContext*>(&context);
  const Ask ask = [&, skew = read_skew(step)](const auto& function) {
    if (!skew) return function(&abi);
    SkewedCall given(abi, plugin_.host.show(call.op, skew), skew);
    context.skewed = &given;
    const bp_code code = function(given.get());
    context.skewed = nullptr;
    std::string fault = given.fault();
    if (fault.empty()) fault = plugin_.host.fault_in_structs();
    if (!fault.empty()) plugin_.host.note_fault(fmt::format("{}: {}", call.op->name(), fault));
    return code;
  };
  const auto give = [&](bp_code (*function)(void*, const bp_call*)) {
    return ask([&](const bp_call* given) { return function(kernel.declared.self, given); });
  };
  bool promised = false;
  if (kernel.declared.supports) {
    const bp_code says = give(kernel.declared.supports);
    if (says != BP_OK) return says;
    promised = true;
  }
  if (kernel.declared.plan) {
    const bp_code says = plan_call(kernel, step, ask, abi);
    if (says != BP_OK) return says;
    promised = true;
  }
  bp_region fault{};
  if (kernel.declared.flags & BP_KERNEL_MAY_FAULT) {
    if (!fault_) {
      fault_ = std::make_unique<GuardedBlock>(plugin_, -3, poison_, false);
      if (const bp_code code = fault_->allocate(8, 8); code != BP_OK) return code;
    }
    const std::uint64_t nothing = 0;
    plugin_.write(fault_->handle(), fault_->front(), &nothing, 8);
    fault = {fault_->handle(), fault_->front(), 8};
    abi.fault = &fault;
  }
  told_error() = {};
  const bp_code code = give(kernel.declared.run);
  if (code == BP_OK && !(kernel.declared.flags & BP_KERNEL_DETERMINISTIC)) ++plugin_.varying_calls;
  if (code == BP_UNSUPPORTED && promised)
    watch.add("promises", {{"op", call.op->name()}, {"kernel", kernel.place}});
  result["kernel"] = kernel.place;
  return code;
}

bp_code DirectScope::plan_call(const DirectKernel& kernel, const Json& step, const Ask& ask,
                               bp_call& call) {
  const int number = step.value("plan", -1);
  const auto found = plans_.find(number);
  KeptPlan plan{&kernel, {}};
  if (found != plans_.end() && found->second.kernel == &kernel) {
    plan = found->second;
  } else {
    plan.said.h = {sizeof plan.said, BP_TYPE_PLAN, nullptr};
    told_error() = {};
    const bp_code code = ask([&](const bp_call* given) {
      return kernel.declared.plan(kernel.declared.self, given, &plan.said);
    });
    if (code != BP_OK) return code;
    if (number < 0)
      fresh_plans_.push_back(plan);
    else
      plans_[number] = plan;
  }
  const bp_plan& said = plan.said;
  if (said.alignment & (said.alignment - 1))
    plugin_.host.note_fault(fmt::format("{}: its plan asks for a workspace aligned to {}",
                                        kernel.declared.op, said.alignment));
  call.plan = said.own;
  if (said.workspace == 0) return BP_OK;
  return add_workspace(said.workspace, said.alignment ? said.alignment : plugin_.offset_alignment(),
                       call.workspace);
}

void DirectScope::release_plans(std::vector<KeptPlan> plans) {
  for (const KeptPlan& each : plans)
    if (each.kernel->declared.release_plan)
      each.kernel->declared.release_plan(each.kernel->declared.self, each.said.own);
}

// {"do":"call"}: without "kernel" the candidates in the core's order. "kept": parsed once for all repetitions.
Json DirectScope::call(const Json& step) {
  const auto places = [this](int object) { return place_of(object); };
  std::unique_ptr<DirectCall> own;
  DirectCall* call = nullptr;
  if (const auto kept = step.find("kept"); kept != step.end()) {
    auto& slot = prepared_[kept->get<std::string>()];
    if (!slot) slot = read_call(step, plugin_, places);
    call = slot.get();
  } else {
    own = read_call(step, plugin_, places);
    call = own.get();
  }
  const bool quiet = step.value("quiet", false);  // many repetitions: the look comes at the end
  if (!quiet) note_roles(*call);
  const int wanted = step.value("kernel", -1);
  Json result = {{"kernel", -1}};
  bp_code code = BP_UNSUPPORTED;
  told_error() = {BP_UNSUPPORTED, "no declared kernel takes this call"};
  for (const DirectKernel& kernel : plugin_.kernels) {
    if (wanted >= 0 ? kernel.place != wanted : kernel.declared.op != call->op->schema->name)
      continue;
    if (wanted < 0 && !is_taken(kernel, *call, plugin_.host.deterministic != 0)) continue;
    code = run_kernel(kernel, *call, step, result);
    if (code != BP_UNSUPPORTED) break;
  }
  if (code == BP_OK) {
    expect_outputs(*call);
    if (code = settle_step(step, true); code != BP_OK) result["late"] = true;
  } else if (code != BP_UNSUPPORTED) {
    static_cast<void>(plugin_.queue.synchronize(plugin_.device, stream_of(step)));
  }
  result.update(answer(code));
  if (quiet) {
    if (busy_.empty()) end_workspaces();
    return result;
  }
  report_faults(result);
  Json& outputs = result["outputs"] = Json::array();
  for (const DirectTensor* each : call->outputs)
    outputs.push_back({{"shape", shape_json(each->impl.abi)}});
  if (busy_.empty() && code != BP_DEVICE_LOST) look_at_all(code == BP_OK ? nullptr : "failed");
  return result;
}

void DirectScope::report_faults(Json& result) {
  if (!fault_ || !busy_.empty()) return;
  std::uint64_t word = 0;
  plugin_.read(fault_->handle(), fault_->front(), &word, 8);
  if (word != 0) result["fault"] = word;
}

}  // namespace bp::conform

#include "recording.hpp"

#include <algorithm>
#include <cstring>

#include <backplane/runtime/call_number.hpp>
#include <backplane/tensor/check.hpp>

namespace bp {
namespace {

void release_name(Storage*) {}  // the recording owns it

// Is this work of the device and stream that are captured?
void check_place(RecordedWork& work, const char* op, const DeviceRecord& record,
                 const StreamImpl& stream) {
  if (&record != &work.record())
    refuse_capture(
        work, ErrorClass::bad_argument,
        fmt::format("{}: is on {}, and this thread captures on {}; end the capture first", op,
                    record.name, work.record().name));
  if (&stream != &work.stream)
    refuse_capture(
        work, ErrorClass::bad_argument,
        fmt::format(
            "{}: is on another stream of {} than the one that this thread captures; end the "
            "capture first",
            op, record.name));
}

// ---- Copies of what a call points to ----

std::uint64_t bytes_of(const bp_value& value) {
  switch (value.tag) {
    case BP_COMPLEX: return 16;
    case BP_STRING: return std::uint64_t{value.aux} + 1;
    case BP_INT_LIST:
    case BP_DOUBLE_LIST: return std::uint64_t{value.aux} * 8;
    case BP_GENERATOR: return sizeof(bp_generator);
    default: return 0;
  }
}

bp_value keep_value(RecordedWork& work, RecordedKernel& kept, const bp_value& given) {
  bp_value value = given;
  const auto keep_tensor = [&](const bp_tensor* tensor) {
    return &kept.tensors.emplace_back(work.keep(*TensorImpl::of(tensor))).impl()->abi;
  };
  if (value.tag == BP_TENSOR) {
    value.u.tensor = keep_tensor(given.u.tensor);
  } else if (value.tag == BP_TENSOR_LIST) {
    const auto* elements = static_cast<const bp_tensor* const*>(given.u.ptr);
    auto& list = kept.lists.emplace_back();
    for (std::uint32_t i = 0; i < given.aux; ++i)
      list.push_back(elements[i] ? keep_tensor(elements[i]) : nullptr);
    value.u.ptr = list.data();
  } else if (const std::uint64_t bytes = bytes_of(given)) {
    auto& copy = kept.bytes.emplace_back(new char[bytes]());
    // A string may lack its zero.
    std::memcpy(copy.get(), given.u.ptr, given.tag == BP_STRING ? given.aux : bytes);
    value.u.ptr = copy.get();
  }
  return value;
}

// As on the short path of calls, where kernels have nothing to ask the host for.
bool may_ask_host(const Candidate& candidate, const Operator& op) {
  return candidate.declared.supports || (candidate.declared.flags & BP_KERNEL_SCRATCH) ||
         op.kind != BP_KIND_POINTWISE;
}

void record_kernel(RecordedWork& work, const Candidate& candidate, Frame& frame, Launch& launch,
                   const bp_call& call, bool reports_faults) {
  RecordedKernel kept;
  kept.candidate = &candidate;
  kept.op = &frame.call.op;
  kept.chain = Chain::sharing(frame.call.op);
  kept.reports_faults = reports_faults;
  kept.may_ask_host = may_ask_host(candidate, frame.op());
  for (std::uint32_t i = 0; i < frame.call.num_args; ++i)
    kept.args.push_back(keep_value(work, kept, frame.call.args[i]));
  for (std::uint32_t i = 0; i < frame.call.num_results; ++i) {
    kept.results.push_back(work.keep(*launch.results[i].impl()));
    kept.outputs.push_back(&kept.results.back().impl()->abi);
  }
  kept.plan = launch.plan.plan();
  kept.call = call;
  kept.call.args = kept.args.data();
  kept.call.outputs = kept.outputs.data();
  kept.call.host_data = nullptr;
  work.calls.emplace_back(std::move(kept));
}

// The device records; the memory must stay.
bp_code give_to_device(RecordedWork& work, const Candidate& candidate, Frame& frame, Launch& launch,
                       bp_call& call, bool reports_faults) {
  const char* op = frame.op().name();
  for_each_tensor(frame.call, [&](std::uint32_t, const bp_tensor& tensor) {
    work.hold(*TensorImpl::of(&tensor)->storage);
  });
  for (std::uint32_t i = 0; i < frame.call.num_results; ++i)
    work.hold(*launch.results[i].impl()->storage);
  if (Chain chain = Chain::sharing(frame.call.op)) work.chains.push_back(std::move(chain));
  if (launch.plan.plan()) work.plans.push_back(launch.plan.plan());
  if (reports_faults) {
    call.fault = &arm_fault(work.stream, op);
    work.fault_operators.push_back(op);
  }
  return candidate.declared.run(candidate.declared.self, &call);
}

// ---- Replaying ----

bp_code run_with_host(RecordedWork& work, RecordedKernel& kept, bp_call call, StreamImpl& stream) {
  const bp_kernel& kernel = kept.candidate->declared;
  Temporaries temporaries;
  Call outer{*kept.op, kept.args.data(), static_cast<std::uint32_t>(kept.args.size()),
             kept.results.data(), static_cast<std::uint32_t>(kept.results.size())};
  // Shapes are settled: only operators whose shape depends on data ask for them.
  Inferred inferred(outer.num_results);
  Frame frame{outer, inferred, work.record(), stream, temporaries};
  Launch launch(frame);
  launch.results = kept.results.data();
  launch.temporaries = &temporaries;
  std::copy(kept.outputs.begin(), kept.outputs.end(), launch.outputs.data());
  call.outputs = launch.outputs.data();
  call.host_data = &launch;
  return kernel.run(kernel.self, &call);
}

void run_kernel(RecordedWork& work, RecordedKernel& kept, StreamImpl& stream) {
  DeviceRecord& record = work.record();
  const bp_kernel& kernel = kept.candidate->declared;
  kept.call.stream = stream.raw;
  if (!record.synchronous) kept.call.number = next_call_number(stream, kept.op->id);
  if (kept.reports_faults) kept.call.fault = &arm_fault(stream, kept.op->name());
  if (!record.synchronous) stream.last_operator.store(kept.op->name(), std::memory_order_relaxed);
  const bp_code code = kept.may_ask_host ? run_with_host(work, kept, kept.call, stream)
                                         : kernel.run(kernel.self, &kept.call);
  if (code != BP_OK)
    throw_stream_error(stream, kept.call.stream, code,
                       fmt::format("replay of {}", kept.op->name()));
  for (const Tensor& result : kept.results) result.impl()->storage->bump_version();
  bump_written(
      {*kept.op, kept.args.data(), static_cast<std::uint32_t>(kept.args.size()), nullptr, 0});
}

void run_copy(RecordedWork& work, const RecordedCopy& copy, StreamImpl& stream) {
  copy_region(work.record(), region_of(copy.target), region_of(copy.source), BP_COPY_WITHIN,
              stream);
  copy.target.impl()->storage->bump_version();
}

// By the device itself, where it can.
bool fill_memory(DeviceRecord& record, const Tensor& target, const void* element,
                 StreamImpl& stream) {
  if (!record.memory->fill) return false;
  const bp_region to = region_of(target);
  clear_plugin_error();
  bp_stream* const used = stream.raw;
  const bp_code code = record.memory->fill(record.handle, &to, element, target.itemsize(), used);
  if (code != BP_OK) throw_stream_error(stream, used, code, "fill");
  return true;
}

void run_fill(RecordedWork& work, const RecordedFill& filled, StreamImpl& stream) {
  DeviceRecord& record = work.record();
  if (fill_memory(record, filled.target, filled.element, stream)) return;
  // The element lives as long as the recording, which outlives its replays.
  const bp_region from = host_region(filled.element, filled.target.nbytes());
  copy_region(record, region_of(filled.target), from, BP_COPY_FROM_HOST, stream);
}

}  // namespace

RecordedWork::RecordedWork(StreamImpl& captured_stream)
    : Recorder(captured_stream, own_memory), own_memory(captured_stream) {}

RecordedWork::~RecordedWork() {
  // A device that fork() has left behind takes no call any more.
  const bool may_call = record().opened || record().lost;
  if (graph && may_call) api.release(record().handle, graph);
  for (Storage* storage : held) storage->drop();
}

Tensor RecordedWork::keep(const TensorImpl& impl) {
  Storage* storage = impl.storage;
  if (own_memory.owns(*storage)) {
    std::unique_ptr<Storage>& name = names[{storage->handle, storage->offset, storage->bytes}];
    if (!name) {
      name = std::make_unique<Storage>();
      name->refs.store(1, std::memory_order_relaxed);
      name->handle = storage->handle;
      name->offset = storage->offset;
      name->bytes = storage->bytes;
      name->device = storage->device;
      name->host_readable = storage->host_readable;
      name->release = release_name;
    }
    storage = name.get();
  }
  TensorImpl* copy = take_impl();
  const auto rank = static_cast<std::size_t>(impl.abi.dl.ndim);
  bp_tensor abi = impl.abi;
  abi.dl.shape = copy->abi.dl.shape;
  abi.dl.strides = copy->abi.dl.strides;
  abi.size = copy->abi.size;
  copy->abi = abi;
  std::copy_n(impl.shape, rank, copy->shape);
  std::copy_n(impl.strides, rank, copy->strides);
  copy->backend = impl.backend;
  copy->keys = 0;
  storage->retain();
  copy->storage = storage;
  return Tensor::adopt(copy);
}

void RecordedWork::hold(Storage& storage) {
  if (own_memory.owns(storage) || !held.insert(&storage).second) return;
  storage.retain();
}

bp_code RecordedWork::kernel(const Candidate& candidate, Frame& frame, Launch& launch,
                             bp_call& call, bool reports_faults) {
  const char* op = frame.op().name();
  check_place(*this, op, frame.record, frame.stream);
  if (frame.op().flags & BP_OP_SHAPE_DATA)
    refuse_capture(
        *this, ErrorClass::unsupported,
        fmt::format(
            "{}: the shape of its result depends on values, which a capture on {} does not have; "
            "call it outside",
            op, frame.record.name));
  bp_code code = BP_OK;
  if (by_device)
    code = give_to_device(*this, candidate, frame, launch, call, reports_faults);
  else
    record_kernel(*this, candidate, frame, launch, call, reports_faults);
  if (code == BP_OK) ++num_calls;
  return code;
}

void RecordedWork::copy(const Tensor& target, const Tensor& source) {
  DeviceRecord& record = device_record(target.device());
  check_place(*this, "copy", record, current_stream_impl(record));
  if (by_device) {
    hold(*target.impl()->storage);
    hold(*source.impl()->storage);
    copy_region(record, region_of(target), region_of(source), BP_COPY_WITHIN, stream);
  } else {
    calls.emplace_back(RecordedCopy{keep(*target.impl()), keep(*source.impl())});
  }
  target.impl()->storage->bump_version();
  ++num_calls;
}

void RecordedWork::fill(const Tensor& target, const void* element) {
  DeviceRecord& record = device_record(target.device());
  check_place(*this, "a number", record, current_stream_impl(record));
  if (by_device) {
    hold(*target.impl()->storage);
    if (!fill_memory(record, target, element, stream))
      refuse_capture(*this, ErrorClass::unsupported,
                     fmt::format("a number: {} takes none within a capture, since it cannot fill "
                                 "memory; make a tensor "
                                 "of it before",
                                 record.name));
  } else {
    RecordedFill filled{keep(*target.impl()), {}};
    std::memcpy(filled.element, element, target.itemsize());
    calls.emplace_back(std::move(filled));
  }
  ++num_calls;
}

void RecordedWork::refuse_host(const Frame& frame) {
  refuse_capture(*this, ErrorClass::unsupported,
                 fmt::format("{}: no kernel of {} takes this call in a capture, and what runs on "
                             "the host cannot be part of a "
                             "capture; call it outside",
                             frame.op().name(), frame.record.name));
}

void replay_call(RecordedWork& work, RecordedCall& call, StreamImpl& stream) {
  if (auto* kernel = std::get_if<RecordedKernel>(&call)) return run_kernel(work, *kernel, stream);
  if (const auto* copy = std::get_if<RecordedCopy>(&call)) return run_copy(work, *copy, stream);
  run_fill(work, std::get<RecordedFill>(call), stream);
}

}  // namespace bp

#include <algorithm>
#include <cstring>

#include <backplane/dispatcher/submit.hpp>
#include <backplane/runtime/allocator.hpp>
#include <backplane/runtime/extensions.hpp>
#include <backplane/runtime/quiet.hpp>

#include "constants.hpp"
#include "counter_slots.hpp"
#include "number_bytes.hpp"

namespace bp {
namespace {

// Null: work goes to a stream.
Recorder* recorder() {
  return static_cast<Recorder*>(current_capture());
}

// Will the kernel report bad indices through the stream's word, if it finds some? Also on a synchronous device,
// where another kernel would return the error: the declaration is a promise of the word.
bool reports_faults(const Candidate& candidate) {
  return (candidate.declared.flags & BP_KERNEL_MAY_FAULT) != 0;
}

// Host memory that a queued copy may still read.
void release_host_memory(void* memory) {
  release_host(memory);
}

void copy_number(const Tensor& target, const void* bytes, DeviceRecord& record,
                 StreamImpl& stream) {
  copy_region(record, region_of(target), host_region(bytes, target.nbytes()), BP_COPY_FROM_HOST,
              stream);
}

}  // namespace

bp_region region_of(const Tensor& tensor) {
  const TensorImpl& impl = *tensor.impl();
  return {impl.storage->handle, impl.abi.dl.byte_offset, tensor.nbytes()};
}

bp_region host_region(const void* memory, std::uint64_t bytes) {
  return {reinterpret_cast<bp_handle>(memory), 0, bytes};
}

bool submit::takes(const Candidate& candidate) {
  const Recorder* recorded = recorder();
  return !recorded || !recorded->by_device || (candidate.declared.flags & BP_KERNEL_CAPTURABLE);
}

bp_code submit::kernel(const Candidate& candidate, Frame& frame, Launch& launch, bp_call& call) {
  if (!frame.record.synchronous) note_run(frame.record, candidate.ran_on);
  const bool varies = !(candidate.declared.flags & BP_KERNEL_DETERMINISTIC);
  const bool faults = reports_faults(candidate);
  if (Recorder* recorded = recorder()) [[unlikely]] {
    if (varies) count_varying();
    return recorded->kernel(candidate, frame, launch, call, faults);
  }
  if (faults) call.fault = &arm_fault(frame.stream, frame.op().name());
  if (!frame.record.synchronous)
    frame.stream.last_operator.store(frame.op().name(), std::memory_order_relaxed);
  const bp_code code = candidate.declared.run(candidate.declared.self, &call);
  if (varies && code == BP_OK) count_varying();
  // Nobody synchronizes a synchronous device: what its kernel found comes out here.
  if (faults && frame.record.synchronous && code == BP_OK) synchronize_stream(frame.stream);
  return code;
}

void submit::copy(const Tensor& target, const Tensor& source) {
  if (Recorder* recorded = recorder()) [[unlikely]]
    return recorded->copy(target, source);
  DeviceRecord& record = device_record(target.device());
  StreamImpl& stream = current_stream_impl(record);
  if (!record.synchronous) {
    note_use(*target.impl(), stream);
    note_use(*source.impl(), stream);
  }
  copy_region(record, region_of(target), region_of(source), BP_COPY_WITHIN, stream);
  target.impl()->storage->bump_version();
}

bool submit::copy_between_peers(const Tensor& target, const Tensor& source) {
  DeviceRecord &to = device_record(target.device()), &from = device_record(source.device());
  // A capture refuses such copies, as it does those through the host.
  if (to.backend != from.backend || recorder()) return false;
  const bp_peer& peer = extensions_of(to).peer;
  if (!peer.copy) return false;
  StreamImpl &to_stream = current_stream_impl(to), &from_stream = current_stream_impl(from);
  note_use(*target.impl(), to_stream);
  note_use(*source.impl(), from_stream);
  const bp_region to_region = region_of(target), from_region = region_of(source);
  clear_plugin_error();
  const bp_code code =
      peer.copy(to.handle, &to_region, to_stream.raw, from.handle, &from_region, from_stream.raw);
  if (code == BP_UNSUPPORTED) return false;
  if (code != BP_OK) throw_plugin_error(to, code, "copy");
  for (StreamImpl* stream : {&to_stream, &from_stream})
    stream->last_operator.store("copy", std::memory_order_relaxed);
  to.from_peers.add(to_region.bytes);
  return true;
}

void submit::fill(const Tensor& target, const Scalar& value) {
  DeviceRecord& record = device_record(target.device());
  StreamImpl& stream = current_stream_impl(record);
  unsigned char element[16];
  number_to_bytes(value, target.dtype(), element);
  if (Recorder* recorded = recorder()) [[unlikely]]
    return recorded->fill(target, element);
  if (record.synchronous) return copy_number(target, element, record, stream);
  void* bytes = allocate_host(sizeof element, 16);
  if (!bytes) throw_error(ErrorClass::out_of_memory, "out of host memory for a number");
  std::copy_n(element, sizeof element, static_cast<unsigned char*>(bytes));
  copy_number(target, bytes, record, stream);
  release_after(stream, release_host_memory, bytes);
}

bool submit::fill_small(const Tensor& target, const Scalar& value) {
  const TensorImpl& impl = *target.impl();
  if (target.nbytes() > constants::filled_in_place_bytes || impl.abi.space != 0 || recorder())
    return false;
  if (!impl.storage || !impl.storage->host_readable || !device_record(target.device()).synchronous)
    return false;
  unsigned char element[16];
  number_to_bytes(value, target.dtype(), element);
  auto* bytes = static_cast<unsigned char*>(target.data_ptr());
  for (std::uint64_t place = 0; place < target.nbytes(); place += target.itemsize())
    std::memcpy(bytes + place, element, target.itemsize());
  impl.storage->bump_version();
  return true;
}

void submit::hold(const Tensor& scratch) {
  if (Recorder* recorded = recorder()) recorded->hold(scratch);
}

void submit::on_host(const Frame& frame) {
  if (Recorder* recorded = recorder()) [[unlikely]]
    recorded->refuse_host(frame);
}

}  // namespace bp

// The common case of the call path, in one function that a reader can hold in mind: see
// docs/performance.md for what each nanosecond goes to.
#include <array>
#include <bit>
#include <cstring>

#include <backplane/dispatcher/call.hpp>
#include <backplane/dispatcher/rung_policy.hpp>
#include <backplane/runtime/allocator.hpp>
#include <backplane/runtime/call_number.hpp>
#include <backplane/runtime/quiet.hpp>
#include <backplane/runtime/stream.hpp>
#include <backplane/tensor/number_range.hpp>

#include "counter_slots.hpp"
#include "kernel_table.hpp"
#include "new_result.hpp"

namespace bp {
namespace {

// What the tensors of a common call agree on.
struct Common {
  const TensorImpl* first = nullptr;
  const KernelEntry* entry = nullptr;
  DeviceRecord* record = nullptr;
};

// Same device, memory space, number of elements, dtype and shape. The first four are three words side
// by side in bp_tensor.
inline bool alike(const bp_tensor& a, const bp_tensor& b) {
  static_assert(offsetof(bp_tensor, numel) == offsetof(bp_tensor, device) + 8 &&
                offsetof(bp_tensor, dtype) == offsetof(bp_tensor, device) + 16);
  std::uint64_t x[3], y[3];
  std::memcpy(x, &a.device, sizeof x);
  std::memcpy(y, &b.device, sizeof y);
  if (((x[0] ^ y[0]) | (x[1] ^ y[1]) | (x[2] ^ y[2])) != 0 || a.dl.ndim != b.dl.ndim) return false;
  for (std::int32_t i = 0; i < a.dl.ndim; ++i)
    if (a.dl.shape[i] != b.dl.shape[i]) return false;
  return true;
}

// Integers that a narrower dtype may not hold are looked at apart, so that others cost one look.
[[gnu::noinline]] bool narrow_fits(const bp_value& value, std::uint32_t dtype) {
  return value.tag == BP_INT && contains(dtypes::integral, static_cast<Dtype>(dtype)) &&
         holds_plain_integer(dtype, value);
}

// Would this number leave the dtype of the tensors as it is, and is it one of its numbers? Per tag, the dtypes
// for which that needs no further look; with `aux` set it is none of them.
inline bool number_fits(const bp_value& value, std::uint32_t dtype) {
  static constexpr auto fitting = [] {
    std::array<DtypeSet, 16> sets{};
    sets[BP_BOOLEAN] = dtypes::computed;
    sets[BP_INT] = dtypes::floating | dtypes::complex | set_of(i64);
    sets[BP_DOUBLE] = dtypes::floating | dtypes::complex;
    return sets;
  }();
  std::uint64_t tag;  // and aux, which is 0
  std::memcpy(&tag, &value, sizeof tag);
  if (tag >= fitting.size()) [[unlikely]]
    return false;
  return (fitting[tag] >> dtype & 1u) != 0 || narrow_fits(value, dtype);
}

// The open device of a tensor in its main memory, else null: kernels of the table take no other. The device and the space lie
// side by side, so that one comparison looks at both.
inline DeviceRecord* record_of_main_memory(const bp_tensor& tensor) {
  static_assert(offsetof(bp_tensor, space) == offsetof(bp_tensor, device) + 4 &&
                std::endian::native == std::endian::little);
  std::uint64_t both;
  std::memcpy(&both, &tensor.device, sizeof both);
  if (both >= max_devices) [[unlikely]]
    return nullptr;
  return &device_record({static_cast<std::uint32_t>(both)});
}

// Finds the kernel if the call is a common one: no layer looks, all tensors are alike and
// contiguous, and a kernel takes every such call.
inline bool find_common(const Operator& op, const ThreadState& state, const bp_value* args,
                        std::uint32_t num_args, Common& common) {
  if (args[0].tag != BP_TENSOR) return false;
  const TensorImpl* first = TensorImpl::of(args[0].u.tensor);
  const std::uint32_t dtype = first->abi.dtype;
  std::uint64_t keys = state.included_layers | first->keys;
  if (keys & ~state.excluded_layers) return false;  // soon, since recorded calls come here as well
  std::uint32_t flags = first->abi.flags;
  for (std::uint32_t i = 1; i < num_args; ++i) {
    if (args[i].tag == BP_TENSOR) {
      const TensorImpl* impl = TensorImpl::of(args[i].u.tensor);
      keys |= impl->keys;
      flags &= impl->abi.flags;
      if (impl != first && !alike(first->abi, impl->abi)) return false;
    } else if (!number_fits(args[i], dtype)) {
      return false;
    }
  }
  if ((keys & ~state.excluded_layers) || !(flags & BP_LAYOUT_CONTIGUOUS) || first->abi.numel == 0)
    return false;
  const KernelTable* table = table_of(op, first->backend);
  if (!table || !table->entries[dtype].run) return false;
  if (table->entries[dtype].generated && generated_is_restricted()) return false;
  common.first = first;
  common.entry = &table->entries[dtype];
  common.record = record_of_main_memory(first->abi);
  return common.record != nullptr;
}

// The one allocation of the call path: a contiguous tensor of `like`'s shape on its device. Everything that depends on
// the shape alone is copied.
inline Tensor empty_like_contiguous(const TensorImpl& like, Dtype dtype, DeviceRecord& record,
                                    std::uint64_t keys) {
  TensorImpl* impl = take_impl();
  impl->storage = nullptr;  // so that the tensor can be dropped if there is no memory
  Tensor result = Tensor::adopt(impl);
  const std::uint32_t bytes = itemsize(dtype);
  Storage* storage = allocate_storage(record, static_cast<std::uint64_t>(like.abi.numel) * bytes);
  impl->storage = storage;
  impl->backend = like.backend;
  impl->keys = keys;
  bp_tensor& abi = impl->abi;
  abi.flags = like.abi.flags;
  abi.dl.data = reinterpret_cast<void*>(storage->handle);
  abi.dl.device = like.abi.dl.device;
  abi.dl.ndim = like.abi.dl.ndim;
  abi.dl.dtype = dl_dtype(dtype);
  abi.dl.byte_offset = storage->offset;
  abi.device = like.abi.device;
  abi.space = 0;
  abi.numel = like.abi.numel;
  abi.dtype = index(dtype);
  abi.itemsize = bytes;
  for (std::int32_t i = 0; i < like.abi.dl.ndim; ++i) {
    impl->shape[i] = like.shape[i];
    impl->strides[i] = like.strides[i];
  }
  return result;
}

inline void note_uses(const bp_value* args, std::uint32_t num_args, const TensorImpl& out,
                      StreamImpl& stream) {
  for (std::uint32_t i = 0; i < num_args; ++i)
    if (args[i].tag == BP_TENSOR) note_use(*TensorImpl::of(args[i].u.tensor), stream);
  note_use(out, stream);
}

// False if the kernel says that it cannot take this call after all. The compiler finds it too long, by 30 instructions a call.
[[gnu::always_inline]] inline bool run_common(const Operator& op, ThreadState& state,
                                              const bp_value* args, std::uint32_t num_args,
                                              const Common& common, TensorImpl& out) {
  bp_tensor* outputs[1] = {&out.abi};
  StreamImpl& stream = current_stream_impl(*common.record);
  bp_call call;
  call.h = {sizeof(bp_call), BP_TYPE_CALL, nullptr};
  call.op = &op.abi;
  call.args = args;
  call.outputs = outputs;
  call.num_args = num_args;
  call.num_outputs = 1;
  call.device = common.record->handle;
  call.stream = stream.raw;
  call.fault = nullptr;
  call.host_data = nullptr;
  call.number = 0;
  call.plan = nullptr;
  call.workspace = {};
  if (!common.record->synchronous) {
    note_run(*common.record, *common.entry->ran_on);
    call.number = next_call_number(stream, op.id);
    stream.last_operator.store(op.name(), std::memory_order_relaxed);
    note_uses(args, num_args, out, stream);
  }
  const bp_code code = common.entry->run(common.entry->self, &call);
  if (code != BP_OK) [[unlikely]] {
    if (code == BP_UNSUPPORTED) return false;
    throw_stream_error(stream, call.stream, code, op.name());
  }
  if (!state.uncounted_depth) count_call(state, common.entry->counter);
  return true;
}

// May the kernel write into `out` while it reads the arguments?
inline bool takes_output(const Common& common, const ThreadState& state, const bp_value* args,
                         std::uint32_t num_args, const TensorImpl& out) {
  // Only results of the inputs' own dtype: comparisons into an output take the long way.
  if (!(out.abi.flags & BP_LAYOUT_CONTIGUOUS) || (out.keys & ~state.excluded_layers) ||
      static_cast<Dtype>(out.abi.dtype) != common.entry->result_dtype ||
      (&out != common.first && !alike(out.abi, common.first->abi)))
    return false;
  for (std::uint32_t i = 0; i < num_args; ++i) {
    if (args[i].tag != BP_TENSOR) continue;
    const TensorImpl* in = TensorImpl::of(args[i].u.tensor);
    if (in->storage != out.storage) continue;
    if (in->abi.dl.byte_offset != out.abi.dl.byte_offset || !common.entry->in_place_safe)
      return false;
  }
  return true;
}

}  // namespace

Tensor call_pointwise(Operator& op, bp_value* args, std::uint32_t num_args) {
  ThreadState& state = thread_state();
  Common common;
  if (!find_common(op, state, args, num_args, common)) [[unlikely]]
    return call_one(op, args, num_args);
  Tensor out = make_result_of(op, [&] {
    return empty_like_contiguous(*common.first, common.entry->result_dtype, *common.record,
                                 state.new_tensor_keys);
  });
  if (!run_common(op, state, args, num_args, common, *out.impl())) [[unlikely]]
    return call_one(op, args, num_args);
  return out;
}

void call_pointwise_into(Operator& op, bp_value* args, std::uint32_t num_args, const Tensor& out) {
  ThreadState& state = thread_state();
  Common common;
  if (!out.defined() || !find_common(op, state, args, num_args, common) ||
      !takes_output(common, state, args, num_args, *out.impl())) [[unlikely]]
    return call_one_into(op, args, num_args, out);
  if (!run_common(op, state, args, num_args, common, *out.impl())) [[unlikely]]
    return call_one_into(op, args, num_args, out);
  out.impl()->storage->bump_version();
}

}  // namespace bp

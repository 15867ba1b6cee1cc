#include <algorithm>
#include <bit>
#include <utility>

#include <backplane/dispatcher/launch.hpp>
#include <backplane/dispatcher/submit.hpp>
#include <backplane/dispatcher/transfer.hpp>
#include <backplane/runtime/call_number.hpp>
#include <backplane/runtime/settings.hpp>
#include <backplane/runtime/spaces.hpp>
#include <backplane/tensor/check.hpp>

#include "new_result.hpp"

namespace bp {
namespace {

bool accepts_tensor(const bp_arg& arg, const bp_tensor& tensor) {
  if (!(arg.dtypes >> tensor.dtype & 1u) || !(arg.layouts & tensor.flags)) return false;
  if (!(arg.spaces >> tensor.space & 1u)) return false;
  const int ndim = tensor.dl.ndim;
  if (ndim < arg.min_rank || (arg.max_rank && ndim > arg.max_rank)) return false;
  return arg.alignment <= 1 || tensor.dl.byte_offset % arg.alignment == 0;
}

// A kernel that asks for density alone walks all its tensors in memory order: their orders must agree.
bool dense_orders_agree(const Candidate& candidate, const Frame& frame) {
  const TensorImpl* first = nullptr;
  bool agree = true;
  for_each_tensor(frame.call, [&](std::uint32_t place, const bp_tensor& tensor) {
    if (place >= candidate.num_known) return;
    const std::uint32_t layouts = candidate.args[place].layouts;
    if (!(layouts & BP_LAYOUT_DENSE) || (layouts & BP_LAYOUT_STRIDED)) return;
    const TensorImpl* impl = TensorImpl::of(&tensor);
    const auto rank = static_cast<std::size_t>(tensor.dl.ndim);
    if (!first)
      first = impl;
    else if (!(IntList{impl->strides, rank} ==
               IntList{first->strides, static_cast<std::size_t>(first->abi.dl.ndim)}))
      agree = false;
  });
  return agree;
}

bool accepts_value(const bp_arg& arg, const bp_value& value) {
  if (value.tag == BP_TENSOR) return accepts_tensor(arg, *value.u.tensor);
  if (value.tag != BP_TENSOR_LIST) return true;
  auto* elements = static_cast<const bp_tensor* const*>(value.u.ptr);
  for (std::uint32_t i = 0; i < value.aux; ++i)
    if (elements[i] && !accepts_tensor(arg, *elements[i])) return false;
  return true;
}

bool is_number(const bp_value& value) {
  return value.tag == BP_INT || value.tag == BP_DOUBLE || value.tag == BP_BOOLEAN ||
         value.tag == BP_COMPLEX;
}

// The tensors of a Tensor[] at the end share one declaration.
const bp_arg& output_declaration(const Candidate& candidate, std::uint32_t index) {
  const std::uint32_t last = candidate.num_declared_results - 1;
  return candidate.args[candidate.num_known + std::min(index, last)];
}

// Are the arguments that the kernel's schema does not have as if they were absent, and those whole that it has as int?
bool knows_all(const Candidate& candidate, const Frame& frame) {
  if (!are_whole(frame.call.args, candidate.whole)) return false;
  for (std::uint32_t i = candidate.num_known; i < frame.call.num_args; ++i) {
    const bp_value& given = frame.call.args[i];
    const bp_value& usual = frame.op().schema->arguments[i].default_value;
    if (given.tag != usual.tag || given.aux != usual.aux || given.u.i != usual.u.i) return false;
  }
  return true;
}

// May the kernel write straight into this given tensor?
bool writes_directly(const Candidate& candidate, const Frame& frame, std::uint32_t index) {
  const TensorImpl& out = *frame.call.results[index].impl();
  if (static_cast<Dtype>(out.abi.dtype) != frame.inferred.outputs[index].dtype) return false;
  if (!accepts_tensor(output_declaration(candidate, index), out.abi)) return false;
  if (has_internal_overlap(out)) return false;
  const bool in_place_safe = (candidate.declared.flags & BP_KERNEL_IN_PLACE_SAFE) != 0;
  bool free_of_inputs = true;
  for_each_tensor(frame.call, [&](std::uint32_t, const bp_tensor& input) {
    const TensorImpl& in = *TensorImpl::of(&input);
    if (in_place_safe && is_exact_alias(in, out)) return;
    if (may_overlap(in, out)) free_of_inputs = false;
  });
  return free_of_inputs;
}

// The strides that all full-size inputs share, if those are dense: results then lie the same way.
bool shared_dense_strides(const Frame& frame, std::uint32_t index, IntList& strides) {
  if (frame.op().kind != BP_KIND_POINTWISE && frame.op().kind != BP_KIND_COPY) return false;
  const IntList shape = frame.inferred.outputs[index].shape;
  const TensorImpl* first = nullptr;
  bool agree = true;
  for_each_tensor(frame.call, [&](std::uint32_t, const bp_tensor& input) {
    const TensorImpl* impl = TensorImpl::of(&input);
    const IntList own{impl->shape, static_cast<std::size_t>(input.dl.ndim)};
    if (!(own == shape) || !(input.flags & BP_LAYOUT_DENSE))
      agree = false;
    else if (!first)
      first = impl;
    else if (!(IntList{impl->strides, own.size()} == IntList{first->strides, own.size()}))
      agree = false;
  });
  if (!agree || !first || (first->abi.flags & BP_LAYOUT_CONTIGUOUS)) return false;
  strides = {first->strides, shape.size()};
  return true;
}

// A kernel of windows that declares channels-last for a result gets it so where its first tensor lies so.
bool follows_channels_last(const Candidate& candidate, const Frame& frame, std::uint32_t index) {
  if (frame.op().kind != BP_KIND_CONVOLUTION || frame.inferred.outputs[index].shape.size() != 4)
    return false;
  if (!(output_declaration(candidate, index).layouts & BP_LAYOUT_CHANNELS_LAST)) return false;
  if (frame.call.num_args == 0 || frame.call.args[0].tag != BP_TENSOR) return false;
  const std::uint32_t flags = frame.call.args[0].u.tensor->flags;
  return (flags & BP_LAYOUT_CHANNELS_LAST) && !(flags & BP_LAYOUT_CONTIGUOUS);
}

bool is_shape_from_data(const Frame& frame) {
  return (frame.op().flags & BP_OP_SHAPE_DATA) != 0;
}

// The memory for a result: that of the arguments if the kernel writes there, else the first that it does write.
std::uint32_t space_for(const Candidate& candidate, const Frame& frame, std::uint32_t index) {
  const std::uint32_t spaces = output_declaration(candidate, index).spaces;
  if (spaces == 1) [[likely]]
    return 0;
  const std::uint32_t common = common_space(frame);
  return (spaces >> common & 1u) ? common : static_cast<std::uint32_t>(std::countr_zero(spaces));
}

// For `supports`: the outputs that `run` would get, without memory.
void show_results(const Candidate& candidate, const Frame& frame, Launch& launch,
                  PerResult<Tensor>& shown) {
  if (is_shape_from_data(frame)) return;
  for (std::uint32_t i = 0; i < frame.call.num_results; ++i) {
    const OutputSpec& spec = frame.inferred.outputs[i];
    shown[i] = empty_tensor(spec.shape, spec.dtype, meta_device);
    shown[i].impl()->abi.space = space_for(candidate, frame, i);
    launch.outputs[i] = &shown[i].impl()->abi;
  }
}

void check_shape_from_data(const Frame& frame, const Launch& launch, std::uint32_t index) {
  if (!launch.results[index].defined())
    throw_error(ErrorClass::internal,
                fmt::format("{}: the kernel of {} did not allocate output {}; it must call "
                            "host->allocate_output",
                            frame.op().name(), frame.record.name, index));
}

Tensor empty_result_in(std::uint32_t space, Frame& frame, std::uint32_t index) {
  const OutputSpec& spec = frame.inferred.outputs[index];
  try {
    return empty_tensor_in(space, spec.shape, spec.dtype, frame.device());
  } catch (const Error& error) {
    if (error.error_class() == ErrorClass::out_of_memory) frame.shortage = error.what();
    throw;
  }
}

Tensor empty_result(const Candidate& candidate, Frame& frame, std::uint32_t index) {
  const OutputSpec& spec = frame.inferred.outputs[index];
  if (const std::uint32_t space = space_for(candidate, frame, index)) [[unlikely]]
    return empty_result_in(space, frame, index);
  if (follows_channels_last(candidate, frame, index))
    return empty_tensor(spec.shape, spec.dtype, frame.device(), MemoryFormat::channels_last);
  IntList strides;
  if (shared_dense_strides(frame, index, strides))
    return empty_strided_tensor(spec.shape, strides, spec.dtype, frame.device());
  return empty_tensor(spec.shape, spec.dtype, frame.device());
}

// False: a memory besides the main one has no room for it.
bool allocate_or_say_short(const Candidate& candidate, Frame& frame, std::uint32_t index,
                           Tensor& result) {
  try {
    result = allocate_result(candidate, frame, index);
    return true;
  } catch (const Error&) {
    if (frame.shortage.empty()) throw;
    return false;
  }
}

// A result that its kernel wrote where the arguments are not belongs into main memory.
Tensor at_home(Tensor result, const Frame& frame) {
  const std::uint32_t space = result.impl()->abi.space;
  if (space == 0 || space == common_space(frame)) [[likely]]
    return result;
  return to_space(result, 0);
}

}  // namespace

bool accepts(const Candidate& candidate, Frame& frame) {
  const Call& call = frame.call;
  if (!submit::takes(candidate)) [[unlikely]]
    return false;
  if (!knows_all(candidate, frame)) return false;
  for (std::uint32_t i = 0; i < candidate.num_known; ++i) {
    const bool number = (frame.op().scalar_ok >> i & 1) && is_number(call.args[i]);
    if (number && !candidate.args[i].scalar_ok) return false;
    if (!accepts_value(candidate.args[i], call.args[i])) return false;
  }
  if (!dense_orders_agree(candidate, frame)) return false;
  for (std::uint32_t i = 0; i < call.num_results; ++i) {
    if (!contains(output_declaration(candidate, i).dtypes, frame.inferred.outputs[i].dtype))
      return false;
  }
  if (deterministic() && !(candidate.declared.flags & BP_KERNEL_DETERMINISTIC)) return false;
  if (!candidate.declared.supports) return true;
  Launch launch(frame);
  PerResult<Tensor> shown(call.num_results);
  show_results(candidate, frame, launch, shown);
  bp_call abi_call = make_abi_call(frame, launch);
  abi_call.num_args = candidate.num_known;
  return candidate.declared.supports(candidate.declared.self, &abi_call) == BP_OK;
}

void throw_for_result_of(const Operator& op, const Error& error) {
  const bool is_memory = error.error_class() == ErrorClass::out_of_memory;
  throw_error(error.error_class(),
              is_memory ? fmt::format("{}: {}", op.name(), error.what()) : error.what());
}

Tensor allocate_result(const Candidate& candidate, Frame& frame, std::uint32_t index) {
  return make_result_of(frame.op(), [&] { return empty_result(candidate, frame, index); });
}

bp_region allocate_workspace(Launch& launch, std::uint64_t bytes, std::uint64_t alignment) {
  const DeviceRecord& record = launch.frame->record;
  const char* op = launch.frame->op().name();
  const std::uint64_t usual = std::max<std::uint64_t>(record.info.offset_alignment, 64);
  constexpr std::uint64_t most = std::uint64_t{1} << 62;
  BP_CHECK(alignment == 0 || std::has_single_bit(alignment),
           "{}: a workspace aligned to {}, which is not a power of 2", op, alignment);
  const std::uint64_t room = alignment > usual ? alignment : 0;
  if (bytes > most || room > most - bytes)
    throw_error(
        ErrorClass::out_of_memory,
        fmt::format("{}: a workspace of {} bytes, aligned to {}, is more than any device has", op,
                    bytes, alignment));
  Tensor scratch =
      empty_tensor({static_cast<std::int64_t>(bytes + room)}, Dtype::u8, record.device);
  bp_region region = region_of(scratch);
  region.bytes = bytes;
  if (room != 0) {
    const bool has_addresses = (record.info.flags & BP_DEVICE_REAL_ADDRESSES) != 0;
    const std::uint64_t place = (has_addresses ? region.handle : 0) + region.offset;
    region.offset += (~place + 1) & (alignment - 1);
  }
  submit::hold(scratch);
  launch.temporaries->keep(std::move(scratch));
  return region;
}

bp_call make_abi_call(Frame& frame, Launch& launch) {
  bp_call abi{};
  abi.h = {sizeof(bp_call), BP_TYPE_CALL, nullptr};
  abi.op = &frame.op().abi;
  abi.args = frame.call.args;
  abi.outputs = launch.outputs.data();
  abi.num_args = frame.call.num_args;
  abi.num_outputs = frame.call.num_results;
  abi.device = frame.record.handle;
  abi.stream = frame.stream.raw;
  abi.host_data = &launch;
  if (!frame.record.synchronous) abi.number = next_call_number(frame.stream, frame.op().id);
  return abi;
}

std::uint32_t common_space(const Frame& frame) {
  std::uint32_t common = 0;
  bool is_first = true, agree = true;
  for_each_tensor(frame.call, [&](std::uint32_t, const bp_tensor& tensor) {
    if (std::exchange(is_first, false)) common = tensor.space;
    agree &= tensor.space == common;
  });
  return agree ? common : 0;
}

bool launch(const Candidate& candidate, Frame& frame) {
  const Call& call = frame.call;
  PerResult<Tensor> written(call.num_results);
  PerResult<bool> direct(call.num_results);
  Launch launch(frame);
  launch.results = written.data();
  launch.temporaries = &frame.temporaries;
  for (std::uint32_t i = 0; i < call.num_results; ++i) {
    if (is_shape_from_data(frame)) continue;
    direct[i] = call.results[i].defined() && writes_directly(candidate, frame, i);
    if (direct[i])
      written[i] = call.results[i];
    else if (!allocate_or_say_short(candidate, frame, i, written[i]))
      return false;
    launch.outputs[i] = &written[i].impl()->abi;
  }
  bp_call abi_call = make_abi_call(frame, launch);
  abi_call.num_args = candidate.num_known;
  if (candidate.plans && !plan_call(candidate, frame, launch, abi_call)) return false;
  const bp_code code = submit::kernel(candidate, frame, launch, abi_call);
  if (code == BP_UNSUPPORTED) return false;
  bump_written(call);
  if (code != BP_OK) throw_stream_error(frame.stream, abi_call.stream, code, frame.op().name());
  for (std::uint32_t i = 0; i < call.num_results; ++i) {
    if (is_shape_from_data(frame)) check_shape_from_data(frame, launch, i);
    if (direct[i]) {
      written[i].impl()->storage->bump_version();
    } else if (call.results[i].defined()) {
      copy_into(call.results[i], written[i]);
    } else {
      call.results[i] = at_home(std::move(written[i]), frame);
    }
  }
  return true;
}

}  // namespace bp

// Rung 2: a call in other clothes. Dtypes go up to one that a kernel takes, without loss, and the
// result comes back down; layouts become contiguous; numbers become tensors; what lies in another memory than the
// kernel takes is copied into one that it does take.
#include <bit>

#include <backplane/dispatcher/launch.hpp>
#include <backplane/dispatcher/transfer.hpp>
#include <backplane/runtime/allocator.hpp>
#include <backplane/tensor/views.hpp>

#include "converted_call.hpp"
#include "counter_slots.hpp"
#include "kernel_table.hpp"
#include "ladder.hpp"

namespace bp {
namespace {

bool is_promoted(const Operator& op, std::uint32_t place) {
  return op.promoted >> place & 1u;
}

// The narrowest dtype that all promoted places of the candidate take, besides `from` itself.
bool choose_dtype(const Frame& frame, const Candidate& candidate, Dtype from, Dtype& chosen) {
  DtypeSet possible = lossless_targets(from) | set_of(from);
  for (std::size_t i = 0; i < candidate.num_known; ++i)
    if (is_promoted(frame.op(), static_cast<std::uint32_t>(i)))
      possible &= candidate.args[i].dtypes;
  if (contains(possible, from)) return chosen = from, true;
  for (Dtype dtype : {i16, u16, i32, u32, f32, i64, u64, f64, complex128})
    if (contains(possible, dtype)) return chosen = dtype, true;
  return false;
}

// In `dtype`, with strides and in a memory that the candidate takes.
Tensor converted_for(const bp_arg* declared, const bp_tensor* tensor, Dtype dtype) {
  const bool stays = static_cast<Dtype>(tensor->dtype) == dtype &&
                     (!declared || (declared->layouts & tensor->flags));
  Tensor made = stays ? tensor_of(tensor) : converted(tensor, dtype);
  if (!declared || (declared->spaces >> made.impl()->abi.space & 1u)) return made;
  return to_space(made, static_cast<std::uint32_t>(std::countr_zero(declared->spaces)));
}

// A copy of bytes moves dense tensors from one memory to another; others need a kernel on the way.
bool lies_right(const bp_arg& declared, const bp_tensor& tensor) {
  return (declared.layouts & tensor.flags) &&
         ((declared.spaces >> tensor.space & 1u) || (tensor.flags & BP_LAYOUT_DENSE));
}

// Has the device all that the conversion takes?
bool can_convert(const Frame& frame, const Candidate& candidate, Dtype from, Dtype to) {
  bool lie_right = from == to;
  for_each_tensor(frame.call, [&](std::uint32_t place, const bp_tensor& tensor) {
    lie_right =
        lie_right && (place >= candidate.num_known || lies_right(candidate.args[place], tensor));
  });
  return lie_right || converts_by_kernel(frame, from, to);
}

// The call's arguments in the form that the candidate takes.
void convert_arguments(Frame& frame, const Candidate& candidate, Dtype from, Dtype to,
                       Temporaries& kept) {
  const Call& call = frame.call;
  for (std::uint32_t i = 0; i < call.num_args; ++i) {
    bp_value& value = call.args[i];
    const bool scalar_ok = i < candidate.num_known && candidate.args[i].scalar_ok;
    if ((frame.op().scalar_ok >> i & 1u) && value.tag != BP_TENSOR && !scalar_ok) {
      const Scalar number = Scalar::from_value(value);
      Tensor filled =
          views::expand(scalar_tensor(number, to, frame.device()), frame.inferred.outputs[0].shape);
      value = {};
      value.tag = BP_TENSOR;
      value.u.tensor = kept.keep(std::move(filled));
    }
  }
  rewrite_tensors(call, kept, [&](std::uint32_t place, const bp_tensor* tensor) {
    const Dtype own = static_cast<Dtype>(tensor->dtype);
    const Dtype wanted = is_promoted(frame.op(), place) && own == from ? to : own;
    const bp_arg* declared = place < candidate.num_known ? &candidate.args[place] : nullptr;
    const bool lies_well = !declared || ((declared->layouts & tensor->flags) &&
                                         (declared->spaces >> tensor->space & 1u));
    if (wanted == own && lies_well) return tensor;
    return kept.keep(converted_for(declared, tensor, wanted));
  });
}

// The dtype of all promoted tensors, or of the first one.
Dtype source_dtype(const Frame& frame) {
  if (frame.inferred.converts) return frame.inferred.compute_dtype;
  Dtype dtype = frame.inferred.outputs[0].dtype;
  bool found = false;
  for_each_tensor(frame.call, [&](std::uint32_t place, const bp_tensor& tensor) {
    if (found || !(is_promoted(frame.op(), place) || frame.op().promoted == 0)) return;
    dtype = static_cast<Dtype>(tensor.dtype);
    found = true;
  });
  return dtype;
}

// Does the candidate take a tensor from another memory than the main one alone?
bool asks_for_space(const Candidate& candidate) {
  for (std::size_t i = 0; i < candidate.num_known; ++i)
    if (!(candidate.args[i].spaces & 1u)) return true;
  return false;
}

// False: a memory that the candidate asks for has no room.
bool convert_or_say_short(Frame& frame, const Candidate& candidate, Dtype from, Dtype to,
                          Temporaries& kept) {
  try {
    convert_arguments(frame, candidate, from, to, kept);
    return true;
  } catch (const Error& error) {
    if (error.error_class() != ErrorClass::out_of_memory || !asks_for_space(candidate)) throw;
    frame.shortage = error.what();
    return false;
  }
}

bool try_candidate(Frame& frame, const Candidate& candidate, Dtype from) {
  Dtype to;
  if (!choose_dtype(frame, candidate, from, to) || !can_convert(frame, candidate, from, to))
    return false;
  UncountedScope uncounted;
  // If the candidate still says no, the next one starts afresh.
  ConvertedCall copy(frame);
  Inferred inferred = frame.inferred;
  for (std::uint32_t i = 0; i < copy.call.num_results; ++i)
    if (from != to && inferred.outputs[i].dtype == from) inferred.outputs[i].dtype = to;
  Frame converted_frame{copy.call, inferred, frame.record, frame.stream, copy.kept};
  if (!convert_or_say_short(converted_frame, candidate, from, to, copy.kept) ||
      !accepts(candidate, converted_frame) || !launch(candidate, converted_frame)) {
    if (!converted_frame.shortage.empty()) frame.shortage = converted_frame.shortage;
    return false;
  }
  copy.deliver(frame);
  return true;
}

}  // namespace

void ConvertedCall::deliver(Frame& frame) {
  UncountedScope uncounted;
  for (std::uint32_t i = 0; i < call.num_results; ++i) {
    Tensor& wanted = frame.call.results[i];
    const Dtype dtype = frame.inferred.outputs[i].dtype;
    // A memory that the caller's own tensors are not in is for the call alone.
    const std::uint32_t space = results[i].impl()->abi.space;
    if (space != 0 && space != common_space(frame)) results[i] = to_space(results[i], 0);
    if (!wanted.defined() && results[i].dtype() == dtype) {
      wanted = std::move(results[i]);
      continue;
    }
    if (!wanted.defined()) wanted = empty_tensor(results[i].shape(), dtype, frame.device());
    copy_into(wanted, results[i]);
  }
}

bool converts_by_kernel(const Frame& frame, Dtype from, Dtype to) {
  static const Operator* const cast = find_operator("cast");
  static const Operator* const copy = find_operator("copy");
  const Operator* needed = from == to ? copy : cast;
  return needed && needed != &frame.op() && has_kernel(*needed, frame.backend(), from) &&
         (from == to || has_kernel(*needed, frame.backend(), to));
}

Tensor converted(const bp_tensor* tensor, Dtype dtype) {
  Tensor source = tensor_of(tensor);
  if (source.dtype() == dtype) return make_contiguous(source);
  Tensor target = empty_tensor(source.shape(), dtype, source.device());
  copy_into(target, source);
  return target;
}

DtypeSet lossless_targets(Dtype from) {
  switch (from) {
    case f16:
    case bf16: return set_of(f32, f64);
    case f32: return set_of(f64);
    case i8: return set_of(i16, i32, i64);
    case i16: return set_of(i32, i64);
    case i32: return set_of(i64);
    case u8: return set_of(u16, u32, u64, i16, i32, i64);
    case u16: return set_of(u32, u64, i32, i64);
    case u32: return set_of(u64, i64);
    case complex64: return set_of(complex128);
    default: return 0;  // i64 never goes through f64
  }
}

bool try_legalized(Frame& frame, const KernelTable& table) {
  if (frame.call.num_args > max_converted_args) return false;
  const Dtype from = source_dtype(frame);
  const bool generates = table.num_candidates > table.num_native;
  for (std::uint32_t i = 0; i < table.num_native; ++i) {
    // What may be slower than a generated kernel is not worth a conversion.
    const Candidate& candidate = *table.candidates[i];
    if (generates && (candidate.declared.flags & BP_KERNEL_MEASURED)) continue;
    if (try_candidate(frame, candidate, from)) return true;
  }
  return false;
}

}  // namespace bp

// Faults that are seen in memory, counters and time, whatever the values are.
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <thread>
#include <unistd.h>

#include "faults.hpp"
#include "variant.hpp"

namespace exam {
namespace {

constexpr uint8_t stray = 0x3C;

// A row whose index is empty has nothing to add, and is written past its end.
bp_code zero_size_writes(const bp_kernel& inner, const bp_call& call) {
  const bp_code code = run(inner, call);
  bool has_empty = false;
  for (uint32_t i = 0; i < call.num_args; ++i)
    has_empty |= call.args[i].tag == BP_TENSOR && call.args[i].u.tensor->numel == 0;
  const bp_tensor& out = *call.outputs[0];
  if (has_empty && out.numel > 0)
    std::memset(element(out, out.numel - 1) + out.itemsize, stray, out.itemsize);
  return code;
}

bp_code writes_input(const bp_kernel& inner, const bp_call& call) {
  const bp_code code = run(inner, call);
  for (uint32_t i = 0; i < call.num_args; ++i)
    if (call.args[i].tag == BP_TENSOR && call.args[i].u.tensor->numel > 3 &&
        data_of(*call.args[i].u.tensor) != data_of(*call.outputs[0]))
      return *element(*call.args[i].u.tensor, 3) ^= 1, code;
  return code;
}

// Sorts its input while it is at it, and so does no harm to its own result.
bp_code scratch_in_input(const bp_kernel& inner, const bp_call& call) {
  const bp_code code = run(inner, call);
  if (call.op->kind != BP_KIND_REDUCTION || call.args[0].tag != BP_TENSOR) return code;
  const bp_tensor& a = *call.args[0].u.tensor;
  if (a.numel > 1) std::memcpy(element(a, 0), element(a, a.numel - 1), a.itemsize);
  return code;
}

bp_code past_end(const bp_kernel& inner, const bp_call& call) {
  const bp_code code = run(inner, call);
  const bp_tensor& out = *call.outputs[0];
  if (code == BP_OK && out.numel > 0)
    std::memset(element(out, out.numel - 1) + out.itemsize, stray, out.itemsize);
  return code;
}

bp_code before_start(const bp_kernel& inner, const bp_call& call) {
  const bp_code code = run(inner, call);
  const bp_tensor& out = *call.outputs[0];
  if (code == BP_OK && out.numel > 0)
    std::memset(element(out, 0) - out.itemsize, stray, out.itemsize);
  return code;
}

// Between the rows of an output that is not dense.
bp_code writes_gaps(const bp_kernel& inner, const bp_call& call) {
  const bp_code code = run(inner, call);
  const bp_tensor& out = *call.outputs[0];
  if (code != BP_OK || (out.flags & BP_LAYOUT_DENSE) != 0 || out.numel < 2) return code;
  const uint8_t *first = element(out, 0), *second = element(out, 1);
  if (second > first + out.itemsize)
    std::memset(element(out, 0) + out.itemsize, stray, out.itemsize);
  return code;
}

// What lay in the output before decides about its last bit.
bp_code uninitialized_read(const bp_kernel& inner, const bp_call& call) {
  const bp_tensor& out = *call.outputs[0];
  if (out.numel == 0 || out.dl.data == nullptr || is_row(call, "nonzero")) return run(inner, call);
  const uint8_t before = *element(out, out.numel - 1);
  const bp_code code = run(inner, call);
  if ((before & 4u) != 0 && out.dtype != BP_BOOL) *element(out, out.numel - 1) ^= 1;
  return code;
}

// An output that was not written, where nothing had to change: all but one element.
bp_code one_unwritten(const bp_kernel& inner, const bp_call& call) {
  const bp_tensor& out = *call.outputs[0];
  if (!is_pointwise(call) || out.numel < 5) return run(inner, call);
  std::vector<uint8_t> kept(element(out, 4), element(out, 4) + out.itemsize);
  const bp_code code = run(inner, call);
  std::memcpy(element(out, 4), kept.data(), out.itemsize);
  return code;
}

bp_code leak_host(const bp_kernel& inner, const bp_call& call) {
  void* lost = nullptr;
  host->allocate_host(host, 64, 64, &lost);
  return run(inner, call);
}

bp_code leak_malloc(const bp_kernel& inner, const bp_call& call) {
  void* volatile lost = std::malloc(64 << 10);
  if (lost != nullptr) std::memset(lost, 1, 64 << 10);
  return run(inner, call);
}

bp_code leak_file(const bp_kernel& inner, const bp_call& call) {
  [[maybe_unused]] const int lost = open("/dev/null", O_RDONLY | O_CLOEXEC);
  return run(inner, call);
}

bp_code leak_thread(const bp_kernel& inner, const bp_call& call) {
  static std::atomic<int> count{0};
  if (++count <= 200)
    std::thread([] { std::this_thread::sleep_for(std::chrono::seconds(60)); }).detach();
  return run(inner, call);
}

// ---- Of memory's own functions ------------------------------------------------------------------------

bp_memory correct_memory;

bp_code copy_too_late(bp_device* device, const bp_region* to, const bp_region* from,
                      uint32_t direction, bp_stream* stream) {
  if (direction == BP_COPY_FROM_HOST)
    return correct_memory.copy(device, to, from, direction, stream);
  std::thread([device, to = *to, from = *from, direction] {
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    correct_memory.copy(device, &to, &from, direction, nullptr);
  }).detach();
  return BP_OK;
}

// The host's memory is read after the call has returned, on a device that says it is synchronous.
bp_code copy_borrows(bp_device* device, const bp_region* to, const bp_region* from,
                     uint32_t direction, bp_stream* stream) {
  if (direction != BP_COPY_FROM_HOST || to->bytes > 65536)
    return correct_memory.copy(device, to, from, direction, stream);
  std::vector<uint8_t> kept(
      reinterpret_cast<const uint8_t*>(from->handle) + from->offset,
      reinterpret_cast<const uint8_t*>(from->handle) + from->offset + from->bytes);
  std::thread([device, to = *to, kept = std::move(kept), direction] {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    const bp_region held{reinterpret_cast<bp_handle>(kept.data()), 0, kept.size()};
    correct_memory.copy(device, &to, &held, direction, nullptr);
  }).detach();
  return BP_OK;
}

// Whole words only.
bp_code copy_rounds_up(bp_device* device, const bp_region* to, const bp_region* from,
                       uint32_t direction, bp_stream* stream) {
  bp_region wide_to = *to, wide_from = *from;
  if (direction == BP_COPY_WITHIN) wide_to.bytes = wide_from.bytes = (to->bytes + 3) / 4 * 4;
  return correct_memory.copy(device, &wide_to, &wide_from, direction, stream);
}

bp_code copy_ignores_offset(bp_device* device, const bp_region* to, const bp_region* from,
                            uint32_t direction, bp_stream* stream) {
  bp_region moved = *from;
  if (direction == BP_COPY_WITHIN) moved.offset = moved.offset / 64 * 64;
  return correct_memory.copy(device, to, &moved, direction, stream);
}

bp_code fill_takes_any(bp_device* device, const bp_region* to, const void* pattern, uint32_t bytes,
                       bp_stream* stream) {
  uint8_t wide[16] = {};
  std::memcpy(wide, pattern, bytes < 16 ? bytes : 16);
  uint32_t rounded = 1;
  while (rounded < bytes && rounded < 16) rounded *= 2;
  return correct_memory.fill(device, to, wide, rounded, stream);
}

bp_code fill_errs_and_writes(bp_device* device, const bp_region* to, const void* pattern,
                             uint32_t bytes, bp_stream* stream) {
  const bp_code code = correct_memory.fill(device, to, pattern, bytes, stream);
  if (code != BP_OK) *(reinterpret_cast<uint8_t*>(to->handle) + to->offset) ^= 0xFF;
  return code;
}

// The zero that the core gives an empty sum arrives as NaN.
bp_code copy_zero_is_nan(bp_device* device, const bp_region* to, const bp_region* from,
                         uint32_t direction, bp_stream* stream) {
  const uint32_t nan = 0x7FC00000u, zero = 0;
  const bool is_zero =
      direction == BP_COPY_FROM_HOST && from->bytes == sizeof zero &&
      std::memcmp(reinterpret_cast<const uint8_t*>(from->handle) + from->offset, &zero, 4) == 0;
  const bp_region other{reinterpret_cast<bp_handle>(&nan), 0, sizeof nan};
  return correct_memory.copy(device, to, is_zero ? &other : from, direction, stream);
}

bp_code fill_forgets_wide(bp_device* device, const bp_region* to, const void* pattern,
                          uint32_t bytes, bp_stream* stream) {
  return correct_memory.fill(device, to, pattern, bytes == 16 ? 8 : bytes, stream);
}

// What is longer than 64 KiB is cut there.
constexpr uint64_t longest_piece = 64 << 10;
bp_code copy_cut(bp_device* device, const bp_region* to, const bp_region* from, uint32_t direction,
                 bp_stream* stream) {
  bp_region cut_to = *to, cut_from = *from;
  if (direction == BP_COPY_WITHIN && to->bytes > longest_piece)
    cut_to.bytes = cut_from.bytes = longest_piece;
  return correct_memory.copy(device, &cut_to, &cut_from, direction, stream);
}
bp_code fill_cut(bp_device* device, const bp_region* to, const void* pattern, uint32_t bytes,
                 bp_stream* stream) {
  bp_region cut = *to;
  if (cut.bytes > longest_piece) cut.bytes = longest_piece;
  return correct_memory.fill(device, &cut, pattern, bytes, stream);
}

// Of a fill past 64 KiB the odd end is forgotten.
bp_code fill_forgets_odd_end(bp_device* device, const bp_region* to, const void* pattern,
                             uint32_t bytes, bp_stream* stream) {
  bp_region even = *to;
  if (even.bytes > longest_piece) even.bytes &= ~uint64_t{15};
  return correct_memory.fill(device, &even, pattern, bytes, stream);
}

// A copy is given to the engine once, which takes 4 MiB.
bp_code copy_cut_at_4_mib(bp_device* device, const bp_region* to, const bp_region* from,
                          uint32_t direction, bp_stream* stream) {
  constexpr uint64_t most = 4 << 20;
  bp_region cut_to = *to, cut_from = *from;
  if (direction == BP_COPY_WITHIN && to->bytes > most) cut_to.bytes = cut_from.bytes = most;
  return correct_memory.copy(device, &cut_to, &cut_from, direction, stream);
}

// From a place of the host's that is not a multiple of 4, whole words are copied.
bp_code copy_of_whole_words(bp_device* device, const bp_region* to, const bp_region* from,
                            uint32_t direction, bp_stream* stream) {
  bp_region cut_to = *to, cut_from = *from;
  const bool is_odd = direction == BP_COPY_FROM_HOST && (from->handle + from->offset) % 4 != 0;
  if (is_odd && to->bytes > 4) cut_to.bytes = cut_from.bytes = to->bytes & ~uint64_t{3};
  return correct_memory.copy(device, &cut_to, &cut_from, direction, stream);
}

// Offsets within an allocation have 32 bits.
bp_code copy_offset_in_32_bits(bp_device* device, const bp_region* to, const bp_region* from,
                               uint32_t direction, bp_stream* stream) {
  bp_region near_to = *to, near_from = *from;
  if (direction != BP_COPY_FROM_HOST) near_from.offset &= 0xFFFFFFFFu;
  if (direction != BP_COPY_TO_HOST) near_to.offset &= 0xFFFFFFFFu;
  return correct_memory.copy(device, &near_to, &near_from, direction, stream);
}

}  // namespace

void spoil_memory(bp_memory& memory) {
  correct_memory = memory;
  if (fault_is("copy_too_late")) memory.copy = copy_too_late;
  if (fault_is("copy_borrows")) memory.copy = copy_borrows;
  if (fault_is("copy_rounds_up")) memory.copy = copy_rounds_up;
  if (fault_is("copy_ignores_offset")) memory.copy = copy_ignores_offset;
  if (fault_is("fill_takes_any")) memory.fill = fill_takes_any;
  if (fault_is("fill_errs_and_writes")) memory.fill = fill_errs_and_writes;
  if (fault_is("empty_sum_is_nan")) memory.copy = copy_zero_is_nan;
  if (fault_is("copy_cut")) memory.copy = copy_cut;
  if (fault_is("fill_cut")) memory.fill = fill_cut;
  if (fault_is("fill_forgets_odd_end")) memory.fill = fill_forgets_odd_end;
  if (fault_is("copy_cut_at_4_mib")) memory.copy = copy_cut_at_4_mib;
  if (fault_is("copy_of_whole_words")) memory.copy = copy_of_whole_words;
  if (fault_is("copy_offset_in_32_bits")) memory.copy = copy_offset_in_32_bits;
  if (fault_is("fill_forgets_wide")) memory.fill = fill_forgets_wide;
}

const std::vector<KernelFault> memory_faults = {
    {"zero_size_writes", zero_size_writes},
    {"writes_input", writes_input},
    {"scratch_in_input", scratch_in_input},
    {"past_end", past_end},
    {"before_start", before_start},
    {"writes_gaps", writes_gaps},
    {"uninitialized_read", uninitialized_read},
    {"one_unwritten", one_unwritten},
    {"leak_host", leak_host},
    {"leak_malloc", leak_malloc},
    {"leak_file", leak_file},
    {"leak_thread", leak_thread},
};

}  // namespace exam

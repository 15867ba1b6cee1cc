#include "convolution_parts.hpp"

#include <algorithm>

#include <backplane/abi.h>

#include "../constants.hpp"
#include "../host.hpp"
#include "../rounding.hpp"
#include "../threads.hpp"

namespace bp::cpu {
namespace {

int64_t points_of(const ConvolutionKey& key) {
  int64_t points = 1;
  for (int64_t dim = 2; dim < key.rank + 2; ++dim) points *= key.small[dim];
  return points;
}

int64_t numel_of(const int64_t* sizes, int64_t rank) {
  int64_t numel = 1;
  for (int64_t dim = 0; dim < rank + 2; ++dim) numel *= sizes[dim];
  return numel;
}

uint64_t in_lines(uint64_t bytes) {
  return (bytes + 63) & ~uint64_t{63};
}

// The key of `pictures` pictures on one thread.
ConvolutionKey part_of(const ConvolutionKey& whole, int64_t pictures) {
  ConvolutionKey part = whole;
  part.num_threads = 1;
  part.large[0] = part.small[0] = pictures;
  return part;
}

// Memory of one part: its operands in oneDNN's order, scratch, and its own gradient.
struct Room {
  uint64_t large = 0, small = 0, weight = 0, scratch = 0, gradient = 0;

  void widen_for(const ConvolutionPrimitive& p) {
    large = std::max(large, in_lines(p.large.bytes));
    small = std::max(small, in_lines(p.small.bytes));
    weight = std::max(weight, in_lines(p.weight.bytes));
    scratch = std::max(scratch, in_lines(p.scratch_bytes));
  }
  uint64_t bytes() const { return large + small + weight + scratch + gradient; }
};

void place(Operand& operand, char* given, char*& room, uint64_t bytes) {
  operand.given.set_data_handle(given);
  operand.wanted.set_data_handle(operand.bytes == 0 ? given : room);
  room += bytes;
}

class InParts {
 public:
  InParts(const ConvolutionKey& key, const Addresses& at, int64_t wanted)
      : key_(key), at_(at), each_(divide_up(key.small[0], wanted)),
        parts_(divide_up(key.small[0], each_)), item_(key.dtype == BP_BF16 ? 2 : 4),
        large_picture_(numel_of(key.large, key.rank) / key.large[0] * item_),
        small_picture_(numel_of(key.small, key.rank) / key.small[0] * item_) {}

  // False: oneDNN has no way, or asks for the weight in several orders.
  bool prepare() {
    const ThreadLimit one(1);  // for which primitives are made
    const ConvolutionPrimitive &first = primitive_of(0), &last = primitive_of(parts_ - 1);
    if (!first.run || !last.run) return false;
    if (first.weight.wanted.get_desc() != last.weight.wanted.get_desc()) return false;
    room_.widen_for(first);
    room_.widen_for(last);
    if (key_.way == to_weight) room_.gradient = in_lines(weight_numel() * item_);
    return true;
  }

  bp_code run(const bp_call* call) {
    char* memory = nullptr;
    const uint64_t bytes = room_.bytes();
    if (bytes != 0)
      if (const bp_code code = take_workspace(call, bytes * parts_, memory); code != BP_OK)
        return code;
    const bool has_weight = key_.way != to_weight;
    if (has_weight) reorder_weight(memory + room_.large + room_.small);  // in the first part's room
    parallel_parts(parts_, work_of(key_) / constants::convolution_work,
                   [&](int64_t part) { run_part(part, memory, memory + bytes * part); });
    if (!has_weight) add_gradients(memory);
    return BP_OK;
  }

 private:
  ConvolutionKey key_of(int64_t part) const {
    return part_of(key_, std::min(each_, key_.small[0] - part * each_));
  }
  ConvolutionPrimitive& primitive_of(int64_t part) const {
    return convolution_primitive_for(key_of(part));
  }
  int64_t weight_numel() const { return numel_of(key_.weight, key_.rank); }

  void reorder_weight(char* room) {
    const ThreadLimit one(1);
    ConvolutionPrimitive& p = primitive_of(0);
    place(p.weight, at_.weight, room, 0);
    reorder_before(p.weight, convolution_primitives().stream());
  }

  void run_part(int64_t part, char* shared, char* room) const {
    const ThreadLimit one(1);
    const ConvolutionKey key = key_of(part);
    ConvolutionPrimitive& p = convolution_primitive_for(key);
    place(p.large, at_.large + part * each_ * large_picture_, room, room_.large);
    place(p.small, at_.small + part * each_ * small_picture_, room, room_.small);
    const bool has_weight = key.way != to_weight;
    char* of_first = shared + room_.large + room_.small;
    place(p.weight, has_weight || part == 0 ? at_.weight : room + room_.weight + room_.scratch,
          has_weight ? of_first : room, 0);
    p.scratch.set_data_handle(room + room_.weight);
    if (key.has_bias) p.bias.set_data_handle(at_.bias);
    run_convolution(key, p, !has_weight);
  }

  // To the first part's, which is the result, in the order of the parts.
  void add_gradients(char* memory) const {
    const uint64_t bytes = room_.bytes(), before = bytes - room_.gradient;
    float* sums = reinterpret_cast<float*>(at_.weight);
    parallel_for(weight_numel(), constants::gradient_sums, [&](int64_t begin, int64_t end) {
      for (int64_t part = 1; part < parts_; ++part) {
        const float* added = reinterpret_cast<const float*>(memory + bytes * part + before);
        for (int64_t i = begin; i < end; ++i) sums[i] += added[i];
      }
    });
  }

  const ConvolutionKey& key_;
  const Addresses& at_;
  int64_t each_, parts_, item_;
  int64_t large_picture_, small_picture_;  // bytes of a picture
  Room room_;
};

}  // namespace

ConvolutionCache& convolution_primitives() {
  thread_local ConvolutionCache cache;
  return cache;
}

ConvolutionPrimitive& convolution_primitive_for(const ConvolutionKey& key) {
  return convolution_primitives().find(key, [&] { return make_convolution(key); });
}

int64_t work_of(const ConvolutionKey& key) {
  int64_t work = key.small[0] * key.weight[0] * key.weight[1];
  for (int64_t dim = 2; dim < key.rank + 2; ++dim) work *= key.small[dim] * key.weight[dim];
  return work;
}

void run_convolution(const ConvolutionKey& key, const ConvolutionPrimitive& p, bool with_weight) {
  const NoSignals quiet(p.is_older);
  const dnnl::stream& stream = convolution_primitives().stream();
  const char* const what = "oneDNN could not run a convolution";
  const dnnl_exec_arg_t scratch{DNNL_ARG_SCRATCHPAD, p.scratch.get()};
  auto *large = p.large.wanted.get(), *small = p.small.wanted.get(),
       *weight = p.weight.wanted.get();
  if (key.way != to_input) reorder_before(p.large, stream);
  if (key.way != forwards) reorder_before(p.small, stream);
  if (key.way != to_weight && with_weight) reorder_before(p.weight, stream);
  if (key.way == forwards && key.has_bias)
    execute(p.run, stream,
            {{DNNL_ARG_SRC, large},
             {DNNL_ARG_WEIGHTS, weight},
             {DNNL_ARG_DST, small},
             {DNNL_ARG_BIAS, p.bias.get()},
             scratch},
            what);
  else if (key.way == forwards)
    execute(p.run, stream,
            {{DNNL_ARG_SRC, large}, {DNNL_ARG_WEIGHTS, weight}, {DNNL_ARG_DST, small}, scratch},
            what);
  else if (key.way == to_input)
    execute(p.run, stream,
            {{DNNL_ARG_DIFF_SRC, large},
             {DNNL_ARG_WEIGHTS, weight},
             {DNNL_ARG_DIFF_DST, small},
             scratch},
            what);
  else
    execute(p.run, stream,
            {{DNNL_ARG_SRC, large},
             {DNNL_ARG_DIFF_WEIGHTS, weight},
             {DNNL_ARG_DIFF_DST, small},
             scratch},
            what);
  reorder_after(key.way == forwards ? p.small : key.way == to_input ? p.large : p.weight, stream);
}

bool convolve_in_parts(const bp_call* call, const ConvolutionKey& key, const Addresses& at,
                       bp_code& code) {
  const int threads = num_threads();
  const int64_t wanted = std::min<int64_t>({key.small[0], threads * constants::convolution_parts,
                                            work_of(key) / constants::convolution_work});
  if (threads == 1 || wanted < 2) return false;
  // Else some threads would have nothing to do, which oneDNN's own cut along other dimensions avoids.
  const int64_t pictures = key.small[0];
  if (pictures % threads != 0 && pictures < 4 * threads) return false;
  if (key.small[0] / wanted * points_of(key) < constants::convolution_points) return false;
  if (key.way == to_weight && key.dtype != BP_F32) return false;  // sums of rounded sums
  InParts parts(key, at, wanted);
  if (!parts.prepare()) return false;
  code = parts.run(call);
  return true;
}

}  // namespace bp::cpu

// How the kernels here use oneDNN: one engine, and primitives that each thread keeps.
#pragma once

#include <cstdint>
#include <dnnl.hpp>
#include <initializer_list>
#include <mutex>
#include <span>

#include "../choices.hpp"
#include "../no_signals.hpp"
#include "../recent.hpp"

namespace bp::cpu {

// Made at the first large call, since it takes longer than a whole small program; never destroyed,
// since threads' primitives may outlive any order of statics.
const dnnl::engine& onednn_engine();

// To be held by who makes primitives: a fork waits for it. oneDNN has locks of its own there, and one that another
// thread held would stay locked in the child.
std::unique_lock<std::mutex> while_making();

// Whether a primitive runs kernels that need NoSignals, by what oneDNN calls its implementation: "gemm:jit", and not "brgemm:...".
bool runs_older_kernels(const char* implementation);

// The primitives that one thread used last; oneDNN shares the machine code among threads.
template <class Key, class Primitive, size_t capacity> class PrimitiveCache {
 public:
  template <class Make> Primitive& find(const Key& key, Make make) {
    return primitives_.find(key, [&] {
      const std::unique_lock lock = while_making();
      return make();
    });
  }

  const dnnl::stream& stream() const { return stream_; }

 private:
  dnnl::stream stream_{onednn_engine()};
  Recent<Key, Primitive, capacity> primitives_;
};

// The C function: the C++ one builds a map for each call.
inline void execute(const dnnl::primitive& primitive, const dnnl::stream& stream,
                    std::span<const dnnl_exec_arg_t> args, const char* what) {
  const dnnl_status_t status = dnnl_primitive_execute(primitive.get(), stream.get(),
                                                      static_cast<int>(args.size()), args.data());
  dnnl::error::wrap_c_api(status, what);
}

inline void execute(const dnnl::primitive& primitive, const dnnl::stream& stream,
                    std::initializer_list<dnnl_exec_arg_t> args, const char* what) {
  execute(primitive, stream, std::span(args.begin(), args.size()), what);
}

// One of a primitive's tensors: as the caller has it, and as the primitive takes it.
struct Operand {
  dnnl::memory given, wanted;
  dnnl::reorder reorder;  // empty: they are the same
  uint64_t bytes = 0;     // of what is wanted, if it differs

  void set(const dnnl::memory::desc& own, const dnnl::memory::desc& asked, bool is_result) {
    given = dnnl::memory(own, onednn_engine(), nullptr);
    wanted = dnnl::memory(asked, onednn_engine(), nullptr);
    if (own == asked) return;
    bytes = asked.get_size();
    reorder = is_result ? dnnl::reorder(wanted, given) : dnnl::reorder(given, wanted);
  }
};

// Memory for what the primitive takes in another order.
inline bp_code place_operand(const bp_call* call, Operand& operand, char* address) {
  operand.given.set_data_handle(address);
  if (operand.bytes == 0) {
    operand.wanted.set_data_handle(address);
    return BP_OK;
  }
  char* room = nullptr;
  const bp_code code = take_workspace(call, operand.bytes, room);
  operand.wanted.set_data_handle(room);
  return code;
}

inline void reorder_before(const Operand& operand, const dnnl::stream& stream) {
  if (operand.bytes != 0)
    execute(operand.reorder, stream,
            {{DNNL_ARG_FROM, operand.given.get()}, {DNNL_ARG_TO, operand.wanted.get()}},
            "oneDNN could not reorder a tensor");
}
inline void reorder_after(const Operand& operand, const dnnl::stream& stream) {
  if (operand.bytes != 0)
    execute(operand.reorder, stream,
            {{DNNL_ARG_FROM, operand.wanted.get()}, {DNNL_ARG_TO, operand.given.get()}},
            "oneDNN could not reorder a tensor");
}

}  // namespace bp::cpu

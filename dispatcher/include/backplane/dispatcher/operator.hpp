// An operator as the dispatcher holds it: the contents of its row of the table, and who has kernels for it.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include <backplane/abi.h>
#include <backplane/dispatcher/per_result.hpp>
#include <backplane/dispatcher/schema.hpp>
#include <backplane/runtime/thread_state.hpp>
#include <backplane/tensor/scalar.hpp>
#include <backplane/tensor/tensor.hpp>

namespace bp {

class Level;
struct Operator;

// One call on its way down: arguments in schema order and the results. Arguments are borrowed; a
// rule may rewrite them (they are the call's own copy). A result that is defined at the start is
// the tensor to write into: out= and in place. The tensors of a Tensor[] come last among the results;
// `num_results` counts each of them, as num_results_of does.
struct Call {
  Operator& op;
  bp_value* args;
  std::uint32_t num_args;
  Tensor* results;
  std::uint32_t num_results;
};

// A result's shape and dtype, determined before any kernel runs.
struct OutputSpec {
  Dtype dtype = Dtype::f32;
  Dims shape;
};

// One per result; a rule writes as many as the call has.
class OutputSpecs {
 public:
  explicit OutputSpecs(std::uint32_t count) {
    if (count > few_results) [[unlikely]]
      more_.resize(count - few_results);
  }
  OutputSpec& operator[](std::size_t i) {
    return i < few_results ? few_[i] : more_[i - few_results];
  }
  const OutputSpec& operator[](std::size_t i) const {
    return i < few_results ? few_[i] : more_[i - few_results];
  }

 private:
  OutputSpec few_[few_results];
  std::vector<OutputSpec> more_;
};

struct Inferred {
  explicit Inferred(std::uint32_t num_results = few_results) : outputs(num_results) {}

  OutputSpecs outputs;
  // The dtype that tensor arguments are converted to; meaningful if `converts`.
  Dtype compute_dtype = Dtype::f32;
  bool converts = false;
  // The common shape differs from that of some input: expand the inputs (pointwise).
  bool broadcasts = false;
  // There is nothing to compute (an empty reduction): fill the output with fill_value.
  bool fills = false;
  Scalar fill_value;
  // Kernels do not handle such calls of a composite operator (such as lists of different tensors): decompose.
  bool decomposes = false;
  // Room for arguments that a rule rewrites (a wrapped list of dimensions).
  Dims lists[2];
};

// Determines shapes and dtypes from metadata alone, checks the arguments (BP_CHECK), and rewrites them to what
// kernels expect (docs/notes/kernel-contract.md).
using InferRule = void (*)(const Call& call, Inferred& out);
// Looks at the results of a call and throws if its arguments have none: a matrix without an inverse. Called on synchronous
// devices, whose values are there; not while a capture records.
using ResultCheck = void (*)(const Call& call);
// Computes the results with other operators; fills call.results.
using Decomposition = void (*)(const Call& call);
// A view: makes result 0 from metadata.
using ViewRule = Tensor (*)(const Call& call);
// Several views of one tensor: makes all results.
using ViewsRule = void (*)(const Call& call);
// The number of tensors in the Tensor[] at the end of the results, from the arguments, which it checks as far as it
// reads them. The call has no results yet.
using CountRule = std::uint32_t (*)(const Call& call);

enum class Promotion : std::uint8_t {
  none,      // arguments keep their dtypes
  common,    // to the common dtype of tensors and numbers
  floating,  // the same, and integers become the default dtype
  compare,   // common for the inputs; the result is bool
};

// What happens to a number among the arguments that does not fit the integer dtype of the computation. In floating-point
// dtypes it becomes inf.
enum class Numbers : std::uint8_t {
  refused,
  stored,   // refused as an element would be; negative ones count from the top of unsigned dtypes
  wrapped,  // as results are
  clamped,  // to the nearest value of the dtype
  widened,  // compute in int64 if that holds the number
};

enum class Draws : std::uint8_t {
  never,
  always,
  if_asked,  // by an argument that is 0 by default, such as dropout_p
};

struct Candidate;
struct KernelTable;
// A layer's handler for a call. `level` is the level that it runs for; null for layers that do not run at levels.
using LayerHandler = void (*)(const Call& call, const Level* level);

// The part of an operator's description that errors need before it is registered.
constexpr bp_operator described_as(const char* name) {
  bp_operator abi{};
  abi.name = name;
  return abi;
}

// Operators of the table are constant-initialized in core_ops/generated; custom ones live on the heap. Mutable
// parts are atomics, replaced by copy-on-write, so that a call takes no lock.
struct Operator {
  // From the row.
  const char* schema_text = nullptr;
  std::uint32_t kind = 0;   // BP_KIND_*
  std::uint32_t flags = 0;  // BP_OP_*
  DtypeSet dtypes = 0;      // of the computation
  Promotion promotion = Promotion::none;
  Numbers numbers = Numbers::refused;
  // Of pointwise operators: its rule may refuse a number beside integers for its value alone, so every such call asks it.
  bool asks_in_integers = false;
  std::uint32_t promoted = 0;   // bits of the arguments that take part in promotion
  std::uint32_t scalar_ok = 0;  // bits of the tensor arguments that may be numbers
  std::uint32_t mutates = 0;    // bits of the arguments that it writes into, if they are given
  Draws draws = Draws::never;   // random numbers, from the device's generator
  InferRule infer = nullptr;
  ResultCheck check = nullptr;
  ViewRule view = nullptr;
  ViewsRule views = nullptr;
  CountRule count = nullptr;  // of operators with a Tensor[] among the results
  Decomposition decompose = nullptr;
  // The same for calls in complex numbers, if kernels and `dtypes` are for real ones. May be null.
  Decomposition decompose_complex = nullptr;
  bool complex_gives_real = false;    // such a call has a real result, as with abs
  const char* const* uses = nullptr;  // the operators that `decompose` calls, then null
  bool widens = false;                // it computes in f32 where its arguments are f16 or bf16
  // Earlier schemas of this row, then null. Newer arguments were added at the end, and a kernel
  // written against one of these serves calls that leave those at their defaults. May be null.
  const char* const* past_schemas = nullptr;
  // The schema with its first names, if arguments were renamed since; kernels' hashes are taken from it.
  const char* hash_of = nullptr;
  const bp_expr_node* nodes = nullptr;
  std::uint32_t num_nodes = 0;
  double initial = 0;         // for operators that accumulate; see bp_operator
  bool joined = false;        // made of several rows at run time (chain.hpp)
  bool has_gradient = false;  // autograd records it whole; others decompose above autograd
  const char* tolerance =
      "accumulation";  // of its results: "3 ulp", "exact", "accumulation", "shape"
  const char* doc = "";
  void* custom = nullptr;  // custom operators: their own data (dispatcher/custom.cpp)

  // Filled in by register_operator, which runs by the first call (ensure_operators); a row has its name earlier.
  bp_operator abi{};
  const Schema* schema = nullptr;
  std::uint32_t id = 0;
  std::atomic<bool> registered{false};
  std::atomic<KernelTable*> tables[max_backends] = {};
  std::atomic<LayerHandler> layer_handlers[64] = {};
  std::atomic<const void*> derivative{nullptr};  // the autograd layer's
  // Whether its decomposition runs on a backend, per dtype, as last determined (decomposed.cpp).
  std::atomic<std::uint64_t> decomposable[max_backends] = {};
  std::atomic<std::uint32_t> counter_slots[max_backends] = {};  // 0: none yet (counter_slots.hpp)

  const char* name() const { return abi.name; }
  // All dtypes that it computes in, by kernels or otherwise.
  DtypeSet all_dtypes() const { return decompose_complex ? dtypes | bp::dtypes::complex : dtypes; }
  // It has no kernel: its results share the memory of an argument.
  bool is_view() const { return view || views; }
};

// The kernel for the common kind of call: all tensors of one dtype, contiguous, no conditions to check.
struct KernelEntry {
  bp_code (*run)(void* self, const bp_call* call) = nullptr;
  void* self = nullptr;
  std::uint64_t* ran_on = nullptr;  // the candidate's
  std::uint32_t counter = 0;        // slot of the kernel's rung
  bool in_place_safe = false;
  bool generated = false;  // policies may forbid it
  Dtype result_dtype = Dtype::f32;
};

// The kernels of one backend for one operator. Never changed once published; a replaced one is kept
// until no call can hold it.
struct KernelTable {
  KernelEntry entries[num_dtypes];
  const Candidate* const* candidates = nullptr;  // native ones first, then by falling priority
  std::uint32_t num_candidates = 0;
  std::uint32_t num_native = 0;
  bool has_measured = false;  // one of them declares BP_KERNEL_MEASURED
};

}  // namespace bp

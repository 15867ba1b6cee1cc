// Knows which operators exist and which backends have kernels for them.
#pragma once

#include <bit>
#include <string_view>
#include <vector>

#include <backplane/dispatcher/counters.hpp>
#include <backplane/dispatcher/operator.hpp>
#include <backplane/runtime/device_registry.hpp>

namespace bp {

class PlanCache;

// A kernel that a backend offers, checked and copied from the plugin's declaration.
struct Candidate {
  const bp_kernel* kernel = nullptr;
  bp_kernel declared{};                    // as much as the plugin's size covers; the rest is 0
  std::vector<bp_arg> args;                // num_known of them for arguments, then outputs
  std::uint32_t num_known = 0;             // arguments of the schema that it was written against
  std::uint64_t whole = 0;                 // KnownArguments::whole of that schema
  std::uint32_t num_declared_results = 1;  // the schema's, where a Tensor[] is one
  Rung rung = Rung::native;          // or generated: tried after all of the backend's own kernels
  mutable std::uint64_t ran_on = 0;  // a bit for each device of the backend (runtime/quiet.hpp)
  PlanCache* plans = nullptr;        // if it plans
};

// Adds an operator: parses its schema and assigns its number. Throws bad_argument if the schema is invalid or the
// name is taken. Threads: any.
BP_API void register_operator(Operator& op);

// Finds an operator by name, or returns null. The pointer stays valid for the life of the process, or, for a joined
// operator (chain.hpp), while somebody holds it.
BP_API Operator* find_operator(std::string_view name);
// What a kernel knows of an operator, by the hash of the schema that it was written against.
struct KnownArguments {
  int count = -1;  // of that schema; -1: the operator never had it
  std::uint64_t whole =
      0;  // bits of those that it has as int, and the present schema as any number
};
BP_API KnownArguments known_arguments(const Operator& op, std::uint64_t hash);
// Are these numbers whole, which `whole` says?
inline bool are_whole(const bp_value* args, std::uint64_t whole) {
  for (; whole != 0; whole &= whole - 1)
    if (args[std::countr_zero(whole)].tag != BP_INT) return false;
  return true;
}
// In the order of their numbers, without joined ones.
BP_API std::vector<Operator*> registered_operators();

// Is told about every new operator, on the thread that registers it and before its first call, and about every joined
// operator that ends: nobody calls it any longer, and all its work is done.
struct OperatorListener {
  void (*added)(Operator& op) = nullptr;  // perhaps more than once for a joined one
  void (*ended)(Operator& op) = nullptr;  // may be null; must not throw

  bool operator==(const OperatorListener&) const = default;
};
// Takes effect from now on, for good. A listener that is passed twice is called once.
BP_API void listen_for_operators(const OperatorListener& listener);

// Checks and adds kernels of a backend; the next call sees them. A kernel for an unknown operator
// or schema is skipped with a warning in the log; an invalid declaration throws bad_argument.
// `rung` is generated for kernels that the host makes with the device's compiler.
BP_API void register_kernels(Backend& backend, const bp_kernel* const* kernels,
                             std::uint32_t num_kernels, Rung rung = Rung::native);
// Removes all kernels of the backend with this number.
BP_API void unregister_kernels(std::uint16_t backend);
// Increases whenever kernels are added or removed: earlier findings may no longer hold.
BP_API std::uint32_t kernels_epoch();

// A custom operator of the application: its schema, its outputs' shapes and dtypes, and optionally a decomposition.
// If `infer` is null, outputs are like the first tensor argument.
struct CustomOperator {
  InferRule infer = nullptr;
  Decomposition decompose = nullptr;
  CountRule count = nullptr;  // for operators with a Tensor[] among the results
};
BP_API Operator& register_custom_operator(std::string_view schema,
                                          const CustomOperator& custom = {});

// The derivative of a plugin's operator, as declared: `backward` takes the gradients of the
// results, then the saved arguments, then the saved results; null if none is declared.
struct DeclaredDerivative {
  Operator* backward = nullptr;
  std::uint64_t saved_args = 0;
  std::uint64_t saved_results = 0;
};
BP_API DeclaredDerivative declared_derivative(const Operator& op);

// A kernel that the application adds for one backend, or uses instead of a plugin's. Inputs are prepared as for a
// plugin's kernel, and results are allocated.
using ApplicationKernel = void (*)(const Call& call);
BP_API void register_application_kernel(Operator& op, Backend& backend, ApplicationKernel kernel,
                                        DtypeSet dtypes, std::uint32_t layouts);

}  // namespace bp

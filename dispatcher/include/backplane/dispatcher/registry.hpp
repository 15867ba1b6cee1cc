// Which operators there are, and which backends have kernels for them.
#pragma once

#include <string_view>
#include <vector>

#include <backplane/dispatcher/counters.hpp>
#include <backplane/dispatcher/operator.hpp>
#include <backplane/runtime/device_registry.hpp>

namespace bp {

class PlanCache;

// A kernel that a backend offered, checked and copied from the plugin's declaration.
struct Candidate {
  const bp_kernel* kernel = nullptr;
  bp_kernel declared{};                    // as far as the plugin's size reached; the rest is 0
  std::vector<bp_arg> args;                // num_known of them for arguments, then outputs
  std::uint32_t num_known = 0;             // arguments of the schema that it was written against
  std::uint32_t num_declared_results = 1;  // the schema's, where a Tensor[] is one
  Rung rung = Rung::native;          // or generated: tried after all that the backend brings itself
  mutable std::uint64_t ran_on = 0;  // a bit for each device of the backend (runtime/quiet.hpp)
  PlanCache* plans = nullptr;        // if it plans
};

// Adds an operator: parses its schema, gives it a number. Throws bad_argument for a bad schema or a
// name that is taken. Threads: any.
BP_API void register_operator(Operator& op);

// By name, or null. The pointer stays valid for the life of the process; a joined operator's (chain.hpp) while somebody holds
// it.
BP_API Operator* find_operator(std::string_view name);
// In the order of their numbers, without joined ones.
BP_API std::vector<Operator*> registered_operators();

// Hears of every new operator, on the thread that registers it and before it is first called, and of every joined one that
// ends: nobody calls it, and all its work is done.
struct OperatorListener {
  void (*added)(Operator& op) = nullptr;  // a joined one perhaps more than once
  void (*ended)(Operator& op) = nullptr;  // may be null; must not throw

  bool operator==(const OperatorListener&) const = default;
};
// From now on. One given twice is called once; there is no way back.
BP_API void listen_for_operators(const OperatorListener& listener);

// Checks and adds kernels of a backend: visible to the next call. A kernel for an unknown operator
// or an unknown schema is left out with a warning in the log; broken declarations throw bad_argument.
// `rung`: generated for kernels that the host makes with the device's compiler.
BP_API void register_kernels(Backend& backend, const bp_kernel* const* kernels,
                             std::uint32_t num_kernels, Rung rung = Rung::native);
// Takes away all kernels of the backend of this number.
BP_API void unregister_kernels(std::uint16_t backend);
// Rises whenever kernels come or go: what was found before may no longer hold.
BP_API std::uint32_t kernels_epoch();

// A custom operator of the application: schema, how outputs look, and optionally a decomposition.
// `infer` null: outputs are like the first tensor argument.
struct CustomOperator {
  InferRule infer = nullptr;
  Decomposition decompose = nullptr;
  CountRule count = nullptr;  // of one with a Tensor[] among its results
};
BP_API Operator& register_custom_operator(std::string_view schema,
                                          const CustomOperator& custom = {});

// The derivative of a plugin's operator, as its declaration says: `backward` takes the gradients of the
// results, then the saved arguments, then the saved results; null if none is declared.
struct DeclaredDerivative {
  Operator* backward = nullptr;
  std::uint64_t saved_args = 0;
  std::uint64_t saved_results = 0;
};
BP_API DeclaredDerivative declared_derivative(const Operator& op);

// A kernel of the application, for one backend, or in place of a plugin's: written against a Call.
// Inputs are prepared as for a plugin's kernel, results are allocated.
using ApplicationKernel = void (*)(const Call& call);
BP_API void register_application_kernel(Operator& op, Backend& backend, ApplicationKernel kernel,
                                        DtypeSet dtypes, std::uint32_t layouts);

}  // namespace bp

// How a file of kernels hands them to the plugin: one function a file, each adding to one list.
//
// A kernel of a row is a typed function, declared as any plugin's: with the schema that this plugin was compiled
// against, so that a host whose row has grown since knows which of its calls the kernel can serve. Kernels are declared
// at `init`, by one thread; the lists then live until `shutdown`, so that every pointer the host holds stays good.
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <backplane/plugin.hpp>

namespace bp::cpu {

// `from`, which is the call's argument 0, into its result of the same shape and dtype, each with any strides.
void copy_elements(const Call& call, const bp_tensor& from, const bp_tensor& out);

// NULL if it was not given.
inline const bp_tensor* tensor_or_null(const std::optional<In>& given) {
  return given ? &given->abi() : nullptr;
}

// Of a list with a number for each dimension; a single one is for all.
inline int64_t of_dim(Ints list, int dim) {
  return list[list.size() == 1 ? 0 : static_cast<size_t>(dim)];
}

// Kernels made at run time of the expressions in the host's own table: what the host's row means, argument by
// argument, is what such a kernel does, and so it has the host's schema.
class ExpressionKernels {
 public:
  using Run = bp_code (*)(void* self, const bp_call* call);

  // `places`: one for each argument of the schema, then one for each output.
  template <class T>
  void add(const bp_operator& op, std::vector<bp_arg> places, Run run, uint32_t flags,
           std::unique_ptr<T> self) {
    Made& made = made_.emplace_back();
    made.places = std::move(places);
    bp_kernel& kernel = made.kernel;
    kernel.h = {sizeof(bp_kernel), BP_TYPE_KERNEL, nullptr};
    kernel.op = op.name;
    kernel.schema_hash = op.schema_hash;
    kernel.args = made.places.data();
    kernel.num_args = static_cast<uint32_t>(made.places.size());
    kernel.flags = flags;
    kernel.self = self.get();
    kernel.run = run;
    made.self = std::shared_ptr<void>(std::move(self));
  }

  // The one added last; NULL if there is none.
  const bp_kernel* last() const { return made_.empty() ? nullptr : &made_.back().kernel; }
  size_t size() const { return made_.size(); }

  std::vector<const bp_kernel*> pointers() const {
    std::vector<const bp_kernel*> all;
    for (const Made& made : made_) all.push_back(&made.kernel);
    return all;
  }

  void remove(const bp_kernel* kernel) {
    made_.remove_if([&](const Made& made) { return &made.kernel == kernel; });
  }

 private:
  struct Made {
    bp_kernel kernel{};
    std::vector<bp_arg> places;
    std::shared_ptr<void> self;
  };
  std::list<Made> made_;
};

// Of every expression in the host's table.
void add_pointwise_kernels(const bp_host& host, ExpressionKernels& list);

// For one operator that came after `init`; NULL if it is beyond tile programs.
const bp_kernel* add_pointwise_kernel(const bp_operator& op, ExpressionKernels& list);

// Of every row over lists whose places are such an expression.
void add_list_expressions(const bp_host& host, ExpressionKernels& list);

// One for each other file of this folder.
void add_reduction_kernels(Kernels& k);
void add_argmax_kernels(Kernels& k);
void add_softmax_kernels(Kernels& k);
void add_logsumexp_kernels(Kernels& k);
void add_norm_kernels(Kernels& k);
void add_batch_norm_kernels(Kernels& k);
void add_attention_kernels(Kernels& k);
void add_copy_kernels(Kernels& k);
void add_rearranging_kernels(Kernels& k);
void add_matmul_kernels(Kernels& k);
void add_convolution_kernels(Kernels& k);
void add_packed_convolution_kernels(Kernels& k);
void add_max_pooling_kernels(Kernels& k);
void add_max_pooling_backward_kernels(Kernels& k);
void add_pooling_kernels(Kernels& k);
void add_recurrence_kernels(Kernels& k);
void add_gather_kernels(Kernels& k);
void add_scan_kernels(Kernels& k);
void add_sort_kernels(Kernels& k);
void add_random_kernels(Kernels& k);
void add_factory_kernels(Kernels& k);
void add_cat_kernels(Kernels& k);
void add_nonzero_kernels(Kernels& k);
#ifdef BP_KISSFFT_KERNELS
void add_fourier_kernels(Kernels& k);
#endif
void add_system_kernels(Kernels& k);
void add_orthogonal_kernels(Kernels& k);
void add_eig_kernels(Kernels& k);
void add_step_kernels(Kernels& k);
void add_list_kernels(Kernels& k);
void add_list_norm_kernels(Kernels& k);

}  // namespace bp::cpu

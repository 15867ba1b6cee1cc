// How a file of kernels hands them to the plugin: one function a file, each adding to one list.
//
// Kernels are added once, at `init`, by one thread; the list then lives until the library is closed,
// so that every pointer the host holds stays good.
#pragma once

#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include <backplane/abi.h>

namespace bp::cpu {

// What one place of a schema accepts: a tensor of these dtypes and layouts ...
constexpr bp_arg tensor_place(bp_dtype_set dtypes, uint32_t layouts = BP_LAYOUT_STRIDED) {
  bp_arg place{};
  place.dtypes = dtypes;
  place.layouts = layouts;
  return place;
}
// ... or something that is no tensor.
constexpr bp_arg any_place() {
  return bp_arg{};
}

class KernelList {
 public:
  using Run = bp_code (*)(void* self, const bp_call* call);
  using Supports = bp_code (*)(void* self, const bp_call* call);

  // Adds a kernel for `op`, or nothing if the host has no such operator. `places`: one for each
  // argument of the schema, then one for each output. `self` must outlive the list (see `keep`).
  void add(const bp_host& host, const char* op, std::vector<bp_arg> places, Run run,
           uint32_t flags = BP_KERNEL_DETERMINISTIC, void* self = nullptr,
           Supports supports = nullptr) {
    const bp_operator* known = host.find_operator(&host, op);
    if (known != nullptr) add(*known, std::move(places), run, flags, self, supports);
  }

  void add(const bp_operator& op, std::vector<bp_arg> places, Run run,
           uint32_t flags = BP_KERNEL_DETERMINISTIC, void* self = nullptr,
           Supports supports = nullptr) {
    const std::vector<bp_arg>& kept = places_.emplace_back(std::move(places));
    bp_kernel& kernel = kernels_.emplace_back();
    kernel.h = {sizeof(bp_kernel), BP_TYPE_KERNEL, nullptr};
    kernel.op = op.name;
    kernel.schema_hash = op.schema_hash;
    kernel.args = kept.data();
    kernel.num_args = static_cast<uint32_t>(kept.size());
    kernel.flags = flags;
    kernel.self = self;
    kernel.supports = supports;
    kernel.run = run;
    pointers_.push_back(&kernel);
  }

  // Makes a `self` that lives as long as the list.
  template <class T> T* keep(std::unique_ptr<T> self) {
    T* raw = self.get();
    selves_.push_back(std::shared_ptr<void>(std::move(self)));
    return raw;
  }

  const bp_kernel* const* data() const { return pointers_.data(); }
  uint32_t size() const { return static_cast<uint32_t>(pointers_.size()); }

 private:
  std::deque<bp_kernel> kernels_;
  std::deque<std::vector<bp_arg>> places_;
  std::vector<const bp_kernel*> pointers_;
  std::vector<std::shared_ptr<void>> selves_;
};

// For one operator that came after `init`; NULL if it is beyond tile programs.
const bp_kernel* add_pointwise_kernel(const bp_operator& op, KernelList& list);

// One for each file of this folder.
void add_pointwise_kernels(const bp_host& host, KernelList& list);
void add_reduction_kernels(const bp_host& host, KernelList& list);
void add_argmax_kernels(const bp_host& host, KernelList& list);  // called by the one before
void add_softmax_kernels(const bp_host& host, KernelList& list);
void add_norm_kernels(const bp_host& host, KernelList& list);
void add_batch_norm_kernels(const bp_host& host, KernelList& list);
void add_attention_kernels(const bp_host& host, KernelList& list);
void add_copy_kernels(const bp_host& host, KernelList& list);
void add_matmul_kernels(const bp_host& host, KernelList& list);
void add_convolution_kernels(const bp_host& host, KernelList& list);
void add_pooling_kernels(const bp_host& host, KernelList& list);
void add_gather_kernels(const bp_host& host, KernelList& list);
void add_scan_kernels(const bp_host& host, KernelList& list);
void add_sort_kernels(const bp_host& host, KernelList& list);
void add_random_kernels(const bp_host& host, KernelList& list);
void add_factory_kernels(const bp_host& host, KernelList& list);
void add_cat_kernels(const bp_host& host, KernelList& list);
void add_nonzero_kernels(const bp_host& host, KernelList& list);

}  // namespace bp::cpu

// For kernels of matmul by a library that takes one batch dimension: the batch dimensions of a call, in as few as
// their strides allow. Not part of plugin.hpp: include it where it is needed.
#ifndef BACKPLANE_PLUGIN_BATCHES_HPP
#define BACKPLANE_PLUGIN_BATCHES_HPP

#include <array>

#include <backplane/plugin/values.hpp>

namespace BP_SDK BP_HIDDEN {

// Of out = a @ b, all of rank 2 or more, batches broadcast; neighbouring dimensions that can be walked as one are
// joined.
class Batches {
 public:
  using Strides = std::array<int64_t, 3>;  // of a, b and out, in elements
  struct Dim {
    int64_t size = 1;
    Strides strides{};
  };

  Batches(Out out, In a, In b) {
    for (int32_t i = 0; i + 2 < out.ndim(); ++i) {
      if (out.size(i) == 1) continue;
      add(out.size(i), {stride_of(a, i, out), stride_of(b, i, out), out.stride(i)});
    }
  }

  // The innermost, which one product takes; the others follow one after the other.
  Dim innermost() const { return rank_ == 0 ? Dim{} : dims_[rank_ - 1]; }

  int64_t count_outer() const {
    int64_t count = 1;
    for (size_t i = 0; i + 1 < rank_; ++i) count *= dims_[i].size;
    return count;
  }
  // Offsets of the outer batch `index`, in elements.
  Strides offsets_of(int64_t index) const {
    Strides offsets{};
    for (size_t i = rank_ > 0 ? rank_ - 1 : 0; i-- > 0; index /= dims_[i].size)
      for (size_t k = 0; k < 3; ++k) offsets[k] += index % dims_[i].size * dims_[i].strides[k];
    return offsets;
  }

 private:
  // Right-aligned; 0 where the tensor is broadcast.
  static int64_t stride_of(In tensor, int32_t out_dim, Out out) {
    const int32_t dim = out_dim - (out.ndim() - tensor.ndim());
    return dim < 0 || tensor.size(dim) == 1 ? 0 : tensor.stride(dim);
  }

  void add(int64_t size, Strides strides) {
    if (rank_ > 0) {
      Dim& last = dims_[rank_ - 1];
      bool joins = true;
      for (size_t k = 0; k < 3; ++k) joins = joins && last.strides[k] == strides[k] * size;
      if (joins) {
        last = {last.size * size, strides};
        return;
      }
    }
    dims_[rank_++] = {size, strides};
  }

  std::array<Dim, BP_MAX_RANK> dims_{};
  size_t rank_ = 0;
};

}  // namespace BP_HIDDEN

#endif  // BACKPLANE_PLUGIN_BATCHES_HPP

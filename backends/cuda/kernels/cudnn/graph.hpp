// A computation as cuDNN takes it: a graph of operations over tensors.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

#include <backplane/plugin.hpp>

#include "kernels/cudnn/library.hpp"

namespace cuda_backend::cudnn {

// Thrown where the library says no to a description; ends where ways are looked for.
struct Refused {
  cudnnStatus_t status;
  const char* what;
};

inline void require(cudnnStatus_t status, const char* what) {
  if (status != CUDNN_STATUS_SUCCESS) throw Refused{status, what};
}

cudnnDataType_t type_of(bp::Dtype dtype);

// One of the library's descriptors. Throws Refused, as everything here that describes.
class Descriptor {
 public:
  Descriptor(const Library& library, cudnnBackendDescriptorType_t type);

  using Name = cudnnBackendAttributeName_t;
  void set(Name name, int64_t value) { set(name, CUDNN_TYPE_INT64, 1, &value); }
  void set(Name name, std::span<const int64_t> values) {
    set(name, CUDNN_TYPE_INT64, static_cast<int64_t>(values.size()), values.data());
  }
  void set(Name name, cudnnDataType_t value) { set(name, CUDNN_TYPE_DATA_TYPE, 1, &value); }
  void set(Name name, bool value) { set(name, CUDNN_TYPE_BOOLEAN, 1, &value); }
  void set(Name name, const Descriptor& other) {
    const cudnnBackendDescriptor_t raw = other.get();
    set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &raw);
  }
  void set(Name name, cudnnBackendAttributeType_t type, int64_t count, const void* values);
  Descriptor& finalize(const char* what);

  // How many elements were written to `values`, or are there if that is null.
  int64_t read(Name name, cudnnBackendAttributeType_t type, int64_t count, void* values) const;

  const Library& library() const { return *library_; }
  cudnnBackendDescriptor_t get() const { return raw_.get(); }

 private:
  struct Destroy {
    const Library* library;
    void operator()(void* raw) const { library->destroy_descriptor(raw); }
  };
  const Library* library_;
  std::unique_ptr<void, Destroy> raw_;
};

// For which card graphs are planned: that of a handle, or one that is described and need not be on this machine.
struct Target {
  cudnnHandle_t handle;
  const Descriptor* card;
};

// A tensor of a graph by its number.
using Id = int64_t;

// What a tensor looks like; strides in elements.
struct Shape {
  std::vector<int64_t> sizes, strides;

  static Shape row_major(std::vector<int64_t> sizes);
};

// Rooms for tensors and operations, in the order in which they are added.
class Graph {
 public:
  // What is computed in between is `inner` unless said otherwise.
  Graph(const Library& library, cudnnDataType_t inner) : library_(library), inner_(inner) {}

  // In the card's memory, at an address of this alignment or a better one.
  Id tensor(cudnnDataType_t type, const Shape& shape, int64_t alignment = 16);
  // Never in memory.
  Id between(const Shape& shape) { return between(shape, inner_); }
  Id between(const Shape& shape, cudnnDataType_t type);
  // A number that is handed over with each run.
  Id number(cudnnDataType_t type);

  struct Windows {
    std::span<const int64_t> stride, padding, dilation;
  };
  enum class Convolution { forward, to_input, to_weight };
  // `large`, `weight` and `small` as forwards: `large` is convolved to `small`.
  void convolve(Convolution way, const Windows& windows, Id large, Id weight, Id small);

  void multiply_matrices(Id a, Id b, Id to);
  void pointwise(cudnnPointwiseMode_t mode, std::initializer_list<Id> from, Id to);
  // `computed` in another type than the graph's, as comparisons are.
  void pointwise(cudnnPointwiseMode_t mode, std::initializer_list<Id> from, Id to,
                 cudnnDataType_t computed);
  // The place of each element along `axis`.
  void places(int64_t axis, Id like, Id to);
  void reduce(cudnnReduceTensorOp_t mode, Id from, Id to);
  // The same memory, seen with another shape.
  void reshape(Id from, Id to);

  const Library& library() const { return library_; }
  // Afterwards nothing more is added.
  Descriptor finish(const Target& target);

 private:
  Id add_tensor(cudnnDataType_t type, const Shape& shape, int64_t alignment, bool is_virtual,
                bool by_value);
  Descriptor operation(cudnnBackendDescriptorType_t type) { return {library_, type}; }
  void add(Descriptor operation, const char* what);
  const Descriptor& at(Id id) const { return tensors_[static_cast<size_t>(id)]; }
  Descriptor pointwise_of(cudnnPointwiseMode_t mode, cudnnDataType_t computed, int64_t axis = -1);

  const Library& library_;
  cudnnDataType_t inner_;
  std::vector<Descriptor> tensors_, operations_;
};

}  // namespace cuda_backend::cudnn

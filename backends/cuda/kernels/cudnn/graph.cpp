#include "kernels/cudnn/graph.hpp"

#include <algorithm>

namespace cuda_backend::cudnn {
namespace {

int64_t product_of(const std::vector<int64_t>& sizes, size_t begin) {
  int64_t product = 1;
  for (size_t dim = begin; dim < sizes.size(); ++dim) product *= sizes[dim];
  return product;
}

}  // namespace

cudnnDataType_t type_of(bp::Dtype dtype) {
  if (dtype == bp::f16) return CUDNN_DATA_HALF;
  if (dtype == bp::bf16) return CUDNN_DATA_BFLOAT16;
  return dtype == bp::f64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
}

Shape Shape::row_major(std::vector<int64_t> sizes) {
  Shape made{std::move(sizes), {}};
  for (size_t dim = 0; dim < made.sizes.size(); ++dim)
    made.strides.push_back(product_of(made.sizes, dim + 1));
  return made;
}

// ---- Descriptors ---------------------------------------------------------------------------------------

Descriptor::Descriptor(const Library& library, cudnnBackendDescriptorType_t type)
    : library_(&library), raw_(nullptr, Destroy{&library}) {
  cudnnBackendDescriptor_t made = nullptr;
  require(library.create_descriptor(type, &made), "a description");
  raw_.reset(made);
}

void Descriptor::set(Name name, cudnnBackendAttributeType_t type, int64_t count,
                     const void* values) {
  require(library_->set_attribute(get(), name, type, count, values), "an attribute");
}

Descriptor& Descriptor::finalize(const char* what) {
  require(library_->finalize(get()), what);
  return *this;
}

int64_t Descriptor::read(Name name, cudnnBackendAttributeType_t type, int64_t count,
                         void* values) const {
  int64_t written = 0;
  require(library_->get_attribute(get(), name, type, count, &written, values), "an answer");
  return values != nullptr ? std::min(written, count) : written;
}

// ---- Graphs --------------------------------------------------------------------------------------------

Id Graph::add_tensor(cudnnDataType_t type, const Shape& shape, int64_t alignment, bool is_virtual,
                     bool by_value) {
  const auto id = static_cast<Id>(tensors_.size());
  Descriptor made(library_, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  made.set(CUDNN_ATTR_TENSOR_DATA_TYPE, type);
  made.set(CUDNN_ATTR_TENSOR_DIMENSIONS, shape.sizes);
  made.set(CUDNN_ATTR_TENSOR_STRIDES, shape.strides);
  made.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id);
  made.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, alignment);
  made.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, is_virtual);
  made.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, by_value);
  tensors_.push_back(std::move(made.finalize("a tensor")));
  return id;
}

Id Graph::tensor(cudnnDataType_t type, const Shape& shape, int64_t alignment) {
  return add_tensor(type, shape, alignment, false, false);
}

Id Graph::between(const Shape& shape, cudnnDataType_t type) {
  return add_tensor(type, shape, 16, true, false);
}

Id Graph::number(cudnnDataType_t type) {
  return add_tensor(type, Shape::row_major({1, 1, 1, 1}), 16, false, true);
}

void Graph::add(Descriptor operation, const char* what) {
  operations_.push_back(std::move(operation.finalize(what)));
}

void Graph::convolve(Convolution way, const Windows& windows, Id large, Id weight, Id small) {
  struct Names {
    cudnnBackendDescriptorType_t type;
    Descriptor::Name windows, large, weight, small, alpha, beta;
  };
  static constexpr std::array<Names, 3> names = {
      {{CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
        CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
        CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
        CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
        CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
       {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
       {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA}}};
  const Names& n = names[static_cast<size_t>(way)];

  Descriptor described(library_, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  described.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, inner_);
  const cudnnConvolutionMode_t unflipped = CUDNN_CROSS_CORRELATION;
  described.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &unflipped);
  described.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, static_cast<int64_t>(windows.stride.size()));
  described.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, windows.stride);
  described.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, windows.padding);
  described.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, windows.padding);
  described.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, windows.dilation);
  described.finalize("windows");

  Descriptor made = operation(n.type);
  made.set(n.windows, described);
  made.set(n.large, at(large));
  made.set(n.weight, at(weight));
  made.set(n.small, at(small));
  constexpr double one = 1, zero = 0;
  constexpr float one_in_float = 1, zero_in_float = 0;
  const bool in_double = inner_ == CUDNN_DATA_DOUBLE;
  const auto type = in_double ? CUDNN_TYPE_DOUBLE : CUDNN_TYPE_FLOAT;
  made.set(n.alpha, type, 1, in_double ? static_cast<const void*>(&one) : &one_in_float);
  made.set(n.beta, type, 1, in_double ? static_cast<const void*>(&zero) : &zero_in_float);
  add(std::move(made), "a convolution");
}

void Graph::multiply_matrices(Id a, Id b, Id to) {
  Descriptor described(library_, CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  described.set(CUDNN_ATTR_MATMUL_COMP_TYPE, inner_);
  described.finalize("a product's type");
  Descriptor made = operation(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
  made.set(CUDNN_ATTR_OPERATION_MATMUL_DESC, described);
  made.set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, at(a));
  made.set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, at(b));
  made.set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, at(to));
  add(std::move(made), "a product");
}

Descriptor Graph::pointwise_of(cudnnPointwiseMode_t mode, cudnnDataType_t computed, int64_t axis) {
  Descriptor described(library_, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  described.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
  described.set(CUDNN_ATTR_POINTWISE_MATH_PREC, computed);
  if (axis >= 0) described.set(CUDNN_ATTR_POINTWISE_AXIS, axis);
  described.finalize("a function");
  Descriptor made = operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  made.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, described);
  return made;
}

void Graph::pointwise(cudnnPointwiseMode_t mode, std::initializer_list<Id> from, Id to) {
  pointwise(mode, from, to, inner_);
}

void Graph::pointwise(cudnnPointwiseMode_t mode, std::initializer_list<Id> from, Id to,
                      cudnnDataType_t computed) {
  Descriptor made = pointwise_of(mode, computed);
  constexpr std::array places = {CUDNN_ATTR_OPERATION_POINTWISE_XDESC,
                                 CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
                                 CUDNN_ATTR_OPERATION_POINTWISE_TDESC};
  size_t place = 0;
  for (const Id id : from) made.set(places[place++], at(id));
  made.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, at(to));
  add(std::move(made), "a function's operation");
}

void Graph::places(int64_t axis, Id like, Id to) {
  Descriptor made = pointwise_of(CUDNN_POINTWISE_GEN_INDEX, inner_, axis);
  made.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, at(like));
  made.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, at(to));
  add(std::move(made), "places");
}

void Graph::reduce(cudnnReduceTensorOp_t mode, Id from, Id to) {
  Descriptor described(library_, CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
  described.set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, &mode);
  described.set(CUDNN_ATTR_REDUCTION_COMP_TYPE, inner_);
  described.finalize("a reduction");
  Descriptor made = operation(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
  made.set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, described);
  made.set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, at(from));
  made.set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, at(to));
  add(std::move(made), "a reduction's operation");
}

void Graph::reshape(Id from, Id to) {
  Descriptor made = operation(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
  made.set(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, at(from));
  made.set(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, at(to));
  add(std::move(made), "a view");
}

Descriptor Graph::finish(const Target& target) {
  Descriptor made(library_, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  std::vector<cudnnBackendDescriptor_t> raw;
  for (const Descriptor& operation : operations_) raw.push_back(operation.get());
  made.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
           static_cast<int64_t>(raw.size()), raw.data());
  if (target.handle != nullptr)
    made.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &target.handle);
  return std::move(made.finalize("a graph"));
}

}  // namespace cuda_backend::cudnn

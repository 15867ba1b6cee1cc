// The named rules that rows of the table refer to. A rule finds the outputs' shapes and dtypes from
// metadata alone, checks the arguments with PyTorch's semantics, and rewrites them to what kernels
// expect (docs/notes/kernel-contract.md). Rules take no memory from the heap.
#pragma once

#include <backplane/dispatcher/operator.hpp>

namespace bp::rules {

void pointwise(const Call& call, Inferred& out);
void power(const Call& call, Inferred& out);

void sum(const Call& call, Inferred& out);
void mean(const Call& call, Inferred& out);
void extremum(const Call& call, Inferred& out);
void argmax(const Call& call, Inferred& out);
void softmax(const Call& call, Inferred& out);
void scan(const Call& call, Inferred& out);

void prod(const Call& call, Inferred& out);
void variance(const Call& call, Inferred& out);
void any_of(const Call& call, Inferred& out);
void all_of(const Call& call, Inferred& out);
void logsumexp(const Call& call, Inferred& out);
void norm(const Call& call, Inferred& out);

void matmul(const Call& call, Inferred& out);
void bmm(const Call& call, Inferred& out);

void convolution(const Call& call, Inferred& out);
void convolution_backward_weight(const Call& call, Inferred& out);
void packed_convolution(const Call& call, Inferred& out);
void max_pool(const Call& call, Inferred& out);
void avg_pool(const Call& call, Inferred& out);
void avg_pool_backward(const Call& call, Inferred& out);
void max_pool_backward(const Call& call, Inferred& out);
void adaptive_pool(const Call& call, Inferred& out);

// Of results, where kernels leave NaN or infinities.
void check_positive_definite(const Call& call);
void check_invertible(const Call& call);

void square_matrices(const Call& call, Inferred& out);
void triangular_system(const Call& call, Inferred& out);
void linear_system(const Call& call, Inferred& out);
void lu_factor(const Call& call, Inferred& out);
void qr(const Call& call, Inferred& out);
void eigh(const Call& call, Inferred& out);
void eigvalsh(const Call& call, Inferred& out);
void eig(const Call& call, Inferred& out);
void eigvals(const Call& call, Inferred& out);
void svd(const Call& call, Inferred& out);
void svdvals(const Call& call, Inferred& out);
// Of rows over lists: `uses` begins with the operator that each place is.
void each_place(const Call& call, Inferred& out);
void each_norm(const Call& call, Inferred& out);
void fused_sgd(const Call& call, Inferred& out);
void fused_adam(const Call& call, Inferred& out);
void fused_adagrad(const Call& call, Inferred& out);

void layer_norm(const Call& call, Inferred& out);
void rms_norm(const Call& call, Inferred& out);
void norm_backward(const Call& call, Inferred& out);
void norm_weight_backward(const Call& call, Inferred& out);
void norm_gradients(const Call& call, Inferred& out);
void batch_norm(const Call& call, Inferred& out);
void batch_norm_backward(const Call& call, Inferred& out);

void fft_c2c(const Call& call, Inferred& out);
void fft_r2c(const Call& call, Inferred& out);
void fft_c2r(const Call& call, Inferred& out);

void attention(const Call& call, Inferred& out);
void attention_backward(const Call& call, Inferred& out);

void gather(const Call& call, Inferred& out);
void index_select(const Call& call, Inferred& out);
void scatter_add(const Call& call, Inferred& out);
void one_hot(const Call& call, Inferred& out);
void nonzero(const Call& call, Inferred& out);
void sort(const Call& call, Inferred& out);

void copy(const Call& call, Inferred& out);
void cast(const Call& call, Inferred& out);
void cat(const Call& call, Inferred& out);

void constant_pad_nd(const Call& call, Inferred& out);
void flip(const Call& call, Inferred& out);
void triangle(const Call& call, Inferred& out);

void embedding(const Call& call, Inferred& out);
void topk(const Call& call, Inferred& out);

void lstm(const Call& call, Inferred& out);
void gru(const Call& call, Inferred& out);
void plain_recurrence(const Call& call, Inferred& out);
void scaled_mm(const Call& call, Inferred& out);

void full(const Call& call, Inferred& out);
void arange(const Call& call, Inferred& out);
void philox(const Call& call, Inferred& out);
void philox_floating(const Call& call, Inferred& out);

Tensor view_view(const Call& call);
Tensor reshape_view(const Call& call);
Tensor flatten_view(const Call& call);
Tensor transpose_view(const Call& call);
Tensor permute_view(const Call& call);
Tensor slice_view(const Call& call);
Tensor select_view(const Call& call);
Tensor narrow_view(const Call& call);
Tensor expand_view(const Call& call);
Tensor squeeze_view(const Call& call);
Tensor unsqueeze_view(const Call& call);
Tensor as_strided_view(const Call& call);
Tensor unfold_view(const Call& call);
Tensor diagonal_view(const Call& call);
Tensor view_as_real_view(const Call& call);
Tensor view_as_complex_view(const Call& call);

// Several views of one tensor, and how many results rows with lists have: parts.cpp.
void unbind_views(const Call& call);
void split_views(const Call& call);
void split_with_sizes_views(const Call& call);

std::uint32_t foreach_count(const Call& call);
std::uint32_t unbind_count(const Call& call);
std::uint32_t split_count(const Call& call);
std::uint32_t split_with_sizes_count(const Call& call);
std::uint32_t chunk_count(const Call& call);
std::uint32_t tensor_split_count(const Call& call);
std::uint32_t tensor_split_at_count(const Call& call);
std::uint32_t meshgrid_count(const Call& call);
std::uint32_t broadcast_tensors_count(const Call& call);

}  // namespace bp::rules

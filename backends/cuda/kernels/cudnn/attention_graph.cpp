#include "kernels/cudnn/attention_graph.hpp"

namespace cuda_backend::cudnn {
namespace {

// The graph of either way while it is made.
class Making {
 public:
  Making(const Library& library, const Attention& attention)
      : graph(library, CUDNN_DATA_FLOAT), type(type_of(attention.dtype)), a(attention) {}

  Shape scores() const { return Shape::row_major({a.batch, a.heads, a.queries, a.keys}); }
  Shape per_query() const { return Shape::row_major({a.batch, a.heads, a.queries, 1}); }
  Shape of_queries(int64_t size) const {
    return Shape::row_major({a.batch, a.heads, a.queries, size});
  }
  Shape of_keys(int64_t heads, int64_t size) const {
    return Shape::row_major({a.batch, heads, a.keys, size});
  }

  static Shape with(std::vector<int64_t> sizes, const std::array<int64_t, 4>& strides) {
    return {std::move(sizes), {strides.begin(), strides.end()}};
  }
  static Shape transposed(Shape shape) {
    std::swap(shape.sizes[2], shape.sizes[3]);
    std::swap(shape.strides[2], shape.strides[3]);
    return shape;
  }
  Shape query() const { return with({a.batch, a.heads, a.queries, a.size}, a.query); }
  Shape key() const { return with({a.batch, a.shared_heads, a.keys, a.size}, a.key); }
  Shape value() const { return with({a.batch, a.shared_heads, a.keys, a.value_size}, a.value); }

  Id real(const Shape& shape) { return graph.tensor(type, shape); }
  Id real_f32(const Shape& shape) { return graph.tensor(CUDNN_DATA_FLOAT, shape); }
  Id number() { return graph.number(CUDNN_DATA_FLOAT); }

  Id product(Id x, Id y, const Shape& shape) {
    const Id made = graph.between(shape);
    graph.multiply_matrices(x, y, made);
    return made;
  }
  Id apply(cudnnPointwiseMode_t mode, std::initializer_list<Id> from, const Shape& shape) {
    const Id made = graph.between(shape);
    graph.pointwise(mode, from, made);
    return made;
  }
  Id reduced(cudnnReduceTensorOp_t mode, Id from) {
    const Id made = graph.between(per_query());
    graph.reduce(mode, from, made);
    return made;
  }
  // As factors of a product, in the type of the call's tensors.
  Id transposed_scores(Id from) {
    const Id made = graph.between(transposed(scores()), type);
    graph.reshape(from, made);
    return made;
  }

  // Minus infinity for keys behind the query's own place.
  Id causal(Id from, Id minus_infinity) {
    if (!a.is_causal) return from;
    const Id row = graph.between(scores(), CUDNN_DATA_INT32);
    graph.places(2, from, row);
    const Id column = graph.between(scores(), CUDNN_DATA_INT32);
    graph.places(3, from, column);
    const Id seen = graph.between(scores(), CUDNN_DATA_BOOLEAN);
    graph.pointwise(CUDNN_POINTWISE_CMP_GE, {row, column}, seen, CUDNN_DATA_BOOLEAN);
    return apply(CUDNN_POINTWISE_BINARY_SELECT, {from, minus_infinity, seen}, scores());
  }

  // The sum over the heads that share one, where some do.
  void multiply_to_shared(Id x, Id y, Id to, int64_t size) {
    if (a.heads == a.shared_heads) return graph.multiply_matrices(x, y, to);
    const Id all = graph.between(of_keys(a.heads, size), type);
    graph.multiply_matrices(x, y, all);
    graph.reduce(CUDNN_REDUCE_TENSOR_ADD, all, to);
  }

  Graph graph;
  const cudnnDataType_t type;
  const Attention& a;
};

}  // namespace

Graph attention_graph(const Library& library, const Attention& a) {
  Making m(library, a);
  const Id query = m.real(m.query()), key = m.real(Making::transposed(m.key())),
           value = m.real(m.value()), scale = m.number(), minus_infinity = m.number(),
           result = m.real(m.of_queries(a.value_size)), logsumexp = m.real_f32(m.per_query());

  const Shape scores = m.scores();
  Id score = m.product(query, key, scores);
  score = m.apply(CUDNN_POINTWISE_MUL, {score, scale}, scores);
  score = m.causal(score, minus_infinity);
  const Id largest = m.reduced(CUDNN_REDUCE_TENSOR_MAX, score);
  const Id shifted = m.apply(CUDNN_POINTWISE_SUB, {score, largest}, scores);
  const Id term = m.apply(CUDNN_POINTWISE_EXP, {shifted}, scores);
  const Id total = m.reduced(CUDNN_REDUCE_TENSOR_ADD, term);
  const Id logarithm = m.apply(CUDNN_POINTWISE_LOG, {total}, m.per_query());
  m.graph.pointwise(CUDNN_POINTWISE_ADD, {largest, logarithm}, logsumexp);
  const Id weight = m.graph.between(scores, m.type);
  m.graph.pointwise(CUDNN_POINTWISE_DIV, {term, total}, weight);
  m.graph.multiply_matrices(weight, value, result);
  return std::move(m.graph);
}

Graph attention_backward_graph(const Library& library, const Attention& a,
                               const std::array<int64_t, 4>& grad_strides, bool deterministic) {
  Making m(library, a);
  const Shape of_values = m.of_queries(a.value_size), scores = m.scores();
  const Id query = m.real(m.query()), key = m.real(Making::transposed(m.key())),
           value = m.real(Making::transposed(m.value())), scale = m.number(),
           minus_infinity = m.number(), result = m.real(of_values),
           logsumexp = m.real_f32(m.per_query()),
           grad = m.real(Making::with(of_values.sizes, grad_strides)), one = m.number(),
           by_query = m.real(m.of_queries(a.size)),
           by_key = m.real(m.of_keys(a.shared_heads, a.size)),
           by_value = m.real(m.of_keys(a.shared_heads, a.value_size)),
           shift = m.real_f32(m.per_query()), sums = m.real_f32(m.of_queries(a.size));

  // What softmax takes off the gradients by its weights.
  const Id terms = m.apply(CUDNN_POINTWISE_MUL, {grad, result}, of_values);
  const Id summed = m.reduced(CUDNN_REDUCE_TENSOR_ADD, terms);
  m.graph.pointwise(CUDNN_POINTWISE_MUL, {summed, one}, shift);

  Id score = m.product(query, key, scores);
  score = m.apply(CUDNN_POINTWISE_MUL, {score, scale}, scores);
  score = m.apply(CUDNN_POINTWISE_SUB, {score, logsumexp}, scores);
  score = m.causal(score, minus_infinity);
  const Id weight = m.apply(CUDNN_POINTWISE_EXP, {score}, scores);
  m.multiply_to_shared(m.transposed_scores(weight), grad, by_value, a.value_size);

  Id by_score = m.product(grad, value, scores);
  by_score = m.apply(CUDNN_POINTWISE_SUB, {by_score, shift}, scores);
  by_score = m.apply(CUDNN_POINTWISE_MUL, {by_score, weight}, scores);
  by_score = m.apply(CUDNN_POINTWISE_MUL, {by_score, scale}, scores);
  m.multiply_to_shared(m.transposed_scores(by_score), query, by_key, a.size);

  const Id keys = m.graph.between(m.key(), m.type);
  m.graph.reshape(key, keys);
  m.graph.multiply_matrices(by_score, keys, deterministic ? by_query : sums);
  if (!deterministic) m.graph.pointwise(CUDNN_POINTWISE_IDENTITY, {sums}, by_query);
  return std::move(m.graph);
}

}  // namespace cuda_backend::cudnn

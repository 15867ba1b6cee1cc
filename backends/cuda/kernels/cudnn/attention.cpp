// Attention without a mask and its gradients, of 16-bit floats, by cuDNN. What it does not take is computed from
// products by the host.
#include <limits>

#include "constants.hpp"
#include "kernels/cudnn/attention_graph.hpp"
#include "kernels/cudnn/planner.hpp"

namespace cuda_backend::cudnn {
namespace {

std::array<int64_t, 4> strides_of(const bp::AnyTensor& tensor) {
  return {tensor.stride(0), tensor.stride(1), tensor.stride(2), tensor.stride(3)};
}

Attention describe_attention(const bp::AnyTensor& query, const bp::AnyTensor& key,
                             const bp::AnyTensor& value, bool is_causal) {
  return {query.dtype(), query.size(0),     query.size(1),   key.size(1),
          query.size(2), key.size(2),       query.size(3),   value.size(3),
          is_causal,     strides_of(query), strides_of(key), strides_of(value)};
}

// Rows without gaps that begin at addresses the library can copy from in pieces of 16 bytes.
bool lies_right(const bp::AnyTensor& tensor) {
  constexpr int64_t piece = 8;  // elements
  const auto address =
      reinterpret_cast<uintptr_t>(bp::address_of<void>(tensor.handle(), tensor.byte_offset()));
  if (address % 16 != 0 || tensor.stride(3) != 1) return false;
  for (int32_t dim = 0; dim < 3; ++dim)
    if (tensor.size(dim) != 1 && (tensor.stride(dim) <= 0 || tensor.stride(dim) % piece != 0))
      return false;
  return true;
}

// Each new shape costs the library a second of compiling, which small problems never earn back; and a sequence that grows
// by one query a call would pay it each time.
bool is_worth_compiling(const bp::AnyTensor& query, const bp::AnyTensor& key) {
  return query.size(2) > 1 &&
         query.size(0) * query.size(1) * query.size(2) * key.size(2) >= constants::attention_scores;
}

// Versions that compute wrong are left out, as NVIDIA's release notes name them.
bool is_served(const bp::AnyTensor& query, const bp::AnyTensor& key, const bp::AnyTensor& value) {
  const Library* const found = library();
  if (found == nullptr) return false;
  const size_t version = found->version();
  if (version == 91000 || version == 91001) return false;
  const auto fits = [](int64_t size) { return size % 8 == 0 && size >= 8 && size <= 128; };
  return query.numel() > 0 && key.numel() > 0 && value.numel() > 0 && fits(query.size(3)) &&
         fits(value.size(3)) && is_worth_compiling(query, key);
}

bool is_served_backward(const bp::AnyTensor& query, const bp::AnyTensor& key,
                        const bp::AnyTensor& value) {
  constexpr size_t last_that_needs_whole_blocks = 91500;
  constexpr int64_t block = 128;
  return is_served(query, key, value) &&
         (key.size(2) % block == 0 || library()->version() > last_that_needs_whole_blocks);
}

void add_to_key(Key& key, const Attention& a) {
  key.add(static_cast<int64_t>(a.dtype)).add(a.is_causal);
  key.add(a.batch).add(a.heads).add(a.shared_heads).add(a.queries).add(a.keys);
  key.add(a.size).add(a.value_size).add(a.query).add(a.key).add(a.value);
}

// What the graphs take as numbers.
struct Numbers {
  explicit Numbers(double scale_of)
      : scale(static_cast<float>(scale_of)),
        // Older versions make NaN of infinities.
        minus_infinity(library()->version() < 91000 ? std::numeric_limits<float>::lowest()
                                                    : -std::numeric_limits<float>::infinity()) {}
  float scale, minus_infinity, one = 1;
};

bp::Status native_attention(bp::Call call, bp::In query, bp::In key, bp::In value,
                            std::optional<bp::In>, bool is_causal, double scale, bp::Out result,
                            bp::Out logsumexp) {
  const OnCard card(call, "native_attention");
  Planner* const planner = planner_of(card);
  if (planner == nullptr || !lies_right(query) || !lies_right(key) || !lies_right(value) ||
      !lies_right(result))
    return bp::Status::from_host(BP_UNSUPPORTED);
  const Attention attention = describe_attention(query, key, value, is_causal);
  const Wishes wishes{true, false, false};
  Problem problem{"native_attention", {}, false, {}};
  problem.key.add('a').add(wishes.deterministic);
  add_to_key(problem.key, attention);
  problem.plan = [&](const Target& target) {
    Graph graph = attention_graph(planner->library(), attention);
    return Ways(graph, target, wishes, "native_attention");
  };
  const Numbers numbers(scale);
  using Ids = ForwardIds;
  const std::array<Ways::Binding, 7> bindings = {{{Ids::query, query.data<void>()},
                                                  {Ids::key, key.data<void>()},
                                                  {Ids::value, value.data<void>()},
                                                  {Ids::scale, &numbers.scale},
                                                  {Ids::result, result.data<void>()},
                                                  {Ids::logsumexp, logsumexp.data<void>()},
                                                  {Ids::minus_infinity, &numbers.minus_infinity}}};
  const size_t count = bindings.size() - (is_causal ? 0 : 1);
  return planner->run(call, card, problem, {bindings.data(), count});
}

// Sums up in any order, and faster, unless asked not to.
template <bool same_bits>
bp::Status attention_backward(bp::Call call, bp::In grad, std::optional<bp::In>, bp::In query,
                              bp::In key, bp::In value, std::optional<bp::In>, bp::In result,
                              bp::In logsumexp, bool is_causal, double scale, bp::Out by_query,
                              bp::Out by_key, bp::Out by_value) {
  const OnCard card(call, "attention_backward");
  Planner* const planner = planner_of(card);
  if (planner == nullptr) return bp::Status::from_host(BP_UNSUPPORTED);
  for (const bp::AnyTensor& tensor : {bp::AnyTensor(grad), bp::AnyTensor(query), bp::AnyTensor(key),
                                      bp::AnyTensor(value), bp::AnyTensor(result)})
    if (!lies_right(tensor)) return bp::Status::from_host(BP_UNSUPPORTED);
  const Attention attention = describe_attention(query, key, value, is_causal);
  const Wishes wishes{same_bits, false, false};
  Problem problem{"attention_backward", {}, false, {}};
  problem.key.add('b').add(wishes.deterministic).add(strides_of(grad));
  add_to_key(problem.key, attention);
  problem.plan = [&](const Target& target) {
    Graph graph = attention_backward_graph(planner->library(), attention, strides_of(grad),
                                           wishes.deterministic);
    return Ways(graph, target, wishes, "attention_backward");
  };

  const auto rows = static_cast<uint64_t>(attention.batch * attention.heads * attention.queries);
  const uint64_t num_sums = wishes.deterministic ? 0 : rows * static_cast<uint64_t>(attention.size);
  Scratch scratch;
  scratch.take<float>(rows);
  scratch.take<float>(num_sums);
  if (bp::Status status = scratch.allocate(call); !status.is_ok()) return status;
  float* const shift = scratch.take<float>(rows);
  float* const sums = scratch.take<float>(num_sums);
  const Numbers numbers(scale);
  using Ids = BackwardIds;
  std::vector<Ways::Binding> bindings = {
      {Ids::query, query.data<void>()},       {Ids::key, key.data<void>()},
      {Ids::value, value.data<void>()},       {Ids::scale, &numbers.scale},
      {Ids::result, result.data<void>()},     {Ids::logsumexp, logsumexp.data<void>()},
      {Ids::grad, grad.data<void>()},         {Ids::one, &numbers.one},
      {Ids::by_query, by_query.data<void>()}, {Ids::by_key, by_key.data<void>()},
      {Ids::by_value, by_value.data<void>()}, {Ids::shift, shift}};
  if (is_causal) bindings.push_back({Ids::minus_infinity, &numbers.minus_infinity});
  if (!wishes.deterministic) bindings.push_back({Ids::sums, sums});
  return planner->run(call, card, problem, bindings);
}

bool serves_attention(bp::Call, bp::In query, bp::In key, bp::In value, std::optional<bp::In> mask,
                      bool, double, bp::Out, bp::Out) {
  return !mask && is_served(query, key, value) && lies_right(query) && lies_right(key) &&
         lies_right(value);
}
bool serves_attention_backward(bp::Call, bp::In grad, std::optional<bp::In> by_logsumexp,
                               bp::In query, bp::In key, bp::In value, std::optional<bp::In> mask,
                               bp::In result, bp::In, bool, double, bp::Out, bp::Out, bp::Out) {
  return !mask && !by_logsumexp && is_served_backward(query, key, value) && lies_right(grad) &&
         lies_right(query) && lies_right(key) && lies_right(value) && lies_right(result);
}

// Where rows have gaps, or repeat, the host copies them for the second of each.
void add_attention(bp::Kernels& k) {
  using Op = bp::op::native_attention;
  const auto add = [&](bp::Layouts of_inputs, int32_t priority) {
    k.add<Op>(native_attention)
        .dtypes(bp::f16, bp::bf16)
        .layouts(of_inputs)
        .layouts(Op::place::result, bp::contiguous)
        .layouts(Op::place::logsumexp, bp::contiguous)
        .supports(serves_attention)
        .deterministic()
        .capturable()
        .scratch()
        .priority(priority);
  };
  add(bp::strided, 1);
  add(bp::contiguous, 0);
}

void add_attention_backward(bp::Kernels& k) {
  using Op = bp::op::attention_backward;
  const auto add = [&](bool same_bits, bp::Layouts of_inputs, int32_t priority) {
    auto kernel = k.add<Op>(same_bits ? attention_backward<true> : attention_backward<false>);
    if (same_bits) kernel.deterministic();
    kernel.dtypes(bp::f16, bp::bf16)
        .dtypes(Op::place::logsumexp, bp::f32)
        .dtypes(Op::place::grad_logsumexp, bp::f32)
        .layouts(of_inputs)
        .supports(serves_attention_backward)
        .capturable()
        .scratch()
        .priority(priority);
    for (const auto place : {Op::place::result, Op::place::logsumexp, Op::place::grad_query,
                             Op::place::grad_key, Op::place::grad_value})
      kernel.layouts(place, bp::contiguous);
  };
  add(false, bp::strided, 3);
  add(false, bp::contiguous, 2);
  add(true, bp::strided, 1);
  add(true, bp::contiguous, 0);
}

}  // namespace
}  // namespace cuda_backend::cudnn

BP_KERNELS(cuda_attention) {
  cuda_backend::cudnn::add_attention(k);
  cuda_backend::cudnn::add_attention_backward(k);
}

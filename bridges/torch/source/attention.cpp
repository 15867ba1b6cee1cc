// Attention by the row native_attention, which computes in blocks, or by a recipe that drops scores. PyTorch asks the device which
// way a call goes, and otherwise composes it of matrices of scores.
#include "recipes/attention.hpp"

#include <ATen/ATen.h>
#include <ATen/TensorSubclassLikeUtils.h>
#include <ATen/native/transformers/attention.h>
#include <ATen/native/transformers/sdp_utils_cpp.h>
#include <torch/library.h>

#include <backplane/backplane.hpp>

#include "devices.hpp"
#include "operators.hpp"
#include "tensors.hpp"

namespace bp::bridge {
namespace {

// Whether the rows serve a call: matrices of heads, with a mask that needs no gradient.
bool suits_rows(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                const std::optional<at::Tensor>& mask, double dropout_p, bool enable_gqa) {
  for (const at::Tensor* each : {&query, &key, &value})
    if (each->is_nested() || each->layout() != c10::kStrided || each->dim() != 4 ||
        each->sym_numel() == 0 || each->scalar_type() != query.scalar_type())
      return false;
  const bool is_wide = query.scalar_type() == at::kFloat || query.scalar_type() == at::kDouble;
  if (!query.is_floating_point() || (dropout_p != 0 && !is_wide)) return false;
  if (mask && mask->defined() && (mask->requires_grad() || mask->dim() > 4)) return false;
  const c10::SymInt own = key.sym_size(1), heads = query.sym_size(1);
  return query.sym_size(0) == key.sym_size(0) && query.sym_size(0) == value.sym_size(0) &&
         own == value.sym_size(1) &&
         (enable_gqa && dropout_p == 0 ? heads % own == 0 : heads == own) &&
         query.sym_size(3) == key.sym_size(3) && key.sym_size(2) == value.sym_size(2);
}

std::int64_t choose(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                    const std::optional<at::Tensor>& mask, double dropout_p, bool,
                    std::optional<double>, bool enable_gqa) {
  const at::Context& context = at::globalContext();
  // Programs that are traced or mapped get the products, which each of PyTorch's transformations knows.
  const bool is_plain = !at::areAnyTensorSubclassLike({query, key, value});
  const bool by_rows = is_plain && context.userEnabledOverrideableSDP() &&
                       suits_rows(query, key, value, mask, dropout_p, enable_gqa);
  TORCH_CHECK(by_rows || context.userEnabledMathSDP(),
              "scaled_dot_product_attention: no kernel of the backends that are enabled serves "
              "this call; enable SDPBackend.MATH");
  return static_cast<std::int64_t>(by_rows ? sdp::SDPBackend::overrideable : sdp::SDPBackend::math);
}

double factor_of(const at::Tensor& query, std::optional<double> scale) {
  return scale ? *scale : 1 / std::sqrt(static_cast<double>(query.size(-1)));
}

// Each head's own, as the rows take it.
Tensor mask_of(const at::Tensor& mask, const at::Tensor& query, const at::Tensor& key) {
  if (!mask.defined()) return {};
  return borrow(mask.expand({query.size(0), query.size(1), query.size(2), key.size(2)}));
}

// Heads beside one another within a word's row, since what follows joins them: its copy is spared.
Tensor empty_heads(const at::Tensor& like, std::int64_t size) {
  const std::int64_t heads = like.size(1), length = like.size(2);
  const std::int64_t shape[] = {like.size(0), heads, length, size};
  const std::int64_t strides[] = {length * heads * size, size, heads * size, 1};
  return empty_strided_tensor(IntList(shape, 4), IntList(strides, 4), *dtype_of(like.scalar_type()),
                              device_at(like.device().index()));
}

using Found = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, c10::SymInt, c10::SymInt,
                         at::Tensor, at::Tensor, at::Tensor>;

Found attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                const std::optional<at::Tensor>& mask, double dropout_p, bool is_causal, bool,
                std::optional<double> scale) {
  TORCH_CHECK(
      suits_rows(query, key, value, mask, dropout_p, true),
      "_scaled_dot_product_fused_attention_overrideable: Backplane's row takes query, key "
      "and value with 4 dimensions and a mask that needs no gradient, and with dropout float32 "
      "or float64; call scaled_dot_product_attention");
  return with_memory([&] {
    if (dropout_p != 0) {
      const Heads heads{borrow(query), borrow(key), borrow(value)};
      const DroppedAttention found =
          attention_with_dropout(heads, mask_of(mask.value_or(at::Tensor()), query, key), dropout_p,
                                 is_causal, factor_of(query, scale));
      // Backward gets the scores in place of their logarithms' sums, and what was kept in place of how it was drawn.
      return Found{lend(found.result),
                   lend(found.scores),
                   {},
                   {},
                   query.size(2),
                   key.size(2),
                   {},
                   lend(found.kept),
                   {}};
    }
    static Operator& row = *find_operator(attention_operators[0].second);
    const Tensor q = borrow(query), k = borrow(key), v = borrow(value);
    const Tensor bias = mask_of(mask.value_or(at::Tensor()), query, key);
    const Dtype wide = q.dtype() == f64 ? f64 : f32;
    Tensor results[] = {empty_heads(query, value.size(3)),
                        empty_tensor(IntList(q.shape().data(), 3), wide, q.device())};
    bp_value args[] = {value_of(q),    value_of(k),         value_of(v),
                       value_of(bias), value_of(is_causal), value_of(factor_of(query, scale))};
    call_many_into(row, args, 6, results, 2);
    return Found{
        lend(results[0]), lend(results[1]), {}, {}, query.size(2), key.size(2), {}, {}, {}};
  });
}

using Gradients = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>;

Gradients attention_backward(const at::Tensor& grad, const at::Tensor& query, const at::Tensor& key,
                             const at::Tensor& value, const at::Tensor& mask,
                             std::array<bool, 4> needed, const at::Tensor& result,
                             const at::Tensor& logsumexp, const at::Tensor&, const at::Tensor&,
                             c10::SymInt, c10::SymInt, double dropout_p, bool is_causal,
                             const at::Tensor&, const at::Tensor& kept,
                             std::optional<double> scale) {
  if (!grad.defined()) return {};
  TORCH_CHECK(!needed[3],
              "_scaled_dot_product_fused_attention_overrideable: no gradient of a mask");
  return with_memory([&] {
    if (dropout_p != 0) {
      const Heads heads{borrow(query), borrow(key), borrow(value)};
      const Triple found = attention_with_dropout_gradients(borrow(grad), heads,
                                                            {{}, borrow(logsumexp), borrow(kept)},
                                                            dropout_p, factor_of(query, scale));
      return Gradients{lend(found[0]), lend(found[1]), lend(found[2]), {}};
    }
    static Operator& row = *find_operator(attention_operators[1].second);
    const Tensor q = borrow(query), k = borrow(key), v = borrow(value), g = borrow(grad);
    const Tensor bias = mask_of(mask, query, key), by_logsumexp;
    const Tensor found = borrow(result), logarithms = borrow(logsumexp);
    Tensor results[] = {empty_heads(query, query.size(3)), empty_heads(key, key.size(3)),
                        empty_heads(value, value.size(3))};
    bp_value args[] = {value_of(g),         value_of(by_logsumexp),
                       value_of(q),         value_of(k),
                       value_of(v),         value_of(bias),
                       value_of(found),     value_of(logarithms),
                       value_of(is_causal), value_of(factor_of(query, scale))};
    call_many_into(row, args, 10, results, 3);
    return Gradients{lend(results[0]), lend(results[1]), lend(results[2]), {}};
  });
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  library.impl(attention_operators[0].first, attention);
  library.impl(attention_operators[1].first, attention_backward);
}

}  // namespace
}  // namespace bp::bridge

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(_fused_sdp_choice_stub, &bp::bridge::choose)
}  // namespace at::native

// The sentences that wrong calls of operators draw: tests/text/operator_errors.txt.
#include <functional>
#include <gtest/gtest.h>
#include <string>

#include <backplane/tensors.hpp>

#include "core_ops/rows.hpp"
#include "text/golden.hpp"

namespace bp {
namespace {

using test::meta;

std::string sentence(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.error_class(), ErrorClass::bad_argument) << error.what();
    return std::string(error.what()) + "\n";
  }
  ADD_FAILURE() << "no error";
  return "no error\n";
}
#define SAY(...) said += sentence([&] { __VA_ARGS__; })

TEST(operator_errors, name_both_values_and_the_way_out) {
  const Tensor a = meta({2, 3});
  const Tensor whole = meta({2, 3}, i64);
  const Tensor index = meta({2, 3}, i64);
  std::string said;
  SAY(add(a, meta({4})));
  SAY(add(a, Tensor()));
  SAY(add(whole, whole, 0.5));
  SAY(sub(meta({2}, boolean), meta({2}, boolean)));
  SAY(neg(meta({2}, boolean)));
  SAY(lt(meta({2}, complex64), 1));
  SAY(where(a, a, a));
  SAY(add(meta({2}, f8_e5m2), 1));
  SAY(add_(meta({3}), a));
  SAY(add_(whole, 0.5));
  SAY(add_out(meta({3}), a, a));
  SAY(sum(a, 2));
  SAY(sum(a, {0, -2}));
  SAY(mean(whole));
  SAY(max(meta({0, 3}), 0));
  SAY(argmax(meta({0})));
  SAY(argmax(a, 2));
  SAY(softmax(whole, 0));
  SAY(softmax(a, 3));
  SAY(matmul(a, a));
  SAY(matmul(a, meta({})));
  SAY(matmul(a, meta({2})));
  SAY(matmul(a, meta({3, 4}, f64)));
  SAY(matmul(meta({2, 3, 4}), meta({5, 4, 3})));
  SAY(bmm(a, a));
  SAY(bmm(meta({2, 3, 4}), meta({3, 4, 5})));
  SAY(gather(a, 0, a));
  SAY(gather(a, 0, meta({2}, i64)));
  SAY(gather(a, 0, meta({2, 4}, i64)));
  SAY(gather(meta({0, 3}), 0, index));
  SAY(index_select(a, 0, index));
  SAY(scatter_add(a, 0, index, meta({2, 3}, f64)));
  SAY(scatter_add(a, 0, index, meta({1, 3})));
  SAY(one_hot(a, 3));
  SAY(one_hot(index, 0));
  SAY(one_hot(index));
  SAY(nonzero(a));
  SAY(sort(meta({2}, complex64)));
  SAY(cat({}));
  SAY(cat({a, meta({})}));
  SAY(cat({a, meta({3})}));
  SAY(cat({a, meta({3, 4})}));
  SAY(full({-1}, 0, {}, meta_device));
  SAY(full({2}, 0, f8_e5m2, meta_device));
  SAY(arange(0, 1, 0, {}, meta_device));
  SAY(arange(0, 5, -1, {}, meta_device));
  SAY(arange(0.0, 1e300 * 1e300, 1, {}, meta_device));
  SAY(rand({2}, i64, meta_device));
  SAY(randint(5, 5, {2}, {}, meta_device));
  SAY(randperm(-1, {}, meta_device));
  SAY(dropout(a, 1.5));
  SAY(view(a, {4}));
  SAY(item<bp::Scalar>(a));
  SAY(contiguous(a, MemoryFormat::channels_last));
  SAY(tensor({{1, 2}, {3}}));
  SAY(tensor(std::vector<float>{1, 2, 3}, {2, 2}));
  SAY(call_boxed("add", {value_of(a)}));
  SAY(call_boxed("add", {value_of(a), value_of(true), value_of(std::string_view("x"))}));
  test::expect_golden("operator_errors.txt", said);
}

}  // namespace
}  // namespace bp

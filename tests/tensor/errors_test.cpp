// The sentences that a wrong argument draws.
#include <functional>
#include <gtest/gtest.h>
#include <string>

#include <backplane/tensor/error.hpp>
#include <backplane/tensor/promotion.hpp>
#include <backplane/tensor/scalar.hpp>
#include <backplane/tensor/views.hpp>

#include "test_storage.hpp"
#include "text/golden.hpp"

namespace bp {
namespace {

using test::make_meta_tensor;
using test::make_tensor;

constexpr std::int64_t huge = std::int64_t{1} << 62;

// The sentence of a call that must fail as a bad argument.
std::string sentence(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.error_class(), ErrorClass::bad_argument);
    return std::string(error.what()) + "\n";
  }
  return "no error\n";
}
#define SAY(...) said += sentence([&] { __VA_ARGS__; })

TEST(errors, of_views_name_both_values) {
  const Tensor scalar = make_tensor({});
  const Tensor a = make_tensor({2, 3});
  const Tensor b = make_tensor({4, 0});
  const Tensor t = views::transpose(a, 0, 1);
  const Tensor full = make_tensor(Dims(max_rank, 1));
  using namespace views;
  std::string said;
  SAY(view(a, {2, 4}));
  SAY(view(a, {-1, 4}));
  SAY(view(a, {-1, -1}));
  SAY(view(a, {-2, 3}));
  SAY(view(b, {-1, 0}));
  SAY(view(a, {huge, 4}));
  SAY(view(t, {6}));
  SAY(view(a, Dims(max_rank, 1)));
  SAY(view(a, std::vector<std::int64_t>(17, 1)));
  SAY(reshape(a, {5}));
  SAY(flatten(a, 1, 0));
  SAY(flatten(a, 0, 2));
  SAY(permute(a, {0}));
  SAY(permute(a, {0, -2}));
  SAY(permute(a, {0, 2}));
  SAY(transpose(a, 0, 2));
  SAY(transpose(scalar, 0, 1));
  SAY(slice(scalar, 0));
  SAY(slice(a, 2));
  SAY(slice(a, 0, 0, 1, 0));
  SAY(slice(a, 0, 0, 1, -1));
  SAY(select(scalar, 0, 0));
  SAY(select(a, 1, 3));
  SAY(select(a, -1, -4));
  SAY(narrow(scalar, 0, 0, 0));
  SAY(narrow(a, 1, 4, 0));
  SAY(narrow(a, 1, 2, 2));
  SAY(narrow(a, 1, -1, -1));
  SAY(expand(a, {3}));
  SAY(expand(a, {5, 4, 3}));
  SAY(expand(a, {-1, 2, 3}));
  SAY(expand(make_tensor({1}), {-2}));
  SAY(expand(make_tensor({1, 1}), {huge, 2}));
  SAY(squeeze(a, {2}));
  SAY(squeeze(a, {0, -2}));
  SAY(unsqueeze(a, 3));
  SAY(unsqueeze(a, -4));
  SAY(unsqueeze(full, 0));
  SAY(as_strided(a, {2}, {1, 1}));
  SAY(as_strided(a, {-2}, {1}));
  SAY(as_strided(a, {2}, {-1}));
  SAY(as_strided(a, {2}, {1}, -1));
  SAY(as_strided(a, {7}, {1}));
  SAY(as_strided(a, {2}, {huge}, huge));
  SAY(as_strided(a, {}, {}, 6));
  SAY(unfold(a, 1, 4, 1));
  SAY(unfold(a, 1, -1, 1));
  SAY(unfold(a, 1, 2, 0));
  SAY(unfold(full, 0, 1, 1));
  SAY(diagonal(make_tensor({3})));
  SAY(diagonal(a, 0, 1, -1));
  SAY(diagonal(a, 0, 0, 2));
  test::expect_golden("view_errors.txt", said);
}

TEST(errors, of_tensors_name_both_values) {
  Tensor far = make_tensor({2});
  far.impl()->storage->host_readable = false;
  std::string said;
  SAY(make_tensor({2, 3}).size(2));
  SAY(make_tensor({}).size(0));
  SAY(make_tensor({2}).data<double>());
  SAY(far.data<float>());
  SAY(make_meta_tensor({2, 3}).data_ptr());
  SAY(Tensor().data_ptr());
  SAY(Tensor().data<float>());
  SAY(broadcast_shapes("add", {2, 3}, {4}));
  SAY(broadcast_shapes("add", {4}, {2, 3}));
  SAY(checked_numel("empty", {2, -1}));
  SAY(checked_numel("empty", {huge, 2}));
  SAY(check_rank("empty", 17));
  SAY(Dims(17, 1));
  SAY(wrap_dim("sum", 2, 2));
  SAY(wrap_dim("sum", -3, 2));
  SAY(wrap_dim("sum", 1, 0));
  SAY(dtype_from_name("float12"));
  SAY(promote(u64, i32));
  SAY(promote(f8_e5m2, f32));
  SAY(ResultType().result());
  SAY(to_complex(f8_e5m2));
  SAY(Scalar::from_value(bp_value{}));
  test::expect_golden("tensor_errors.txt", said);
}

}  // namespace
}  // namespace bp

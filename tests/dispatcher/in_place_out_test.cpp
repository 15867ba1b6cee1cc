// needs: cpu reference
// Writing into given memory: overlaps, refusals that leave the target as it was, versions.
#include <gtest/gtest.h>

#include <backplane/dispatcher/named.hpp>

#include "dispatcher/calls.hpp"

namespace {

using namespace bp::test;
using bp::Tensor;
using Floats = std::vector<float>;

class Into : public testing::TestWithParam<const char*> {
 protected:
  static bp::Device device_of(const std::string& name) {
    return name == "cpu" || name == "reference" ? bp::device(name) : test_device(name);
  }
  bp::Device device = device_of(GetParam());
  Tensor a = counted({6}, device);
  Tensor line(std::int64_t from, std::int64_t to, std::int64_t step = 1) {
    return slice(a, 0, from, to, step);
  }
};

// ---- Overlaps ----

TEST_P(Into, a_tensor_is_added_to_itself) {
  EXPECT_TRUE(bp::add_(a, a).is_same(a));
  EXPECT_EQ(values(a), (Floats{0, 2, 4, 6, 8, 10}));
}

TEST_P(Into, overlapping_slices_are_read_before_they_are_written) {
  bp::add_(line(1, 6), line(0, 5));
  EXPECT_EQ(values(a), (Floats{0, 1, 3, 5, 7, 9}));
  bp::add_(line(0, 5), line(1, 6));
  EXPECT_EQ(values(a), (Floats{1, 4, 8, 12, 16, 9}));
}

TEST_P(Into, an_output_may_overlap_the_inputs) {
  bp::mul_out(line(1, 4), line(0, 3), line(2, 5));  // 0*2 1*3 2*4
  EXPECT_EQ(values(a), (Floats{0, 0, 3, 8, 4, 5}));
}

TEST_P(Into, an_output_may_be_a_transposed_input) {
  const Tensor square = view(slice(a, 0, 0, 4), {2, 2});
  bp::add_out(square, transpose(square, 0, 1), 10);
  EXPECT_EQ(values(a), (Floats{10, 12, 11, 13, 4, 5}));
}

TEST_P(Into, strided_targets_keep_what_lies_between) {
  bp::mul_(line(0, 6, 2), 10);
  EXPECT_EQ(values(a), (Floats{0, 1, 20, 3, 40, 5}));
  bp::neg_out(line(1, 6, 2), line(0, 6, 2));
  EXPECT_EQ(values(a), (Floats{0, 0, 20, -20, 40, -40}));
}

TEST_P(Into, a_row_is_broadcast_into_the_target) {
  const Tensor matrix = view(a, {2, 3});
  bp::add_(matrix, counted({3}, device));
  EXPECT_EQ(values(a), (Floats{0, 2, 4, 3, 5, 7}));
}

TEST_P(Into, outputs_of_reductions_and_of_other_dtypes_are_filled) {
  const Tensor out = empty_tensor({2}, bp::f64, device);
  bp::sum_out(out, view(a, {2, 3}), 1);
  EXPECT_EQ(values<double>(out), (std::vector<double>{3, 12}));
  const Tensor order = empty_tensor({6}, bp::i64, device),
               sorted = empty_tensor({6}, bp::f32, device);
  bp::sort_out(sorted, order, neg(a));
  EXPECT_EQ(values(sorted), (Floats{-5, -4, -3, -2, -1, 0}));
  EXPECT_EQ(values<std::int64_t>(order), (std::vector<std::int64_t>{5, 4, 3, 2, 1, 0}));
}

TEST_P(Into, an_output_without_elements_gets_the_shape_of_the_result) {
  const Tensor out = empty_tensor({0}, bp::f32, device), alias = out;
  bp::add_out(out, a, a);
  EXPECT_EQ(values(out), (Floats{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(alias.shape(), (bp::IntList{6}));
  EXPECT_EQ(values(alias), values(out));

  const Tensor wider = empty_tensor({3, 0, 2}, bp::f64, device);
  bp::sum_out(wider, view(a, {2, 3}), 1);
  EXPECT_EQ(values<double>(wider), (std::vector<double>{3, 12}));

  const Tensor sorted = empty_tensor({0}, bp::f32, device),
               order = empty_tensor({0}, bp::i64, device);
  bp::sort_out(sorted, order, neg(a));
  EXPECT_EQ(values(sorted), (Floats{-5, -4, -3, -2, -1, 0}));
  EXPECT_EQ(values<std::int64_t>(order), (std::vector<std::int64_t>{5, 4, 3, 2, 1, 0}));

  const Tensor number = empty_tensor({0}, bp::f32, device);
  bp::sum_out(number, a);
  EXPECT_EQ(number.ndim(), 0);
  EXPECT_EQ(values(number), (Floats{15}));
  bp::add_out(number, number, number);
  EXPECT_EQ(values(number), (Floats{30}));
}

TEST_P(Into, an_output_without_elements_keeps_its_shape_where_others_would_see_it_change) {
  const Tensor out = empty_tensor({0}, bp::f32, device), seen = view(out, {0, 1});
  EXPECT_NE(error_of([&] { bp::add_out(out, a, a); }), "no error");
  EXPECT_NE(error_of([&] { bp::add_out(seen, a, a); }), "no error");
  EXPECT_NE(error_of([&] { bp::add_out(slice(a, 0, 0, 0), a, a); }), "no error");
  EXPECT_NE(error_of([&] { bp::add_out(empty_tensor({0}, bp::i64, device), a, a); }), "no error");
  const Tensor target = empty_tensor({0}, bp::f32, device);
  EXPECT_NE(error_of([&] { bp::add_(target, empty_tensor({2, 0}, bp::f32, device)); }), "no error");
  EXPECT_EQ(target.shape(), (bp::IntList{0}));
  EXPECT_EQ(out.shape(), (bp::IntList{0}));
}

TEST_P(Into, an_input_that_is_the_output_of_a_reduction_is_read_first) {
  bp::cumsum_out(a, a, 0);
  EXPECT_EQ(values(a), (Floats{0, 1, 3, 6, 10, 15}));
  bp::softmax_out(a, mul(a, 0), 0);
  for (float p : values(a)) EXPECT_NEAR(p, 1.0f / 6, 1e-6f);
}

// ---- Refusals ----

TEST_P(Into, a_target_that_names_a_place_twice_is_refused) {
  const Tensor twice = expand(slice(a, 0, 0, 1), {3});
  const std::uint32_t version = a.version();
  EXPECT_EQ(
      error_of([&] { bp::add_(twice, 1); }),
      "add_: several elements of the output share one place in memory (strides [0]); write to a "
      "copy of it");
  EXPECT_EQ(a.version(), version);
  EXPECT_EQ(values(a), (Floats{0, 1, 2, 3, 4, 5}));
}

TEST_P(Into, another_shape_is_refused) {
  const Tensor out = counted({2}, device);
  EXPECT_EQ(error_of([&] { bp::add_out(out, a, a); }),
            "add: the output has shape [2], the result has [6]; give one of that shape");
  EXPECT_EQ(error_of([&] { bp::add_(line(0, 1), a); }),
            "add_: the output has shape [1], the result has [6]; give one of that shape");
  EXPECT_EQ(values(out), (Floats{0, 1}));
  EXPECT_EQ(values(a), (Floats{0, 1, 2, 3, 4, 5}));
}

TEST_P(Into, a_dtype_that_would_lose_the_category_is_refused) {
  const Tensor whole = to_device(given<std::int64_t>({1, 2}, {2}), device);
  EXPECT_EQ(
      error_of([&] { bp::add_(whole, 1.5); }),
      "add_: the result is float32 and cannot be written to an output of int64; cast it yourself");
  EXPECT_EQ(
      error_of([&] { bp::named("outer", [&] { bp::add_(whole, 1.5); }); }),
      "outer: the result is float32 and cannot be written to an output of int64; cast it yourself");
  EXPECT_EQ(
      error_of([&] { bp::exp_out(whole, counted({2}, device)); }),
      "exp: the result is float32 and cannot be written to an output of int64; cast it yourself");
  EXPECT_EQ(values<std::int64_t>(whole), (std::vector<std::int64_t>{1, 2}));
  bp::add_(whole, 1);
  EXPECT_EQ(values<std::int64_t>(whole), (std::vector<std::int64_t>{2, 3}));
}

TEST_P(Into, a_narrower_dtype_of_the_same_category_is_cast) {
  const Tensor half = empty_tensor({6}, bp::f16, device);
  bp::add_out(half, a, a);
  EXPECT_EQ(values(cast(half, bp::f32)), (Floats{0, 2, 4, 6, 8, 10}));
}

TEST_P(Into, another_device_is_refused) {
  const bp::Device other =
      std::string(GetParam()) == "cpu" ? bp::device("reference") : bp::device("cpu");
  const Tensor out = counted({6}, other);
  EXPECT_EQ(error_of([&] { bp::add_out(out, a, a); }),
            "add: the output is on " + device_name(other) + " and the arguments are on " +
                device_name(device) + "; move one with to()");
  EXPECT_EQ(values(out), (Floats{0, 1, 2, 3, 4, 5}));
  bp::add_out(a, a, a);
  EXPECT_EQ(values(a), (Floats{0, 2, 4, 6, 8, 10}));
}

TEST_P(Into, an_undefined_output_is_refused) {
  const std::string sentence =
      ": the output is an undefined tensor; make one with empty(), or call the "
      "form that returns its result";
  EXPECT_EQ(error_of([&] { bp::add_out(Tensor(), a, a); }), "add" + sentence);
  EXPECT_EQ(error_of([&] { bp::sum_out(Tensor(), a); }), "sum" + sentence);
  EXPECT_EQ(error_of([&] { bp::sort_out(Tensor(), Tensor(), a); }), "sort" + sentence);
  EXPECT_NE(error_of([&] { bp::add_(Tensor(), a); }), "no error");
  EXPECT_EQ(values(a), (Floats{0, 1, 2, 3, 4, 5}));
}

// ---- Versions ----

TEST_P(Into, every_write_raises_the_version_of_all_views) {
  const Tensor half = line(0, 3);
  std::uint32_t version = a.version();
  const auto expect_raised = [&](const char* what) {
    EXPECT_GT(a.version(), version) << what;
    EXPECT_EQ(half.version(), a.version());
    version = a.version();
  };
  bp::add_(a, a);
  expect_raised("in place, all");
  bp::add_(half, 1);
  expect_raised("in place, a view");
  bp::tanh_(line(0, 6, 2));
  expect_raised("in place, strided");
  bp::exp_out(half, counted({3}, device));
  expect_raised("out=");
  bp::sum_out(select(a, 0, 5), half);
  expect_raised("out= of a reduction");
  copy_into(a, counted({6}, device));
  expect_raised("a copy");
}

TEST_P(Into, reading_raises_no_version) {
  const std::uint32_t version = a.version();
  add(a, a);
  sum(a);
  transpose(view(a, {2, 3}), 0, 1);
  values(a);
  EXPECT_EQ(a.version(), version);
}

TEST_P(Into, a_fresh_result_begins_at_the_same_version) {
  const std::uint32_t version = add(a, a).version();
  for (int i = 0; i < 5; ++i) bp::add_(add(a, a), 1);  // memory that is used again
  EXPECT_EQ(add(a, a).version(), version);
}

INSTANTIATE_TEST_SUITE_P(On, Into, testing::Values("cpu", "memonly", "partial", "reference"),
                         [](const auto& device) { return std::string(device.param); });

}  // namespace

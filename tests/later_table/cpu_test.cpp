// needs: cpu
// A host whose rows have changed since cpu was compiled. Where they have grown an argument, cpu's kernels serve the calls
// in which that is at its default, and no other; where one was renamed, they serve as before. A program of its own, since rows are changed here before the core registers them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include <backplane/core_ops/generated/rows.hpp>

#include "dispatcher/calls.hpp"

namespace {

using namespace bp::test;
using Values = std::vector<float>;

// A row as a later table has it. Only rows without a decomposition: what computes such a call is a kernel or nothing.
struct GrownRow {
  bp::Operator* op;
  std::string past = op->schema_text;
  std::string present = std::string(past).insert(past.find(") -> "), ", bool later=False");
  const char* past_schemas[2] = {past.c_str(), nullptr};

  explicit GrownRow(bp::Operator& row) : op(&row) {
    op->schema_text = present.c_str();
    op->past_schemas = past_schemas;
  }
  GrownRow(const GrownRow&) = delete;
};

// A row whose argument got another name.
struct RenamedRow {
  bp::Operator* op;
  std::string past = op->schema_text;
  std::string present = std::string(past).replace(past.find("src"), 3, "source");

  explicit RenamedRow(bp::Operator& row) : op(&row) {
    op->schema_text = present.c_str();
    op->hash_of = past.c_str();
  }
  RenamedRow(const RenamedRow&) = delete;
};

class LaterTable : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    static GrownRow cumsum(bp::ops::cumsum), sort(bp::ops::sort), gather(bp::ops::gather),
        cat(bp::ops::cat), max(bp::ops::max), argmax(bp::ops::argmax), bmm(bp::ops::bmm);
    static RenamedRow scatter_add(bp::ops::scatter_add);
  }

  // The call with everything at its default, spelled out or not, and with the new argument set.
  void expect_defaults_only(bp::Operator& row, std::vector<bp_value> args, const Values& expected) {
    const Served served(row.name(), "cpu");
    EXPECT_EQ(first_of(row, args), expected);
    args.push_back(bp::value_of(false));
    EXPECT_EQ(first_of(row, args), expected);
    EXPECT_EQ(served.since(), "native 2");
    args.back() = bp::value_of(true);
    EXPECT_EQ(class_of_error([&] { bp::call_boxed(row, args); }), bp::ErrorClass::unsupported);
    EXPECT_EQ(served.since(), "native 2, none 1");
  }

  static Values first_of(bp::Operator& row, const std::vector<bp_value>& args) {
    const bp::Tensor result = bp::call_boxed(row, args)[0];
    if (result.dtype() == bp::f32) return values(result);
    const std::vector<std::int64_t> indices = values<std::int64_t>(result);
    return Values(indices.begin(), indices.end());
  }

  const bp::Tensor x_ = given({3, 1, 2});
  const bp::Tensor places_ = given<std::int64_t>({2, 0, 0}, {3});
  const bp_value none_{};
};

TEST_F(LaterTable, a_scan_is_not_asked_for_what_it_does_not_know) {
  expect_defaults_only(bp::ops::cumsum, {bp::value_of(x_), bp::value_of(std::int64_t{0}), none_},
                       {3, 4, 6});
}

TEST_F(LaterTable, a_sort_is_not_asked_for_what_it_does_not_know) {
  expect_defaults_only(
      bp::ops::sort,
      {bp::value_of(x_), bp::value_of(std::int64_t{0}), bp::value_of(false), bp::value_of(true)},
      {1, 2, 3});
}

TEST_F(LaterTable, a_gather_is_not_asked_for_what_it_does_not_know) {
  expect_defaults_only(bp::ops::gather,
                       {bp::value_of(x_), bp::value_of(std::int64_t{0}), bp::value_of(places_)},
                       {2, 3, 3});
}

TEST_F(LaterTable, a_concatenation_is_not_asked_for_what_it_does_not_know) {
  const bp::Tensor both[] = {x_, x_};
  const bp::TensorListValue tensors(both);
  expect_defaults_only(bp::ops::cat, {tensors.value(), bp::value_of(std::int64_t{0})},
                       {3, 1, 2, 3, 1, 2});
}

TEST_F(LaterTable, a_reduction_is_not_asked_for_what_it_does_not_know) {
  expect_defaults_only(bp::ops::max, {bp::value_of(x_), none_, bp::value_of(false)}, {3});
  expect_defaults_only(bp::ops::argmax, {bp::value_of(x_), none_, bp::value_of(false)}, {0});
}

TEST_F(LaterTable, a_product_is_not_asked_for_what_it_does_not_know) {
  const bp::Tensor row = given<float>({3, 1, 2}, {1, 1, 3}),
                   column = given<float>({3, 1, 2}, {1, 3, 1});
  expect_defaults_only(bp::ops::bmm, {bp::value_of(row), bp::value_of(column)}, {14});
}

TEST_F(LaterTable, a_kernel_serves_a_row_whose_argument_was_renamed) {
  bp::Operator& row = bp::ops::scatter_add;
  const Served served(row.name(), "cpu");
  std::vector<bp_value> args{bp::value_of(x_), bp::value_of(std::int64_t{0}), bp::value_of(places_),
                             bp::value_of(x_)};
  EXPECT_EQ(first_of(row, args), (Values{6, 1, 5}));
  EXPECT_EQ(served.since(), "native 1");
  args.pop_back();
  EXPECT_THAT(error_of([&] { bp::call_boxed(row, args); }),
              testing::HasSubstr("argument 'source' is missing"));
}

}  // namespace

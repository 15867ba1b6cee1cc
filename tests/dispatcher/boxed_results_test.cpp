// needs: cpu
// Boxed calls into a span of results, for every row and sample: new ones, given ones, and lists without elements.
#include <gtest/gtest.h>

#include <backplane/dispatcher/operator_source.hpp>
#include <backplane/samples/row_facts.hpp>
#include <backplane/samples/samples.hpp>

#include "core_ops/written.hpp"

namespace bp::test {
namespace {

Device place() {
  return device("cpu:0");
}

// Rows that give the same at the next call, and leave their arguments alone.
std::vector<Operator*> steady_rows() {
  ensure_operators();
  std::vector<Operator*> found;
  for (Operator* op : registered_operators()) {
    const RowFacts* facts = find_row_facts(op->name());
    if (facts && !facts->is(Trait::undetermined) && op->draws == Draws::never && op->mutates == 0)
      found.push_back(op);
  }
  return found;
}

std::vector<unsigned char> bytes_of(const Tensor& tensor) {
  std::vector<unsigned char> bytes(tensor.defined() ? tensor.nbytes() : 0);
  if (!bytes.empty()) copy_to_host_memory(contiguous(tensor), bytes.data());
  return bytes;
}

void expect_same(const std::vector<Tensor>& actual, const std::vector<Tensor>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    ASSERT_EQ(actual[i].defined(), expected[i].defined());
    if (!actual[i].defined()) continue;
    EXPECT_EQ(to_string(actual[i].shape()), to_string(expected[i].shape()));
    EXPECT_EQ(actual[i].dtype(), expected[i].dtype());
    if (is_floating(actual[i].dtype()))  // in another layout, another order of sums
      EXPECT_TRUE(allclose(actual[i], expected[i], 1e-5, 1e-6, true));
    else
      EXPECT_EQ(bytes_of(actual[i]), bytes_of(expected[i]));
  }
}

TEST(BoxedResults, are_those_of_a_call_that_makes_them_all) {
  for (Operator* op : steady_rows())
    for (const Sample& sample : samples_of(*op, usual_dtype_of(*op), place())) {
      SCOPED_TRACE(std::string(op->name()) + " '" + sample.recipe + "'");
      const std::vector<Tensor> expected = call_boxed(*op, sample.args);
      ASSERT_EQ(num_boxed_results(*op, sample.args), expected.size());
      std::vector<Tensor> made(expected.size());
      call_boxed(*op, sample.args, made);
      expect_same(made, expected);
    }
}

// The last one alone is given, so that each place of a list is asked.
TEST(BoxedResults, are_written_into_what_is_given_but_for_views) {
  for (Operator* op : steady_rows())
    for (const Sample& sample : samples_of(*op, usual_dtype_of(*op), place())) {
      const std::vector<Tensor> expected = call_boxed(*op, sample.args);
      if (expected.empty() || !expected.back().defined()) continue;
      SCOPED_TRACE(std::string(op->name()) + " '" + sample.recipe + "'");
      std::vector<Tensor> results(expected.size());
      const Tensor given = results.back() = empty_like(expected.back());
      if (op->is_view()) {
        EXPECT_THROW(call_boxed(*op, sample.args, results), Error);
        EXPECT_EQ(results.back().impl(), given.impl());
        continue;
      }
      call_boxed(*op, sample.args, results);
      EXPECT_EQ(results.back().impl(), given.impl());
      expect_same(results, expected);
    }
}

TEST(BoxedResults, may_be_a_list_without_elements) {
  const Tensor none = zeros({0, 3}, {.device = place()});
  Operator& op = *find_operator("unbind");
  const bp_value args[] = {value_of(none)};
  EXPECT_EQ(num_boxed_results(op, args), 0u);
  call_boxed(op, args, std::span<Tensor>());
  EXPECT_TRUE(call_boxed(op, args).empty());
  EXPECT_TRUE(unbind(none).empty());
  EXPECT_EQ(unbind(none, 1).size(), 3u);
}

}  // namespace
}  // namespace bp::test

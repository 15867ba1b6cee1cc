// needs: cpu
// What is promised of every row of the operator table.
#include <gtest/gtest.h>
#include <map>
#include <string>

#include <backplane/dispatcher/operator_source.hpp>
#include <backplane/samples/row_facts.hpp>
#include <backplane/samples/samples.hpp>
#include <backplane/tensors.hpp>

#include "core_ops/rows.hpp"

namespace bp {
namespace {

using test::rows;

bool ends_in_primitives(const Operator& op, int depth = 0) {
  if ((op.flags & BP_OP_PRIMITIVE) || op.is_view()) return true;
  if (!op.decompose || !op.uses || depth > 8) return false;
  for (const char* const* used = op.uses; *used; ++used) {
    const Operator* next = find_operator(*used);
    if (!next || !ends_in_primitives(*next, depth + 1)) return false;
  }
  return true;
}

TEST(table, all_rows_are_registered) {
  EXPECT_EQ(rows().size(), row_facts().size());
  EXPECT_GE(row_facts().size(), 70u);
}

TEST(table, at_most_forty_rows_are_primitive) {
  std::size_t count = 0;
  for (const Operator* op : rows()) count += op->flags & BP_OP_PRIMITIVE;
  EXPECT_LE(count, 40u);
}

TEST(table, every_row_decomposes_into_primitives) {
  for (const Operator* op : rows()) EXPECT_TRUE(ends_in_primitives(*op)) << op->name();
}

TEST(table, every_row_that_reaches_a_kernel_has_a_shape_rule) {
  for (const Operator* op : rows())
    EXPECT_TRUE(op->infer || op->is_view() || op->kind == BP_KIND_COMPOSITE) << op->name();
}

TEST(table, every_pointwise_row_has_an_expression_within_its_arguments) {
  for (const Operator* op : rows()) {
    if (op->kind != BP_KIND_POINTWISE) continue;
    ASSERT_GT(op->num_nodes, 0u) << op->name();
    for (std::uint32_t i = 0; i < op->num_nodes; ++i) {
      const bp_expr_node& node = op->nodes[i];
      if (node.code == BP_X_ARG) {
        EXPECT_LT(node.a, op->schema->arguments.size()) << op->name();
      } else {
        EXPECT_TRUE(node.a <= i && node.b <= i && node.c <= i) << op->name();
      }
    }
  }
}

TEST(table, every_row_has_eight_samples_and_one_spans_several_tiles) {
  for (const Operator* op : rows()) {
    const std::vector<Sample> samples = samples_of(*op, usual_dtype_of(*op), meta_device);
    EXPECT_GE(samples.size(), 8u) << op->name();
    bool spans_tiles = false;
    for (const Sample& sample : samples) spans_tiles |= sample.recipe == "several_tiles";
    EXPECT_TRUE(spans_tiles) << op->name();
  }
}

TEST(table, samples_are_calls_of_their_operator) {
  for (Operator* op : rows()) {
    for (const Sample& sample : samples_of(*op, usual_dtype_of(*op), meta_device)) {
      // Their shapes wait for values, which meta does not have.
      if ((op->flags & BP_OP_SHAPE_DATA) != 0 || sample.recipe == "inferred_classes" ||
          sample.recipe == "masked" || sample.recipe == "mask_and_hole")
        continue;
      EXPECT_NO_THROW(call_boxed(*op, sample.args)) << op->name() << " " << sample.recipe;
    }
  }
}

}  // namespace
}  // namespace bp

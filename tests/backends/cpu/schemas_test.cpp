// needs: cpu
// Which schema each kernel says that it was written against.
#include <gtest/gtest.h>
#include <set>
#include <string>

#include <backplane/dispatcher/registry.hpp>
#include <backplane/extensions/program.h>

#include "direct_call.hpp"

namespace {

using namespace bp_test;

// The rows of this host have schemas that nobody compiled against: its hashes are 0.
TEST(CpuSchemas, kernels_have_the_one_that_they_were_compiled_against) {
  const bp_plugin& plugin = CpuPlugin::get().plugin();
  const ExpressionOperators expressions;
  std::set<std::string> made_here;
  for (const bp_operator& op : expressions.all()) made_here.insert(op.name);
  int num_checked = 0;
  for (uint32_t i = 0; i < plugin.num_kernels; ++i) {
    const bp_kernel& kernel = *plugin.kernels[i];
    if (made_here.count(kernel.op) != 0) continue;
    const bp::Operator* const row = bp::find_operator(kernel.op);
    ASSERT_NE(row, nullptr) << kernel.op;
    EXPECT_EQ(kernel.schema_hash, row->schema->hash) << kernel.op;
    ++num_checked;
  }
  EXPECT_GT(num_checked, 0);
}

// A kernel made of the host's expression does what the host's row says, and says so.
TEST(CpuSchemas, kernels_of_expressions_have_the_one_of_the_expression) {
  static const ExpressionOperators expressions;
  static bp_operator later = expressions.all().front();
  later.schema_hash = 0x1a7e4;
  const bp_header* const found =
      CpuPlugin::get().plugin().extension(nullptr, BP_PROGRAM, BP_PROGRAM_VERSION);
  ASSERT_NE(found, nullptr);
  const bp_kernel* kernel = nullptr;
  const auto& programs = *reinterpret_cast<const bp_program*>(found);
  ASSERT_EQ(programs.make(nullptr, &later, &kernel), BP_OK);
  EXPECT_EQ(kernel->schema_hash, later.schema_hash);
  // Either of two may go first, and the other stays as it is.
  const bp_kernel* other = nullptr;
  ASSERT_EQ(programs.make(nullptr, &later, &other), BP_OK);
  EXPECT_NE(kernel, other);
  programs.release(nullptr, kernel);
  EXPECT_EQ(other->schema_hash, later.schema_hash);
  EXPECT_STREQ(other->op, later.name);
  programs.release(nullptr, other);
}

}  // namespace

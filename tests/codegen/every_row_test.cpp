// needs: cpu reference_compiler slow
// Every row of the table with a kernel, on OpenCL and Level Zero in the types that every device has, and on a card in
// all. At small sizes it is also what
// tests/backends/opencl/run_oclgrind watches.
#include <array>

#include <backplane/dispatcher/operator_source.hpp>
#include <backplane/dispatcher/registry.hpp>
#include <backplane/samples/row_facts.hpp>

#include "codegen/agree.hpp"

namespace bp::test {
namespace {

std::vector<const Operator*> rows_with_kernels() {
  ensure_operators();
  std::vector<const Operator*> found;
  for (const Operator* op : registered_operators()) {
    const bool has_kernel = op->kind != BP_KIND_VIEW && op->kind != BP_KIND_COMPOSITE;
    if (has_kernel && !(op->flags & BP_OP_SHAPE_DATA) && find_row_facts(op->name()))
      found.push_back(op);
  }
  return found;
}

class EveryRow : public testing::TestWithParam<const Operator*> {};

void expect_agrees_in_common_dtypes(const Operator& op, std::string_view device) {
  constexpr std::array dtypes{f32, i32, i64, boolean};
  bool is_tried = false;
  for (const Dtype dtype : dtypes) {
    if (!contains(op.dtypes, dtype)) continue;
    expect_row_agrees(op.name(), device, std::span(&dtype, 1), tolerance_of_parts(op, dtype));
    is_tried = true;
  }
  if (!is_tried) expect_row_agrees(op.name(), device, std::span(&dtypes[0], 1));
}

TEST_P(EveryRow, agrees_with_cpu_on_opencl) {
  BP_SKIP_WITHOUT("opencl:0");
  expect_agrees_in_common_dtypes(*GetParam(), "opencl:0");
}

TEST_P(EveryRow, agrees_with_cpu_on_level_zero) {
  BP_SKIP_WITHOUT("level_zero:0");
  expect_agrees_in_common_dtypes(*GetParam(), "level_zero:0");
}

TEST_P(EveryRow, agrees_with_cpu_on_cuda) {
  BP_SKIP_WITHOUT("cuda:0");
  for (const Dtype dtype : usual_dtypes)
    if (contains(GetParam()->dtypes, dtype))
      expect_row_agrees(GetParam()->name(), "cuda:0", std::span(&dtype, 1),
                        tolerance_of_parts(*GetParam(), dtype));
}

INSTANTIATE_TEST_SUITE_P(all, EveryRow, testing::ValuesIn(rows_with_kernels()),
                         [](const testing::TestParamInfo<const Operator*>& each) {
                           return std::string(each.param->name());
                         });

}  // namespace
}  // namespace bp::test

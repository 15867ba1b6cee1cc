#include "codegen/paper.hpp"

#include <cstdlib>
#include <gtest/gtest.h>

#include <backplane/core_ops/factors.hpp>
#include <backplane/dispatcher/call.hpp>
#include <backplane/dispatcher/operator_source.hpp>
#include <backplane/dispatcher/registry.hpp>
#include <backplane/loading/loader.hpp>
#include <backplane/samples/row_facts.hpp>
#include <backplane/samples/samples.hpp>

namespace bp::test {
namespace {

// Goes on from a number that the device computed; this one computes none.
bool looks_at_a_result(const Operator& op, const Sample& sample) {
  const std::string_view name = op.name();
  return name == "multinomial" || name == "bernoulli" || sample.recipe == "inferred_classes";
}

// The dtype, or where the row takes neither it nor whole numbers, one that it takes.
Dtype taken_by(const Operator& op, Dtype dtype) {
  const bool is_taken = contains(op.dtypes, dtype) || contains(op.dtypes, Dtype::i64);
  return is_taken ? dtype : usual_dtype_of(op);
}

void run_samples(Operator& op, Dtype dtype, Device device) {
  const UncheckedFactors leftovers_are_no_matrices;
  for (const Sample& sample : samples_of(op, taken_by(op, dtype), device)) {
    if (looks_at_a_result(op, sample)) continue;
    try {
      call_boxed(op, sample.args);
    } catch (const std::exception& error) {
      ADD_FAILURE() << op.name() << " " << name(dtype) << " '" << sample.recipe
                    << "': " << error.what();
    }
  }
}

}  // namespace

Device paper_gpu() {
  setenv("BACKPLANE_CACHE_BYTES", "0", 1);  // no decision of the tuner stays
  return load_plugin(BP_TEST_PLUGIN_DIR "/libbackplane_papergpu.so").devices.front()->device;
}

std::vector<codegen::GeneratedSource> sources_on_paper(std::span<const Dtype> dtypes) {
  const Device device = paper_gpu();
  ensure_operators();
  for (Operator* op : registered_operators()) {
    if (!find_row_facts(op->name()) || (op->flags & BP_OP_SHAPE_DATA)) continue;
    bool tried = false;
    for (const Dtype dtype : dtypes)
      if (contains(op->dtypes, dtype)) run_samples(*op, dtype, device), tried = true;
    if (!tried) run_samples(*op, dtypes.front(), device);
  }
  return codegen::generated_sources(device);
}

}  // namespace bp::test

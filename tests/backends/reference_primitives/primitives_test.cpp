// needs: cpu reference_primitives
// Every row of the table on a device that has the primitives' kernels alone: the same results as on cpu, and no
// call by the host.
#include <fmt/format.h>

#include <backplane/dispatcher/operator_source.hpp>
#include <backplane/dispatcher/registry.hpp>
#include <backplane/samples/row_facts.hpp>
#include <backplane/samples/samples.hpp>

#include "codegen/agree.hpp"
#include "dispatcher/calls.hpp"
#include "dispatcher/reference_hooks.hpp"

namespace bp::test {
namespace {

constexpr const char* primitives_device = "reference_primitives:0";
constexpr Dtype every_dtype[] = {boolean, u8,        i8,         i16,       i32,    i64,
                                 u16,     u32,       u64,        f16,       bf16,   f32,
                                 f64,     complex64, complex128, f8_e4m3fn, f8_e5m2};

bool is_primitive(const Operator& op) {
  return (op.flags & BP_OP_PRIMITIVE) != 0;
}

// Where the shape of a result depends on data, only a primitive can do without the host.
std::vector<const Operator*> rows() {
  ensure_operators();
  std::vector<const Operator*> found;
  for (const Operator* op : registered_operators())
    if (find_row_facts(op->name()) && (is_primitive(*op) || !(op->flags & BP_OP_SHAPE_DATA)))
      found.push_back(op);
  return found;
}

// "native " or "decomposed host ": the rungs at which the row's samples were served.
std::string rungs_of(Operator& op) {
  std::vector<Sample> samples;
  for (Dtype dtype : every_dtype)
    if (contains(op.dtypes, dtype))
      for (Sample& sample : samples_of(op, dtype, device(primitives_device)))
        samples.push_back(std::move(sample));
  reset_call_counts();
  for (const Sample& sample : samples) call_boxed(op, sample.args);
  std::string text;
  for (const CallCount& count : call_counts()) {
    if (count.backend != "reference_primitives" || count.op != op.name()) continue;
    for (std::uint32_t rung = 0; rung < num_rungs; ++rung)
      if (count.calls[rung]) text += fmt::format("{} ", name(static_cast<Rung>(rung)));
  }
  return text;
}

// A sanitizer is asked how memory is used, of which a decomposed row's third dtype tells nothing new.
#ifdef __SANITIZE_ADDRESS__
constexpr std::size_t most_dtypes_of_decomposed = 2;
#else
constexpr std::size_t most_dtypes_of_decomposed = std::size(every_dtype);
#endif

class RowOnPrimitives : public testing::TestWithParam<const Operator*> {};

TEST_P(RowOnPrimitives, agrees_with_cpu_without_the_host) {
  const Operator& op = *GetParam();
  manual_seed(0);  // both devices draw the same numbers
  const auto dtypes = is_primitive(op) ? std::span<const Dtype>(every_dtype) : usual_dtypes;
  const std::size_t most = is_primitive(op) ? dtypes.size() : most_dtypes_of_decomposed;
  std::size_t num_tried = 0;
  for (Dtype dtype : dtypes) {
    if (num_tried == most || !contains(op.dtypes, dtype)) continue;
    expect_row_agrees(op.name(), primitives_device, std::span(&dtype, 1),
                      tolerance_of_parts(op, dtype));
    ++num_tried;
  }
  if (num_tried == 0) expect_row_agrees(op.name(), primitives_device, std::span(dtypes.data(), 1));
}

INSTANTIATE_TEST_SUITE_P(all, RowOnPrimitives, testing::ValuesIn(rows()),
                         [](const testing::TestParamInfo<const Operator*>& each) {
                           return std::string(each.param->name());
                         });

TEST(Primitives, have_kernels_and_no_other_row_has_one) {
  for (const Operator* row : rows()) {
    Operator& op = *find_operator(row->name());
    if (op.kind == BP_KIND_VIEW || op.kind == BP_KIND_COMPOSITE) continue;
    EXPECT_EQ(rungs_of(op), is_primitive(op) ? "native " : "decomposed ") << op.name();
  }
}

// The sample's call with every tensor of `from` in f32, and its results cast back.
std::vector<Tensor> computed_wide(Operator& op, const Sample& sample, Dtype from) {
  std::vector<Tensor> wide;
  std::vector<bp_value> args = sample.args;
  for (bp_value& arg : args) {
    if (arg.tag != BP_TENSOR || static_cast<Dtype>(arg.u.tensor->dtype) != from) continue;
    wide.push_back(cast(Tensor::share(TensorImpl::of(arg.u.tensor)), f32));
    arg.u.tensor = &wide.back().impl()->abi;
  }
  std::vector<Tensor> results = call_boxed(op, args);
  for (Tensor& result : results)
    if (result.dtype() == f32) result = cast(result, from);
  return results;
}

TEST(Primitives, round_once_where_a_row_of_short_floats_is_decomposed) {
  int num_rows = 0;
  for (const Operator* row : rows()) {
    if (!row->decompose || !row->widens) continue;
    ++num_rows;
    Operator& op = *find_operator(row->name());
    for (Dtype dtype : {f16, bf16}) {
      for (const Sample& sample : samples_of(op, dtype, device(primitives_device))) {
        SCOPED_TRACE(fmt::format("{} in {}, {}", op.name(), name(dtype), sample.recipe));
        const std::vector<Tensor> results = call_boxed(op, sample.args);
        const std::vector<Tensor> wide = computed_wide(op, sample, dtype);
        for (std::size_t i = 0; i < results.size(); ++i)
          if (results[i].dtype() == dtype) expect_same(results[i], wide[i]);
      }
    }
  }
  EXPECT_GT(num_rows, 12);
}

TEST(Primitives, take_every_number_of_the_small_floats) {
  const Device on = device(primitives_device);
  std::vector<std::uint16_t> codes(0x10000);
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::uint16_t>(i);
  for (Dtype dtype : {f16, bf16, f8_e4m3fn, f8_e5m2}) {
    const Tensor a = empty_tensor({itemsize(dtype) == 2 ? 65536 : 131072}, dtype, host_device());
    copy_from_host_memory(a, codes.data());
    const Tensor wide = cast(a, f32);
    expect_agrees(cast(to_device(a, on), f32), wide, "exact", std::string(name(dtype)));
    // Halfway to the next number, and beyond the largest.
    for (double factor : {1.0, 1.0 + 0x1p-4, 1.0 + 0x1p-9, 1.5, 2.0}) {
      const Tensor between = mul(wide, factor);
      expect_agrees(cast(to_device(between, on), dtype), cast(between, dtype), "exact",
                    fmt::format("{} times {}", name(dtype), factor));
    }
  }
}

TEST(Primitives, tell_of_a_bad_index_when_the_stream_is_synchronized) {
  const Device on = device(primitives_device);
  const Tensor a = ones({3}, f32, on);
  for (std::int64_t bad : {-1, 3}) {
    const Tensor index = to_device(given(std::vector<std::int64_t>{0, bad}, {2}), on);
    const Tensor gathered = gather(a, 0, index);
    EXPECT_THROW(Stream::current(on).synchronize(), Error) << bad;
    const Tensor added = scatter_add(a, 0, index, ones({2}, f32, on));
    EXPECT_THROW(Stream::current(on).synchronize(), Error) << bad;
  }
  const Tensor index = to_device(given(std::vector<std::int64_t>{2, 2}, {2}), on);
  EXPECT_EQ(values(scatter_add(a, 0, index, ones({2}, f32, on))), (std::vector<float>{1, 1, 3}));
}

TEST(Primitives, run_on_the_devices_own_time) {
  const bp_reference_hooks& hooks = reference_hooks("reference_primitives");
  const Device on = device(primitives_device);
  const Tensor a = ones({4}, f32, on);
  Stream::current(on).synchronize();
  hooks.hold(0);
  const Tensor result = add(a, mul(a, 2));
  std::uint64_t pending = 0, allocations = 0, bytes = 0;
  hooks.usage(0, &pending, &allocations, &bytes);
  EXPECT_EQ(pending, 2u);
  hooks.release(0);
  EXPECT_EQ(values(result), (std::vector<float>{3, 3, 3, 3}));
}

}  // namespace
}  // namespace bp::test

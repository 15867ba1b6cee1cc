// needs: cpu reference_compiler
// Chains of pointwise operators on devices that can compile: one generated kernel, one result.
#include <algorithm>
#include <fstream>
#include <iterator>

#include <backplane/codegen/codegen.hpp>
#include <backplane/core_ops/generated/rows.hpp>
#include <backplane/dispatcher/chain.hpp>

#include "codegen/agree.hpp"
#include "dispatcher/calls.hpp"

namespace {

using bp::ChainInput;
using bp::ChainStep;
using bp::Tensor;
using bp::test::Served;
namespace ops = bp::ops;

ChainInput a(std::uint32_t index) {
  return ChainInput::argument(index);
}
ChainInput r(std::uint32_t index) {
  return ChainInput::step(index);
}
ChainInput n(const bp::Scalar& number) {
  return ChainInput::number(number);
}

Tensor call(const bp::Chain& op, const std::vector<Tensor>& tensors) {
  std::vector<bp_value> args;
  for (const Tensor& tensor : tensors) args.push_back(bp::value_of(tensor));
  return bp::call_pointwise(*op, args.data(), static_cast<std::uint32_t>(args.size()));
}

class CompiledChain : public testing::TestWithParam<const char*> {
 protected:
  std::string backend() const {
    const std::string device = GetParam();
    return device.substr(0, device.find(':'));
  }

  Tensor there(const Tensor& tensor) const { return bp::to_device(tensor, bp::device(GetParam())); }

  // On the device by one generated kernel, as cpu does it.
  void expect_agrees(const bp::Chain& op, const std::vector<Tensor>& tensors,
                     const char* tolerance) {
    std::vector<Tensor> moved;
    for (const Tensor& tensor : tensors) moved.push_back(there(tensor));
    const Served served(op->name(), backend());
    const Tensor result = call(op, moved);
    EXPECT_EQ(served.since(), "generated 1");
    bp::test::expect_agrees(bp::to_device(result, bp::host_device()), call(op, tensors), tolerance,
                            op->name());
  }
};

#define BP_NEEDS_DEVICE BP_SKIP_WITHOUT(GetParam())

Tensor random(const std::vector<std::int64_t>& shape, bp::Dtype dtype = bp::f32) {
  return bp::cast(bp::mul(bp::randn(shape, bp::f32, bp::host_device()), 20), dtype);
}

TEST_P(CompiledChain, five_steps_agree_in_every_dtype) {
  BP_NEEDS_DEVICE;
  const bp::Chain op = bp::join(std::vector<ChainStep>{{&ops::mul, {a(0), a(1)}},
                                                       {&ops::add, {r(0), a(2)}},
                                                       {&ops::maximum, {r(1), a(0)}},
                                                       {&ops::sub, {r(2), n(3)}},
                                                       {&ops::mul, {r(3), a(0)}}});
  for (const bp::Dtype dtype : {bp::f32, bp::i32, bp::i64, bp::u8, bp::f16}) {
    SCOPED_TRACE(bp::name(dtype));
    // Devices may contract a * b + c; of integers every bit is the same.
    const char* tolerance = bp::is_integral(dtype) ? "exact" : "accumulation";
    for (const std::int64_t size : {1, 1000, 30011})
      expect_agrees(op, {random({size}, dtype), random({size}, dtype), random({size}, dtype)},
                    tolerance);
  }
}

TEST_P(CompiledChain, strides_masks_and_numbers_agree) {
  BP_NEEDS_DEVICE;
  const bp::Chain leaky = bp::join(std::vector<ChainStep>{
      {&ops::gt, {a(0), n(0)}}, {&ops::mul, {a(0), a(1)}}, {&ops::where, {r(0), a(0), r(1)}}});
  const Tensor x = bp::transpose(random({40, 30}), 0, 1), row = random({40});
  expect_agrees(leaky, {x, row}, "exact");
  const bp::Chain inside = bp::join(std::vector<ChainStep>{
      {&ops::gt, {a(0), n(-1)}}, {&ops::lt, {a(0), a(1)}}, {&ops::logical_and, {r(0), r(1)}}});
  expect_agrees(inside, {x, row}, "exact");
  const bp::Chain masked = bp::join(
      std::vector<ChainStep>{{&ops::mul, {a(1), a(1)}}, {&ops::where, {a(0), r(0), a(1)}}});
  expect_agrees(masked, {bp::gt(x, 0), row}, "exact");
  const bp::Chain scaled =
      bp::join(std::vector<ChainStep>{{&ops::mul, {a(0), a(0)}}, {&ops::add, {r(0), a(0), a(1)}}});
  const Tensor far = there(x);
  for (const double number : {1.0, -2.5}) {
    bp_value here[] = {bp::value_of(x), bp::value_of(number)};
    bp_value args[] = {bp::value_of(far), bp::value_of(number)};
    bp::test::expect_agrees(bp::to_device(bp::call_pointwise(*scaled, args, 2), bp::host_device()),
                            bp::call_pointwise(*scaled, here, 2), "accumulation", "scaled");
  }
}

std::size_t num_mapped() {
  std::ifstream maps("/proc/self/maps");
  return static_cast<std::size_t>(
      std::count(std::istreambuf_iterator<char>(maps), std::istreambuf_iterator<char>(), '\n'));
}

TEST_P(CompiledChain, what_was_compiled_for_it_goes_with_it) {
  BP_NEEDS_DEVICE;
  const Tensor x = there(random({100}));
  const bp::Device device = x.device();
  const auto call_another = [&](double factor) {
    const bp::Chain chain =
        bp::join(std::vector<ChainStep>{{&ops::mul, {a(0), n(factor)}}, {&ops::add, {r(0), a(0)}}});
    const Served served(chain->name(), backend());
    call(chain, {x});
    EXPECT_EQ(served.since(), "generated 1");
    bp::synchronize(device);
  };
  const auto num_sources = [&] { return bp::codegen::generated_sources(device).size(); };
  call_another(0.25);
  call_another(1.25);
  const std::size_t sources = num_sources(), mapped = num_mapped();
  for (int i = 2; i < 14; ++i) call_another(i + 0.25);
  EXPECT_EQ(num_sources(), sources);
  if (backend() == "reference_compiler") {
    EXPECT_LT(num_mapped(), mapped + 12) << "compiled libraries stay";
  }
  call_another(0.25);  // comes back, from the cache on disk or again
}

INSTANTIATE_TEST_SUITE_P(all, CompiledChain,
                         testing::Values("reference_compiler:0", "opencl:0", "cuda:0"));

}  // namespace

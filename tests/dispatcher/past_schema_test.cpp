// needs: cpu
// A row keeps its past schemas: a kernel written against one serves the calls whose newer arguments are at their
// default, and no other.
#include <gtest/gtest.h>

#include <backplane/dispatcher/operator_source.hpp>

#include "dispatcher/calls.hpp"

namespace {

using namespace bp::test;

constexpr const char* past = "past::shift(Tensor input, float by=1.0) -> Tensor";
constexpr const char* present =
    "past::shift(Tensor input, float by=1.0, float times=1.0) -> Tensor";
constexpr const char* past_schemas[] = {past, nullptr};

void like_first(const bp::Call& call, bp::Inferred& out) {
  const bp::TensorImpl& a = *bp::TensorImpl::of(call.args[0].u.tensor);
  out.outputs[0].dtype = static_cast<bp::Dtype>(a.abi.dtype);
  out.outputs[0].shape = bp::IntList{a.shape, static_cast<std::size_t>(a.abi.dl.ndim)};
}

bp::Operator& shift() {
  static bp::Operator* const op = [] {
    bp::ensure_operators();
    auto* made = new bp::Operator;
    made->schema_text = present;
    made->kind = BP_KIND_COMPOSITE;
    made->dtypes = bp::dtypes::all;
    made->infer = like_first;
    made->past_schemas = past_schemas;
    bp::register_operator(*made);
    return made;
  }();
  return *op;
}

// As its maker wrote it: it has never heard of `times`.
std::uint32_t num_args_seen = 0;
bp_code run_past(void*, const bp_call* call) {
  num_args_seen = call->num_args;
  const bp_tensor& a = *call->args[0].u.tensor;
  const bp_tensor& out = *call->outputs[0];
  const auto* from =
      reinterpret_cast<const float*>(static_cast<char*>(a.dl.data) + a.dl.byte_offset);
  auto* to = reinterpret_cast<float*>(static_cast<char*>(out.dl.data) + out.dl.byte_offset);
  for (std::int64_t i = 0; i < a.numel; ++i)
    to[i] = from[i] + static_cast<float>(call->args[1].u.f);
  return BP_OK;
}

bp_kernel kernel_against(const char* schema, const bp_arg (&places)[3]) {
  bp_kernel kernel{};
  kernel.h = {sizeof kernel, BP_TYPE_KERNEL, nullptr};
  kernel.op = "past::shift";
  kernel.schema_hash = bp::schema_hash(schema);
  kernel.args = places;
  kernel.num_args = 3;
  kernel.flags = BP_KERNEL_DETERMINISTIC;
  kernel.run = run_past;
  return kernel;
}

bp_arg contiguous_f32() {
  bp_arg place{};
  place.dtypes = 1u << BP_F32;
  place.layouts = BP_LAYOUT_CONTIGUOUS;
  return place;
}

class PastSchema : public testing::Test {
 protected:
  PastSchema() { shift(); }
  ~PastSchema() override {
    x = {};
    bp::unload_plugin(*backend_);
  }
  void offer(const char* schema) {
    kernel_ = kernel_against(schema, places_);
    const bp_kernel* list[] = {&kernel_};
    bp::register_kernels(*backend_, list, 1);
  }

  bp::Backend* backend_ = &bp::load_plugin(test_plugin("partial"));
  bp::Tensor x = counted({4}, backend_->devices.front()->device);
  // Two arguments and then the output: the places of the schema that it knows.
  const bp_arg places_[3] = {contiguous_f32(), bp_arg{}, contiguous_f32()};
  bp_kernel kernel_{};
};

TEST_F(PastSchema, a_kernel_of_it_serves_calls_with_defaults) {
  offer(past);
  const bp_value args[] = {bp::value_of(x), bp::value_of(2.0)};
  EXPECT_EQ(values(bp::call_boxed(shift(), args)[0]), (std::vector<float>{2, 3, 4, 5}));
  EXPECT_EQ(num_args_seen, 2u);
  const bp_value spelled_out[] = {bp::value_of(x), bp::value_of(3.0), bp::value_of(1.0)};
  EXPECT_EQ(values(bp::call_boxed(shift(), spelled_out)[0]), (std::vector<float>{3, 4, 5, 6}));
}

TEST_F(PastSchema, a_kernel_of_it_is_not_asked_for_what_it_does_not_know) {
  offer(past);
  const bp_value args[] = {bp::value_of(x), bp::value_of(2.0), bp::value_of(5.0)};
  EXPECT_THROW(bp::call_boxed(shift(), args), bp::Error);
}

TEST_F(PastSchema, a_schema_that_the_row_never_had_is_left_out) {
  offer("past::shift(Tensor input, int by=1) -> Tensor");
  const bp_value args[] = {bp::value_of(x), bp::value_of(2.0)};
  EXPECT_THROW(bp::call_boxed(shift(), args), bp::Error);
}

// A number that was whole in the past: the kernel serves the calls in which it is.
TEST(PastNumbers, are_whole) {
  static constexpr const char* whole = "past::turn(Tensor input, int by=1) -> Tensor";
  static constexpr const char* const all_past[] = {whole, nullptr};
  bp::ensure_operators();
  static bp::Operator turn;
  turn.schema_text = "past::turn(Tensor input, Scalar by=1) -> Tensor";
  turn.kind = BP_KIND_COMPOSITE;
  turn.dtypes = bp::dtypes::all;
  turn.infer = like_first;
  turn.past_schemas = all_past;
  bp::register_operator(turn);
  const bp::KnownArguments known = bp::known_arguments(turn, bp::schema_hash(whole));
  EXPECT_EQ(known.count, 2);
  EXPECT_EQ(known.whole, 0b10u);
  EXPECT_EQ(bp::known_arguments(turn, turn.schema->hash).whole, 0u);
  EXPECT_EQ(bp::known_arguments(turn, 1).count, -1);

  bp::Backend& backend = bp::load_plugin(test_plugin("partial"));
  const bp_arg places[3] = {contiguous_f32(), bp_arg{}, contiguous_f32()};
  bp_kernel kernel = kernel_against(whole, places);
  kernel.op = "past::turn";
  kernel.run = [](void*, const bp_call* call) -> bp_code {
    const bp_tensor& out = *call->outputs[0];
    *reinterpret_cast<float*>(static_cast<char*>(out.dl.data) + out.dl.byte_offset) =
        static_cast<float>(call->args[1].u.i);
    return BP_OK;
  };
  const bp_kernel* list[] = {&kernel};
  bp::register_kernels(backend, list, 1);
  {
    const bp::Tensor x = counted({1}, backend.devices.front()->device);
    const bp_value with_whole[] = {bp::value_of(x), bp::value_of(std::int64_t{7})};
    EXPECT_EQ(values(bp::call_boxed(turn, with_whole)[0]), (std::vector<float>{7}));
    const bp_value with_real[] = {bp::value_of(x), bp::value_of(7.0)};
    EXPECT_THROW(bp::call_boxed(turn, with_real), bp::Error);
  }
  bp::unload_plugin(backend);
}

}  // namespace

// needs: cpu
#include <gtest/gtest.h>

#include <backplane/dispatcher/call.hpp>
#include <backplane/dispatcher/counters.hpp>
#include <backplane/dispatcher/registry.hpp>
#include <backplane/loading/loader.hpp>
#include <backplane/tensor/check.hpp>
#include <backplane/tensors.hpp>

namespace {

void infer_halves(const bp::Call& call, bp::Inferred& out) {
  const bp_tensor& a = *call.args[0].u.tensor;
  BP_CHECK(a.dl.ndim == 1 && a.dl.shape[0] % 2 == 0, "test::halve: rank {}, needs an even vector",
           a.dl.ndim);
  out.outputs[0].dtype = static_cast<bp::Dtype>(a.dtype);
  out.outputs[0].shape = {a.dl.shape[0] / 2};
}

void run_halves(const bp::Call& call) {
  const bp_tensor& a = *call.args[0].u.tensor;
  const auto* from =
      reinterpret_cast<const float*>(static_cast<char*>(a.dl.data) + a.dl.byte_offset);
  float* to = call.results[0].data<float>();
  for (std::int64_t i = 0; i < call.results[0].numel(); ++i)
    to[i] = from[i] + from[i + call.results[0].numel()];
}

void decompose_double(const bp::Call& call) {
  const bp::Tensor a = bp::Tensor::share(bp::TensorImpl::of(call.args[0].u.tensor));
  call.results[0] = bp::add(a, a);
}

TEST(CustomOperators, run_an_applications_kernel_with_its_shape_rule) {
  bp::Operator& op =
      bp::register_custom_operator("test::halve(Tensor input) -> Tensor", {infer_halves, nullptr});
  bp::device("cpu");
  bp::register_application_kernel(op, *bp::find_backend("cpu"), run_halves, bp::set_of(bp::f32),
                                  BP_LAYOUT_CONTIGUOUS);
  const bp::Tensor a = bp::arange(4, 8, 1, bp::f32);
  const bp::Tensor sum = bp::call_boxed("test::halve", {bp::value_of(a)})[0];
  EXPECT_EQ(sum.shape(), bp::IntList({2}));
  EXPECT_EQ(sum.data<float>()[0], 10.0f);
  EXPECT_EQ(sum.data<float>()[1], 12.0f);
  EXPECT_THROW(bp::call_boxed("test::halve", {bp::value_of(bp::ones({3}))}), bp::Error);
}

TEST(CustomOperators, decompose_into_others) {
  bp::register_custom_operator("test::double(Tensor input) -> Tensor", {nullptr, decompose_double});
  const bp::Tensor twice = bp::call_boxed("test::double", {bp::value_of(bp::ones({3}))})[0];
  EXPECT_EQ(twice.data<float>()[2], 2.0f);
}

TEST(CustomOperators, refuse_a_name_that_is_taken) {
  try {
    bp::register_custom_operator("add(Tensor input) -> Tensor");
    FAIL();
  } catch (const bp::Error& error) {
    EXPECT_NE(std::string(error.what()).find("add: an operator of this name is registered already"),
              std::string::npos);
  }
}

TEST(BoxedCalls, fill_in_defaults_and_check_types) {
  const bp::Tensor a = bp::ones({2});
  EXPECT_EQ(bp::call_boxed("add", {bp::value_of(a), bp::value_of(a)})[0].data<float>()[0], 2.0f);
  const auto error_of = [](auto f) -> std::string {
    try {
      f();
    } catch (const bp::Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(
      error_of([&] { bp::call_boxed("add", {bp::value_of(a)}); }),
      "add: argument 'other' is missing; the schema is add(Tensor input, Tensor other, *, Scalar "
      "alpha=1) -> Tensor");
  EXPECT_EQ(error_of([&] { bp::call_boxed("sum", {bp::value_of(std::int64_t{1})}); }).substr(0, 47),
            "sum: argument 'input' takes Tensor, got int; th");
  EXPECT_EQ(error_of([&] { bp::call_boxed("nothing", {}); }),
            "nothing: there is no operator of this name; 'backplane ops' lists them");
}

}  // namespace

// needs: cpu reference_primitives once
// Every row and a write in place: into its results, whatever they are made of, and by the row itself through a
// view of a larger tensor. First and second derivatives against differences.
#include <gtest/gtest.h>

#include <backplane/dispatcher/call.hpp>

#include "autograd/gradcheck.hpp"

namespace bp::test {
namespace {

// A call's arguments on another device.
class Moved {
 public:
  Moved(std::span<const bp_value> args, Device device) : args_(args.begin(), args.end()) {
    for (bp_value& value : args_) {
      if (value.tag == BP_TENSOR) value.u.tensor = moved(value.u.tensor, device);
      if (value.tag == BP_DEVICE) value = value_of(device);
      if (value.tag != BP_TENSOR_LIST) continue;
      auto* old = static_cast<const bp_tensor* const*>(value.u.ptr);
      auto& list = lists_.emplace_back(old, old + value.aux);
      for (const bp_tensor*& tensor : list)
        if (tensor) tensor = moved(tensor, device);
      value.u.ptr = list.data();
    }
  }
  std::span<bp_value> args() { return args_; }

 private:
  const bp_tensor* moved(const bp_tensor* tensor, Device device) {
    return &tensors_.emplace_back(to(Tensor::share(TensorImpl::of(tensor)), device)).impl()->abi;
  }
  std::vector<bp_value> args_;
  std::deque<Tensor> tensors_;
  std::deque<std::vector<const bp_tensor*>> lists_;
};

bool is_new(const Tensor& result, std::span<const bp_value> args) {
  const auto shares = [&](const bp_tensor* tensor) {
    return tensor && TensorImpl::of(tensor)->storage == result.impl()->storage;
  };
  for (const bp_value& value : args) {
    if (value.tag == BP_TENSOR && shares(value.u.tensor)) return false;
    if (value.tag != BP_TENSOR_LIST) continue;
    auto* list = static_cast<const bp_tensor* const*>(value.u.ptr);
    if (std::any_of(list, list + value.aux, shares)) return false;
  }
  return true;
}

bool takes_part(const Tensor& tensor) {
  return tensor.dtype() == f64 && tensor.numel() > 0;
}

// The first half of each result is scaled through a view, and the whole is moved by a number. A result that its own
// rule reads must not be written.
std::vector<Tensor> with_written_results(Operator& op, std::span<const bp_value> args,
                                         Device device) {
  Moved moved(args, device);
  std::vector<Tensor> results = call_boxed(op, moved.args());
  for (Tensor& result : results) {
    if (!takes_part(result)) continue;
    if (!is_new(result, moved.args())) result = result * 1;
    const Tensor flat = result.ndim() == 0 ? result : select(result, 0, 0);
    mul_(flat, 0.5);
    add_(result, 0.25);
  }
  for (Tensor& result : results) result = cpu(result);
  return results;
}

// The row writes the first half of a buffer, which began as multiples of its first argument.
std::vector<Tensor> with_row_through_a_view(Operator& op, std::span<const bp_value> args,
                                            Device device) {
  Moved moved(args, device);
  const Tensor first = Tensor::share(TensorImpl::of(moved.args()[0].u.tensor));
  // Not the same values, so that no two arguments are equal where a row has a kink.
  const Tensor buffer = stack({first * 1.01, first * 2}, 0);
  Tensor half = select(buffer, 0, 0);
  moved.args()[0] = value_of(half);
  dispatch(
      Call{op, moved.args().data(), static_cast<std::uint32_t>(moved.args().size()), &half, 1});
  return {cpu(buffer), cpu(half * half)};
}

// Pointwise rows have a form in place.
bool can_write_its_first_argument(Operator& op, const Sample& sample) {
  if (op.kind != BP_KIND_POINTWISE || sample.args.empty() || sample.args[0].tag != BP_TENSOR)
    return false;
  const TensorImpl& first = *TensorImpl::of(sample.args[0].u.tensor);
  const Tensor result = call_boxed(op, sample.args)[0];
  return takes_part(result) && first.abi.dtype == index(f64) &&
         result.shape() == IntList(first.shape, static_cast<std::size_t>(first.abi.dl.ndim));
}

// "" or what is wrong; errors count unless they say that a saved result was written.
std::string wrong_of(Operator& op, const Sample& sample, const SampleCall& call, int& num_checked) {
  try {
    const Checked checked = check_derivative(op, sample, Placing::as_sampled, call);
    num_checked += checked.was_checked;
    return checked.wrong;
  } catch (const Error& error) {
    const std::string text = error.what();
    if (text.find("its result") != text.npos && text.find("was written in place") != text.npos)
      return "";
    return std::string(op.name()) + " (" + sample.recipe + "): " + text;
  }
}

// The primitives' device takes 40 times as long, and what is asked of it is how rows are put together.
std::size_t most_samples_on(const char* device) {
  return std::string_view(device) == "cpu" ? 100 : 3;
}

class WrittenRows : public testing::TestWithParam<const char*> {};

// How many samples of all rows were checked.
int check_all(const SampleCall& call, bool by_rows_that_write, std::size_t most_samples) {
  int num_checked = 0;
  for (Operator* op : registered_operators()) {
    if (!op->has_gradient && op->kind != BP_KIND_COMPOSITE) continue;
    if (op->schema->returns.empty()) continue;
    const std::vector<Sample> samples = samples_of(*op, f64, device("cpu"));
    for (std::size_t i = 0; i < std::min(samples.size(), most_samples); ++i) {
      if (by_rows_that_write && !can_write_its_first_argument(*op, samples[i])) continue;
      EXPECT_EQ(wrong_of(*op, samples[i], call, num_checked), "");
    }
  }
  return num_checked;
}

TEST_P(WrittenRows, keep_their_derivatives_when_their_results_are_written) {
  const Device there = device(GetParam());
  const auto call = [&](Operator& op, std::span<const bp_value> args) {
    return with_written_results(op, args, there);
  };
  EXPECT_GE(check_all(call, false, most_samples_on(GetParam())), 150);
}

TEST_P(WrittenRows, have_derivatives_where_they_write_through_a_view) {
  const Device there = device(GetParam());
  const auto call = [&](Operator& op, std::span<const bp_value> args) {
    return with_row_through_a_view(op, args, there);
  };
  EXPECT_GE(check_all(call, true, most_samples_on(GetParam())), 80);
}

INSTANTIATE_TEST_SUITE_P(On, WrittenRows, testing::Values("cpu", "reference_primitives"),
                         [](const auto& where) { return std::string(where.param); });

}  // namespace
}  // namespace bp::test

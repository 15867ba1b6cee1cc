// The first call of a process is a wrong one, or one on meta: no device is loaded before it.
#include <cstdio>
#include <gtest/gtest.h>
#include <unistd.h>

#include <backplane/tensors.hpp>

#include "bad_calls.hpp"

namespace bp::test {
namespace {

// Ends the process with the sentence that the call throws, or with nothing.
template <class F> [[noreturn]] void say_and_exit(const F& call) {
  try {
    call();
  } catch (const Error& error) {
    std::fputs(error.what(), stderr);
  }
  _exit(0);
}
#define EXPECT_FIRST_CALL(call, sentence) \
  EXPECT_EXIT(say_and_exit([] { call; }), testing::ExitedWithCode(0), sentence)

Tensor on_meta(Dtype dtype = f32) {
  return empty({2, 3}, dtype, meta_device);
}

TEST(first_call, may_be_on_meta) {
  EXPECT_FIRST_CALL(sum(on_meta()), "^$");
  EXPECT_FIRST_CALL(exp(on_meta()), "^$");
  EXPECT_FIRST_CALL(view(on_meta(), {6}), "^$");
  EXPECT_FIRST_CALL(add_(on_meta(), 1), "^$");
  EXPECT_FIRST_CALL(cat({on_meta(), on_meta()}), "^$");
  EXPECT_FIRST_CALL(split(on_meta(), 1), "^$");
  EXPECT_FIRST_CALL(call_boxed("neg", {value_of(on_meta())}), "^$");
}

TEST(first_call, may_be_wrong) {
  EXPECT_FIRST_CALL(exp(Tensor()), "^exp: argument 'input' is an undefined tensor");
  EXPECT_FIRST_CALL(sum(Tensor()), "^sum: argument 'input' is an undefined tensor");
  EXPECT_FIRST_CALL(add_(Tensor(), on_meta()), "^add: ");
  EXPECT_FIRST_CALL(cat({}), "^cat: ");
  EXPECT_FIRST_CALL(cat({on_meta(), Tensor()}), "^cat: tensor 1 of 'tensors' is undefined");
  EXPECT_FIRST_CALL(view(on_meta(), {4}), "^view: ");
  EXPECT_FIRST_CALL(view(Tensor(), {4}), "^view: argument 'input' is an undefined tensor");
  EXPECT_FIRST_CALL(matmul(on_meta(), on_meta()), "^matmul: ");
  EXPECT_FIRST_CALL(split(Tensor(), 1), "^split: argument 'input' is an undefined tensor");
  EXPECT_FIRST_CALL(chunk(Tensor(), 1), "^chunk: argument 'input' is an undefined tensor");
  EXPECT_FIRST_CALL(scatter(Tensor(), 0, on_meta(i64), 1),
                    "^scatter: argument 'input' is an undef");
  EXPECT_FIRST_CALL(scatter(on_meta(), 0, Tensor(), 1), "^scatter: argument 'index' is an undef");
  EXPECT_FIRST_CALL(call_boxed("nonsense", {}), "^nonsense: there is no operator of this name");
}

constexpr auto none = static_cast<Dtype>(231);

TEST(first_call, may_have_no_dtype) {
  EXPECT_FIRST_CALL(cast(on_meta(), none),
                    "^cast: 'dtype' is 231, which is not the number of a dtype");
  EXPECT_FIRST_CALL(to(on_meta(), none), "^to: 231 is not the number of a dtype");
  EXPECT_FIRST_CALL(empty({2}, none, meta_device), "^empty: 231 is not the number of a dtype");
  EXPECT_FIRST_CALL(zeros({2}, none, meta_device), "^zeros: 'dtype' is 231");
  EXPECT_FIRST_CALL(sum(on_meta(), {}, false, none), "^sum: 'dtype' is 231");
  EXPECT_FIRST_CALL(tensor({1, 2}, {.dtype = none, .device = meta_device}), "^tensor: 231 is ");
  EXPECT_FIRST_CALL(linspace(0, 1, 4, none, meta_device),
                    "^linspace: 231 is not the number of a dtype");
  EXPECT_FIRST_CALL(set_default_dtype(none),
                    "^set_default_dtype: 231 is not the number of a dtype");
}

TEST(first_call, may_ask_for_operators) {
  EXPECT_FIRST_CALL(if (!find_operator("add")) std::fputs("none", stderr), "^$");
  EXPECT_FIRST_CALL(if (registered_operators().empty()) std::fputs("none", stderr), "^$");
}

TEST(cold_bad_calls, end_in_a_sentence_of_their_operator) {
  make_cold_calls(0, 4000);
}

}  // namespace
}  // namespace bp::test

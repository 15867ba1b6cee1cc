// needs: cpu
// Logic on bits in every integer type, by the kernels and by their decompositions, against C++'s own.
#include <limits>
#include <random>

#include <backplane/dispatcher/operator_source.hpp>

#include "core_ops/peer_values.hpp"

namespace bp {
namespace {

using test::error_of;

template <class T> std::vector<T> some_bits(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<T> values = {0, 1, std::numeric_limits<T>::max(), std::numeric_limits<T>::lowest()};
  while (values.size() < 777) values.push_back(static_cast<T>(random()));
  return values;
}

// What the row's decomposition gives for these arguments.
Tensor decomposed(const char* name, std::initializer_list<Tensor> operands) {
  Operator& op = *find_operator(name);
  std::vector<bp_value> args;
  for (const Tensor& operand : operands) args.push_back(value_of(operand));
  Tensor result;
  op.decompose(Call{op, args.data(), static_cast<std::uint32_t>(args.size()), &result, 1});
  return result;
}

template <class T> void expect_bits_of_type() {
  std::vector<T> x = some_bits<T>(1), y = some_bits<T>(2), conjunction, either, differing, others;
  std::swap(y[0], y[3]);
  for (std::size_t i = 0; i < x.size(); ++i) {
    conjunction.push_back(static_cast<T>(x[i] & y[i]));
    either.push_back(static_cast<T>(x[i] | y[i]));
    differing.push_back(static_cast<T>(x[i] ^ y[i]));
    others.push_back(static_cast<T>(~x[i]));
  }
  const Tensor a = tensor(x), b = tensor(y);
  const std::string_view type = name(a.dtype());
  EXPECT_EQ(to_vector<T>(bitwise_and(a, b)), conjunction) << type;
  EXPECT_EQ(to_vector<T>(bitwise_or(a, b)), either) << type;
  EXPECT_EQ(to_vector<T>(bitwise_xor(a, b)), differing) << type;
  EXPECT_EQ(to_vector<T>(bitwise_not(a)), others) << type;
  EXPECT_EQ(to_vector<T>(decomposed("bitwise_or", {a, b})), either) << type;
  EXPECT_EQ(to_vector<T>(decomposed("bitwise_xor", {a, b})), differing) << type;
  EXPECT_EQ(to_vector<T>(decomposed("bitwise_not", {a})), others) << type;
}

TEST(Bitwise, integers_of_all_sizes_have_their_bits) {
  expect_bits_of_type<std::uint8_t>();
  expect_bits_of_type<std::int8_t>();
  expect_bits_of_type<std::int16_t>();
  expect_bits_of_type<std::int32_t>();
  expect_bits_of_type<std::int64_t>();
  expect_bits_of_type<std::uint16_t>();
  expect_bits_of_type<std::uint32_t>();
  expect_bits_of_type<std::uint64_t>();
}

std::vector<std::int64_t> truths(const Tensor& a) {
  EXPECT_EQ(name(a.dtype()), name(boolean));
  return to_vector<std::int64_t>(to(a, i64));
}

TEST(Bitwise, bools_have_logic) {
  using Truths = std::vector<std::int64_t>;
  const Tensor a = tensor({false, false, true, true}), b = tensor({false, true, false, true});
  EXPECT_EQ(truths(bitwise_and(a, b)), (Truths{0, 0, 0, 1}));
  EXPECT_EQ(truths(bitwise_or(a, b)), (Truths{0, 1, 1, 1}));
  EXPECT_EQ(truths(bitwise_xor(a, b)), (Truths{0, 1, 1, 0}));
  EXPECT_EQ(truths(bitwise_not(a)), (Truths{1, 1, 0, 0}));
  EXPECT_EQ(truths(decomposed("bitwise_or", {a, b})), (Truths{0, 1, 1, 1}));
  EXPECT_EQ(truths(decomposed("bitwise_xor", {a, b})), (Truths{0, 1, 1, 0}));
  EXPECT_EQ(truths(decomposed("bitwise_not", {a})), (Truths{1, 1, 0, 0}));
}

TEST(Bitwise, types_are_promoted_and_numbers_and_results_are_taken) {
  EXPECT_EQ(name(bitwise_or(zeros({2}, u8), zeros({2}, i32)).dtype()), name(i32));
  EXPECT_EQ(name(bitwise_and(zeros({2}, boolean), 6).dtype()), name(i64));
  EXPECT_EQ(to_vector<std::int64_t>(bitwise_xor(6, tensor({1, 2, 15}))),
            (std::vector<std::int64_t>{7, 4, 9}));
  const Tensor a = tensor({1, 2, 3});
  bitwise_and_(a, 2);
  EXPECT_EQ(to_vector<std::int64_t>(a), (std::vector<std::int64_t>{0, 2, 2}));
  EXPECT_NE(error_of([] { bitwise_not(zeros({2})); }).find("float32"), std::string::npos);
}

}  // namespace
}  // namespace bp

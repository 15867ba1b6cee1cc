#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <string>

#include <backplane/tensor/error.hpp>
#include <backplane/tensor/promotion.hpp>

namespace bp {
namespace {

// PyTorch's half-sized complex types are complex64 here.
std::string known(const std::string& answer) {
  return answer == "complex32" || answer == "bcomplex32" ? "complex64" : answer;
}

bool is_whole(Dtype dtype) {
  return is_integral(dtype) || dtype == boolean;
}

// PyTorch refuses u16, u32 and u64 beside other integers; the array API has them, but for u64 and a sign. That holds every
// value of both is checked below.
bool is_answered_here_alone(Dtype a, Dtype b) {
  const DtypeSet late = set_of(u16, u32, u64);
  const DtypeSet with_sign = set_of(i8, i16, i32, i64);
  if (!is_whole(a) || !is_whole(b) || !(contains(late, a) || contains(late, b))) return false;
  return !(a == u64 && contains(with_sign, b)) && !(b == u64 && contains(with_sign, a));
}

template <class F> std::string answer(F function) {
  try {
    return std::string(name(function()));
  } catch (const Error& error) {
    EXPECT_EQ(error.error_class(), ErrorClass::bad_argument);
    return "error";
  }
}

Scalar number_of(const std::string& kind) {
  if (kind == "bool") return true;
  if (kind == "int") return 1;
  if (kind == "float") return 1.0;
  return std::complex<double>(0, 1);
}

std::string answer_with_number(std::istream& line, bool is_zero_dim) {
  std::string default_dtype, dtype, number;
  line >> default_dtype >> dtype >> number;
  return answer([&] {
    ResultType type(dtype_from_name(default_dtype));
    type.add(number_of(number));
    type.add(dtype_from_name(dtype), is_zero_dim);
    return type.result();
  });
}

std::string answer_numbers(std::istream& line) {
  std::string default_dtype, a, b;
  line >> default_dtype >> a >> b;
  ResultType type(dtype_from_name(default_dtype));
  type.add(number_of(a));
  type.add(number_of(b));
  return std::string(name(type.result()));
}

std::string answer_with_zero_dim(std::istream& line) {
  std::string dims, zero_dim;
  line >> dims >> zero_dim;
  return answer([&] {
    ResultType type;
    type.add(dtype_from_name(dims), false);
    type.add(dtype_from_name(zero_dim), true);
    return type.result();
  });
}

std::string answer_pair(std::istream& line, bool is_promote) {
  std::string a, b;
  line >> a >> b;
  const Dtype first = dtype_from_name(a), second = dtype_from_name(b);
  if (is_promote) return answer([&] { return promote(first, second); });
  return can_cast(first, second) ? "True" : "False";
}

TEST(promotion, agrees_with_pytorch_everywhere) {
  std::ifstream table(BP_SOURCE_DIR "/tests/text/promotion.txt");
  int checked = 0;
  for (std::string text; std::getline(table, text);) {
    if (text.empty() || text[0] == '#') continue;
    std::istringstream line(text);
    std::string question;
    line >> question;
    const std::string ours = question == "with_number"            ? answer_with_number(line, false)
                             : question == "zero_dim_with_number" ? answer_with_number(line, true)
                             : question == "with_zero_dim"        ? answer_with_zero_dim(line)
                             : question == "numbers"              ? answer_numbers(line)
                                                     : answer_pair(line, question == "promote");
    std::string theirs;
    line >> theirs;
    ++checked;
    if ((question == "promote" || question == "with_zero_dim") && theirs == "error") {
      std::string a, b;
      std::istringstream(text) >> question >> a >> b;
      if (is_answered_here_alone(dtype_from_name(a), dtype_from_name(b))) {
        EXPECT_NE(ours, "error") << text;
        continue;
      }
    }
    EXPECT_EQ(ours, known(theirs)) << text;
  }
  EXPECT_EQ(checked, 3 * 17 * 17 + 2 * (2 * 17 * 4 + 16));
}

// The smallest type that holds what both do, by their bounds.
TEST(promotion, of_integers_is_the_smallest_that_holds_both) {
  const Dtype all[] = {u8, i8, u16, i16, u32, i32, u64, i64};  // by size, unsigned first
  const auto bits = [](Dtype dtype) { return static_cast<int>(itemsize(dtype)) * 8; };
  const auto is_signed = [](Dtype dtype) { return name(dtype)[0] == 'i'; };
  const auto holds = [&](Dtype outer, Dtype inner) {
    if (is_signed(inner) && !is_signed(outer)) return false;
    return bits(outer) - is_signed(outer) >= bits(inner) - is_signed(inner);
  };
  for (const Dtype a : all)
    for (const Dtype b : all) {
      std::string wanted = "error";
      for (const Dtype each : all)
        if (holds(each, a) && holds(each, b)) {
          wanted = name(each);
          break;
        }
      EXPECT_EQ(answer([&] { return promote(a, b); }), wanted) << name(a) << " and " << name(b);
      EXPECT_EQ(answer([&] { return promote(a, boolean); }), name(a));
    }
}

TEST(promotion, does_not_depend_on_the_order_of_arguments) {
  for (unsigned a = 0; a < num_dtypes; ++a)
    for (unsigned b = 0; b < num_dtypes; ++b)
      EXPECT_EQ(answer([&] { return promote(Dtype(a), Dtype(b)); }),
                answer([&] { return promote(Dtype(b), Dtype(a)); }));
}

TEST(promotion, says_what_has_no_common_type) {
  try {
    promote(u64, i32);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "promotion: uint64 and int32 have no common type; cast one of them");
  }
  EXPECT_THROW(ResultType().result(), Error);
}

}  // namespace
}  // namespace bp

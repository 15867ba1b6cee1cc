// needs: cpu reference
// What rows say of special values (`special` in core_ops/table) is what devices give, in float32 and float64 or in int64.
#include <cmath>
#include <deque>
#include <gtest/gtest.h>
#include <map>
#include <numbers>
#include <optional>
#include <string>

#include <backplane/samples/special_cases.hpp>
#include <backplane/tensors.hpp>

namespace bp::test {
namespace {

// Long enough for full vectors of a kernel and for what is left over.
constexpr std::int64_t length = 19;

using Names = std::map<std::string, double>;

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream stream(text);
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

// "a, [b, c]" at the commas outside of lists.
std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts;
  int depth = 0;
  std::string part;
  for (const char c : text) {
    depth += (c == '[') - (c == ']');
    if (c == ',' && depth == 0) {
      parts.push_back(part);
      part.clear();
    } else if (c != ' ' || !part.empty()) {
      part += c;
    }
  }
  if (!part.empty()) parts.push_back(part);
  return parts;
}

bool is_name(const std::string& word) {
  static const std::vector<std::string> constants{"nan", "inf", "pi", "true", "false", "error"};
  return !word.empty() && std::isalpha(static_cast<unsigned char>(word[0])) &&
         std::find(constants.begin(), constants.end(), word) == constants.end();
}

double number_of(std::string word, const Names& names) {
  if (word[0] == '(') word = word.substr(1, word.size() - 2);
  if (word[0] == '-') return -number_of(word.substr(1), names);
  if (word == "nan") return std::nan("");
  if (word == "inf") return std::numeric_limits<double>::infinity();
  if (word == "pi") return std::numbers::pi;
  if (word == "true" || word == "false") return word == "true";
  return is_name(word) ? names.at(word) : std::stod(word);
}

// "3 * pi / 4", from left to right.
double value_of_text(const std::string& text, const Names& names) {
  const std::vector<std::string> words = words_of(text);
  double value = number_of(words[0], names);
  for (std::size_t i = 2; i < words.size(); i += 2) {
    const double next = number_of(words[i], names);
    const char sign = words[i - 1][0];
    value = sign == '*'   ? value * next
            : sign == '/' ? value / next
            : sign == '+' ? value + next
                          : value - next;
  }
  return value;
}

std::vector<double> list_of_text(const std::string& text, const Names& names) {
  std::vector<double> values;
  for (const std::string& part : parts_of(text.substr(1, text.size() - 2)))
    values.push_back(value_of_text(part, names));
  return values;
}

// "f(a, b)", "a + b", "not a", "~a": the arguments' texts.
std::vector<std::string> arguments_of(const std::string& call, const std::string& row) {
  if (call.starts_with(row + "("))
    return parts_of(call.substr(row.size() + 1, call.size() - row.size() - 2));
  if (call[0] == '~') return {call.substr(1)};
  const std::vector<std::string> words = words_of(call);
  if (words.size() == 2) return {words[1]};
  EXPECT_EQ(words.size(), 3u) << call << " is not a call of " << row;
  return {words.front(), words.back()};
}

// A call in the making; keeps what its arguments point to.
struct SpecialCall {
  Operator& op;
  Dtype dtype;
  Device device;
  std::deque<Tensor> tensors;
  std::vector<bp_value> args;

  void add(const std::string& text, const Names& names) {
    const SchemaArgument& argument = op.schema->arguments[args.size()];
    if (argument.type != ArgumentType::tensor)
      return add_number(argument, value_of_text(text, names));
    const bool is_list = text[0] == '[';
    const std::vector<double> values =
        is_list ? list_of_text(text, names)
                : std::vector<double>(static_cast<std::size_t>(length), value_of_text(text, names));
    const bool is_bool = text == "true" || text == "false";
    tensors.push_back(to(to(tensor(values), is_bool ? boolean : dtype), device));
    args.push_back(value_of(tensors.back()));
  }
  void add_number(const SchemaArgument& argument, double number) {
    const bool is_int =
        argument.type == ArgumentType::integer || argument.type == ArgumentType::integer_list;
    args.push_back(is_int ? value_of(static_cast<std::int64_t>(number)) : value_of(number));
  }
  // Dimensions that the text leaves out are the vector's.
  std::vector<Tensor> run() {
    while (args.size() < op.schema->arguments.size() &&
           !op.schema->arguments[args.size()].has_default)
      args.push_back(value_of(std::int64_t{0}));
    return call_boxed(op, args);
  }
};

void expect_value(double actual, double expected, Dtype dtype) {
  if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(actual)) << actual;
  } else if (expected == 0 || std::isinf(expected)) {
    EXPECT_EQ(actual, expected);
    EXPECT_EQ(std::signbit(actual), std::signbit(expected)) << "0 and -0";
  } else {
    EXPECT_NEAR(actual, expected, (dtype == f64 ? 1e-14 : 1e-6) * std::abs(expected));
  }
}

void expect_case(const SpecialCase& special, Dtype dtype, Device device, const Names& names) {
  const std::string text = special.text;
  const std::size_t equals = text.rfind(" = ");
  const std::string value = text.substr(equals + 3);
  SpecialCall call{*find_operator(special.row), dtype, device, {}, {}};
  for (const std::string& argument : arguments_of(text.substr(0, equals), special.row))
    call.add(argument, names);
  if (value == "error") {
    EXPECT_THROW(call.run(), Error);
    return;
  }
  const Tensor result = call.run()[0];
  const std::vector<double> actual = to_vector<double>(to(cpu(result), f64));
  std::vector<double> expected;
  if (value[0] == '[')
    expected = list_of_text(value, names);
  else
    expected.assign(actual.size(), value_of_text(value, names));
  ASSERT_EQ(actual.size(), expected.size());
  ASSERT_FALSE(actual.empty());
  for (std::size_t i = 0; i < actual.size(); ++i)
    expect_value(actual[i], expected[i], result.dtype());
}

// The names in a case, each with two numbers of its kind, in all combinations.
std::vector<Names> trials_of(const std::string& text, const std::string& row) {
  std::vector<Names> trials{{}};
  std::string word;
  for (const char c : text + " ") {
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.') {
      word += c;
      continue;
    }
    if (is_name(word) && word != row && word != "and" && word != "or" && word != "xor" &&
        word != "not" && !trials[0].contains(word)) {
      const bool positive = word == "p" || word == "q", negative = word == "n" || word == "m";
      std::vector<Names> more;
      for (const double number : {positive ? 0.5 : negative ? -0.5 : 2, positive ? 3.0 : -3.0})
        for (Names names : trials) {
          names[word] = number;
          more.push_back(names);
        }
      trials = more;
    }
    word.clear();
  }
  return trials;
}

class SpecialValues : public testing::TestWithParam<const char*> {};

TEST_P(SpecialValues, are_those_of_the_table) {
  for (const SpecialCase& special : special_cases()) {
    const Operator& op = *find_operator(special.row);
    const bool floats = contains(op.dtypes, f32) || op.dtypes == set_of(boolean);
    for (const Dtype dtype : floats ? std::vector{f32, f64} : std::vector{i64})
      for (const Names& names : trials_of(special.text, special.row)) {
        SCOPED_TRACE(std::string(special.row) + ": " + special.text + " in " +
                     std::string(name(dtype)));
        try {
          expect_case(special, dtype, device(GetParam()), names);
        } catch (const std::exception& error) {
          ADD_FAILURE() << error.what();
        }
      }
  }
}

INSTANTIATE_TEST_SUITE_P(devices, SpecialValues, testing::Values("cpu", "reference:0"),
                         [](const auto& info) { return std::string(info.param).substr(0, 3); });

}  // namespace
}  // namespace bp::test

#include "autograd/programs/program.hpp"

#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <stdexcept>

namespace bp::test::programs {

// ---- Arguments ----

Argument Argument::of_variable(std::int64_t variable) {
  Argument made;
  made.kind = Kind::variable;
  made.integer = variable;
  return made;
}
Argument Argument::of_variables(std::vector<std::int64_t> variables) {
  Argument made;
  made.kind = Kind::variables;
  made.variables = std::move(variables);
  return made;
}
Argument Argument::of_integer(std::int64_t value) {
  Argument made;
  made.kind = Kind::integer;
  made.integer = value;
  return made;
}
Argument Argument::of_real(double value) {
  Argument made;
  made.kind = Kind::real;
  made.real = value;
  return made;
}
Argument Argument::of_boolean(bool value) {
  Argument made;
  made.kind = Kind::boolean;
  made.integer = value;
  return made;
}
Argument Argument::of_text(std::string value) {
  Argument made;
  made.kind = Kind::text;
  made.text = std::move(value);
  return made;
}
Argument Argument::of_integers(const std::vector<std::int64_t>& values) {
  Argument made;
  made.kind = Kind::numbers;
  made.numbers.assign(values.begin(), values.end());
  return made;
}
Argument Argument::of_reals(std::vector<double> values) {
  Argument made;
  made.kind = Kind::numbers;
  made.numbers = std::move(values);
  made.has_fractions = true;
  return made;
}
Argument Argument::of_dtype(Dtype dtype) {
  Argument made;
  made.kind = Kind::dtype;
  made.dtype = dtype;
  return made;
}

// ---- Steps ----

namespace {

struct NamedDtype {
  const char* name;
  Dtype dtype;
};
constexpr NamedDtype dtypes[] = {
    {"f64", Dtype::f64}, {"f32", Dtype::f32}, {"i64", Dtype::i64}, {"boolean", Dtype::boolean}};

const char* text_of(Dtype dtype) {
  for (const auto& [name, named] : dtypes)
    if (named == dtype) return name;
  return "unknown";
}

// Reads back as a real number, and as the same one.
std::string text_of(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

template <class List, class Text> std::string joined(const List& list, Text&& text) {
  std::string all;
  for (const auto& element : list) all += (all.empty() ? "" : ", ") + text(element);
  return all;
}

std::string name_of(std::int64_t variable) {
  return fmt::format("v{}", variable);
}

std::string text_of(const Argument& argument) {
  switch (argument.kind) {
    case Argument::Kind::none: return "None";
    case Argument::Kind::variable: return name_of(argument.integer);
    case Argument::Kind::variables: return "[" + joined(argument.variables, name_of) + "]";
    case Argument::Kind::integer: return fmt::format("{}", argument.integer);
    case Argument::Kind::real: return text_of(argument.real);
    case Argument::Kind::boolean: return argument.integer ? "True" : "False";
    case Argument::Kind::text: return "'" + argument.text + "'";
    case Argument::Kind::dtype: return text_of(argument.dtype);
    case Argument::Kind::numbers: break;
  }
  return "[" +
         joined(argument.numbers,
                [&](double number) {
                  return argument.has_fractions ? text_of(number) : fmt::format("{:.0f}", number);
                }) +
         "]";
}

// A cursor over one line.
class Line {
 public:
  explicit Line(std::string_view text) : text_(text) {}

  bool accept(std::string_view token) {
    skip_spaces();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  void expect(std::string_view token) {
    if (!accept(token)) fail(fmt::format("'{}' is missing", token));
  }
  std::string word() {
    skip_spaces();
    const std::size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(text_[at_]) || text_[at_] == '_')) ++at_;
    if (at_ == begin) fail("a name is missing");
    return std::string(text_.substr(begin, at_ - begin));
  }
  std::int64_t variable() {
    const std::string name = word();
    if (!is_variable(name)) fail("a variable is missing");
    return std::stoll(name.substr(1));
  }
  Argument argument();
  bool is_at_end() {
    skip_spaces();
    return at_ == text_.size();
  }
  bool is_at_variable() {
    skip_spaces();
    const std::size_t end = std::min(text_.find_first_of("(,=] ", at_), text_.size());
    return is_variable(text_.substr(at_, end - at_));
  }
  [[noreturn]] void fail(const std::string& why) const {
    throw std::runtime_error(fmt::format("{} at column {} of: {}", why, at_ + 1, text_));
  }

 private:
  static bool is_variable(std::string_view name) {
    return name.size() >= 2 && name[0] == 'v' &&
           name.find_first_not_of("0123456789", 1) == std::string_view::npos;
  }
  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  Argument number();
  Argument list();

  std::string_view text_;
  std::size_t at_ = 0;
};

Argument Line::number() {
  skip_spaces();
  const std::size_t end = std::min(text_.find_first_of(",) ]", at_), text_.size());
  const std::string_view token = text_.substr(at_, end - at_);
  const bool is_real = token.find_first_of(".en") != std::string_view::npos;
  Argument made = is_real ? Argument::of_real(0) : Argument::of_integer(0);
  const auto [rest, error] =
      is_real ? std::from_chars(token.data(), token.data() + token.size(), made.real)
              : std::from_chars(token.data(), token.data() + token.size(), made.integer);
  if (error != std::errc() || rest != token.data() + token.size()) fail("a number is missing");
  at_ = end;
  return made;
}

Argument Line::list() {
  if (accept("]")) return Argument::of_integers({});
  if (is_at_variable()) {
    Argument made = Argument::of_variables({});
    do made.variables.push_back(variable());
    while (accept(","));
    expect("]");
    return made;
  }
  Argument made = Argument::of_integers({});
  do {
    const Argument element = number();
    made.has_fractions |= element.kind == Argument::Kind::real;
    made.numbers.push_back(
        element.kind == Argument::Kind::real ? element.real : static_cast<double>(element.integer));
  } while (accept(","));
  expect("]");
  return made;
}

Argument Line::argument() {
  if (accept("[")) return list();
  if (accept("'")) {
    const std::size_t end = text_.find('\'', at_);
    if (end == std::string_view::npos) fail("a text does not end");
    Argument made = Argument::of_text(std::string(text_.substr(at_, end - at_)));
    at_ = end + 1;
    return made;
  }
  if (accept("None")) return {};
  if (accept("True")) return Argument::of_boolean(true);
  if (accept("False")) return Argument::of_boolean(false);
  for (const auto& [name, dtype] : dtypes)
    if (accept(name)) return Argument::of_dtype(dtype);
  if (is_at_variable() || text_.substr(at_).starts_with("v"))
    return Argument::of_variable(variable());
  return number();
}

Step parse_step(Line& line) {
  Step step;
  step.under_no_grad = line.accept("nograd:");
  if (line.is_at_variable()) {
    do step.results.push_back(line.variable());
    while (line.accept(","));
    line.expect("=");
  }
  step.name = line.word();
  line.expect("(");
  if (line.accept(")")) return step;
  do step.args.push_back(line.argument());
  while (line.accept(","));
  line.expect(")");
  return step;
}

double uniform(std::uint64_t seed, std::uint64_t element) {  // splitmix64
  std::uint64_t z = (seed * 1'000'003 + element + 1) * 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

}  // namespace

bool Step::is_in_place() const {
  return name.ends_with('_');
}

bool Step::is_call() const {
  return !is_input() && name != "retain_grad";
}

std::string Step::row() const {
  if (is_out()) return name.substr(0, name.size() - 4);
  return is_in_place() ? name.substr(0, name.size() - 1) : name;
}

std::string text_of(const Step& step) {
  std::string text = step.under_no_grad ? "nograd: " : "";
  if (!step.results.empty()) text += joined(step.results, name_of) + " = ";
  return text + step.name + "(" +
         joined(step.args, [](const Argument& argument) { return text_of(argument); }) + ")";
}

std::string text_of(const Program& program) {
  std::string text;
  for (const Step& step : program.steps) text += text_of(step) + "\n";
  text += "loss(" + joined(program.loss, name_of) + ")\n";
  return text + (program.throws ? "throws()\n" : "");
}

Program parse_program(const std::string& text) {
  Program program;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view whole = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    Line line(whole.substr(0, whole.find('#')));
    if (line.is_at_end()) continue;
    Step step = parse_step(line);
    if (!line.is_at_end()) line.fail("something follows");
    if (step.name == "loss")
      program.loss = variables_of(step);
    else if (step.name == "throws")
      program.throws = true;
    else
      program.steps.push_back(std::move(step));
  }
  return program;
}

std::vector<std::int64_t> variables_of(const Step& step) {
  std::vector<std::int64_t> found;
  for (const Argument& argument : step.args) {
    if (argument.is_variable()) found.push_back(argument.integer);
    if (argument.kind == Argument::Kind::variables)
      found.insert(found.end(), argument.variables.begin(), argument.variables.end());
  }
  return found;
}

std::vector<double> input_values(const Step& step) {
  if (step.args[2].kind == Argument::Kind::numbers) return step.args[2].numbers;
  std::size_t count = 1;
  for (std::int64_t size : step.args[1].integers()) count *= static_cast<std::size_t>(size);
  std::vector<double> values(count);
  if (step.args[0].dtype != Dtype::f64 && step.args[0].dtype != Dtype::f32) return values;
  for (std::size_t i = 0; i < count; ++i)
    values[i] = 0.5 + 1.5 * uniform(static_cast<std::uint64_t>(step.args[2].integer), i);
  if (step.args[0].dtype == Dtype::f32)
    for (double& value : values) value = static_cast<double>(static_cast<float>(value));
  return values;
}

double loss_weight(std::size_t output, std::size_t element) {
  return std::cos(0.37 * static_cast<double>(element) + 0.7 * static_cast<double>(output) + 0.2);
}

double gradient_weight(std::size_t leaf, std::size_t element) {
  return std::cos(0.91 * static_cast<double>(element) + 1.3 * static_cast<double>(leaf) + 0.5);
}

}  // namespace bp::test::programs

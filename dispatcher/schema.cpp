#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include <backplane/dispatcher/schema.hpp>
#include <backplane/tensor/check.hpp>

namespace bp {
namespace {

constexpr std::size_t max_returns = 64;

// A cursor over the text; every error quotes the text and the place.
class Parser {
 public:
  explicit Parser(const std::string& text) : text_(text) {}

  void expect(std::string_view token) {
    if (!accept(token)) fail(fmt::format("expected '{}'", token));
  }
  bool accept(std::string_view token) {
    skip_spaces();
    if (!text_.substr(position_).starts_with(token)) return false;
    position_ += token.size();
    return true;
  }
  bool at_end() {
    skip_spaces();
    return position_ == text_.size();
  }
  std::string identifier(const char* what) {
    skip_spaces();
    const std::size_t begin = position_;
    while (position_ < text_.size() && is_identifier(text_[position_])) ++position_;
    if (position_ == begin) fail(fmt::format("expected {}", what));
    return std::string(text_.substr(begin, position_ - begin));
  }
  std::string optional_identifier() {
    skip_spaces();
    const bool there = position_ < text_.size() && is_identifier(text_[position_]);
    return there ? identifier("a name") : std::string();
  }
  // Text up to a comma or parenthesis at depth 0.
  std::string default_text() {
    skip_spaces();
    const std::size_t begin = position_;
    int depth = 0;
    while (position_ < text_.size()) {
      const char c = text_[position_];
      if (c == '[') ++depth;
      if (c == ']') --depth;
      if (depth == 0 && (c == ',' || c == ')')) break;
      ++position_;
    }
    std::size_t end = position_;
    while (end > begin && text_[end - 1] == ' ') --end;
    if (end == begin) fail("expected a default value");
    return std::string(text_.substr(begin, end - begin));
  }
  [[noreturn]] void fail(const std::string& problem) const {
    throw_error(ErrorClass::bad_argument,
                fmt::format("schema '{}': {} at column {}; write it like "
                            "'name(Tensor input, *, Scalar alpha=1) -> Tensor'",
                            text_, problem, position_ + 1));
  }

 private:
  static bool is_identifier(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == ':';
  }
  void skip_spaces() {
    while (position_ < text_.size() && text_[position_] == ' ') ++position_;
  }

  std::string_view text_;
  std::size_t position_ = 0;
};

ArgumentType parse_type(Parser& parser, bool* holes = nullptr) {
  const std::string base = parser.identifier("a type");
  if (base == "Tensor" && holes && parser.accept("?[]")) {
    *holes = true;
    return ArgumentType::tensor_list;
  }
  const bool list = parser.accept("[]");
  if (base == "Tensor") return list ? ArgumentType::tensor_list : ArgumentType::tensor;
  if (base == "int") return list ? ArgumentType::integer_list : ArgumentType::integer;
  if (base == "float") return list ? ArgumentType::real_list : ArgumentType::real;
  if (!list) {
    if (base == "Scalar") return ArgumentType::scalar;
    if (base == "bool") return ArgumentType::boolean;
    if (base == "str") return ArgumentType::string;
    if (base == "Dtype") return ArgumentType::dtype;
    if (base == "Device") return ArgumentType::device;
    if (base == "Generator") return ArgumentType::generator;
  }
  parser.fail(fmt::format("unknown type '{}{}'", base, list ? "[]" : ""));
}

template <class T> bool parse_number(std::string_view text, T& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

void parse_integer_list(Parser& parser, SchemaArgument& argument) {
  std::string_view text = argument.default_text;
  if (text.size() < 2 || text.front() != '[' || text.back() != ']')
    parser.fail(fmt::format("default '{}' is not a list", text));
  text = text.substr(1, text.size() - 2);
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    std::string_view item = text.substr(0, comma);
    while (item.starts_with(' ')) item.remove_prefix(1);
    std::int64_t value = 0;
    if (!parse_number(item, value)) parser.fail(fmt::format("'{}' is not an integer", item));
    argument.default_list.push_back(value);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
}

void parse_default(Parser& parser, SchemaArgument& argument) {
  argument.has_default = true;
  argument.default_text = parser.default_text();
  const std::string& text = argument.default_text;
  bp_value& value = argument.default_value;
  std::int64_t integer = 0;
  double real = 0;
  if (text == "None") {
    if (!argument.optional) parser.fail(fmt::format("'{}' cannot be None", argument.name));
    return;
  }
  if (argument.type == ArgumentType::integer_list) return parse_integer_list(parser, argument);
  if (text == "True" || text == "False") {
    value.tag = BP_BOOLEAN;
    value.u.i = text == "True";
  } else if (text.size() >= 2 && text.front() == '\'' && text.back() == '\'') {
    value.tag = BP_STRING;
    value.aux = static_cast<std::uint32_t>(text.size() - 2);
  } else if (argument.type != ArgumentType::real && parse_number(text, integer)) {
    value.tag = BP_INT;
    value.u.i = integer;
  } else if (parse_number(text, real)) {
    value.tag = BP_DOUBLE;
    value.u.f = real;
  } else {
    parser.fail(fmt::format("cannot read the default '{}' of '{}'", text, argument.name));
  }
}

void parse_arguments(Parser& parser, Schema& out) {
  parser.expect("(");
  bool keyword_only = false;
  if (parser.accept(")")) return;
  do {
    if (parser.accept("*")) {
      if (keyword_only) parser.fail("a second '*'");
      keyword_only = true;
      continue;
    }
    SchemaArgument argument;
    argument.type = parse_type(parser, &argument.holes);
    argument.optional = parser.accept("?");
    argument.name = parser.identifier("an argument's name");
    argument.keyword_only = keyword_only;
    if (out.find(argument.name) >= 0) parser.fail(fmt::format("a second '{}'", argument.name));
    if (parser.accept("=")) parse_default(parser, argument);
    if (out.arguments.size() == 64) parser.fail("more than 64 arguments");
    out.arguments.push_back(std::move(argument));
  } while (parser.accept(","));
  parser.expect(")");
}

void parse_return(Parser& parser, Schema& out) {
  SchemaReturn result;
  result.type = parse_type(parser);
  if (result.type != ArgumentType::tensor && result.type != ArgumentType::tensor_list)
    parser.fail("a result is a Tensor or Tensor[]");
  if (out.returns_list()) parser.fail("a result after a Tensor[], which must be the last");
  if (out.returns.size() == max_returns) parser.fail("more than 64 results");
  out.returns.push_back(std::move(result));
}

void parse_returns(Parser& parser, Schema& out) {
  parser.expect("->");
  if (!parser.accept("(")) return parse_return(parser, out);
  if (parser.accept(")")) return;  // the call writes into its arguments
  do {
    parse_return(parser, out);
    out.returns.back().name = parser.optional_identifier();
  } while (parser.accept(","));
  parser.expect(")");
}

// Lists and strings are pointed to once the vectors no longer move.
void link_defaults(Schema& schema) {
  for (SchemaArgument& argument : schema.arguments) {
    if (!argument.has_default || argument.default_text == "None") continue;
    if (argument.type == ArgumentType::integer_list) {
      argument.default_value.tag = BP_INT_LIST;
      argument.default_value.aux = static_cast<std::uint32_t>(argument.default_list.size());
      argument.default_value.u.ptr = argument.default_list.data();
    } else if (argument.default_value.tag == BP_STRING) {
      argument.default_value.u.ptr = argument.default_text.data() + 1;
    }
  }
}

}  // namespace

int Schema::find(std::string_view argument) const {
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].name == argument) return static_cast<int>(i);
  return -1;
}

bool differ_in_names_alone(const Schema& a, const Schema& b) {
  const auto same_argument = [](const SchemaArgument& x, const SchemaArgument& y) {
    return x.type == y.type && x.optional == y.optional && x.holes == y.holes &&
           x.keyword_only == y.keyword_only && x.has_default == y.has_default &&
           x.default_text == y.default_text;
  };
  const auto same_result = [](const SchemaReturn& x, const SchemaReturn& y) {
    return x.type == y.type;
  };
  return a.name == b.name && std::ranges::equal(a.arguments, b.arguments, same_argument) &&
         std::ranges::equal(a.returns, b.returns, same_result);
}

void parse_schema(std::string_view text, Schema& out) {
  out.text = std::string(text);
  out.hash = schema_hash(text);
  Parser parser(out.text);
  out.name = parser.identifier("the operator's name");
  parse_arguments(parser, out);
  parse_returns(parser, out);
  if (!parser.at_end()) parser.fail("text after the results");
  link_defaults(out);
}

}  // namespace bp

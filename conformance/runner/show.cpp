#include "runner/show.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

#include "inputs/problem.hpp"
#include "inputs/values.hpp"
#include "judge/expected.hpp"

namespace bp::conform {
namespace {

constexpr std::size_t most_numbers = 64;

template <class Integer> std::string integer_text(const unsigned char* at) {
  Integer number;
  std::memcpy(&number, at, sizeof number);
  return fmt::format("{}", number);
}

std::string element_text(Dtype dtype, const unsigned char* at) {
  switch (dtype) {
    case boolean: return *at != 0 ? "true" : "false";
    case u8: return integer_text<std::uint8_t>(at);
    case i8: return integer_text<std::int8_t>(at);
    case i16: return integer_text<std::int16_t>(at);
    case u16: return integer_text<std::uint16_t>(at);
    case i32: return integer_text<std::int32_t>(at);
    case u32: return integer_text<std::uint32_t>(at);
    case i64: return integer_text<std::int64_t>(at);
    case u64: return integer_text<std::uint64_t>(at);
    default: break;
  }
  double parts[2] = {};
  to_doubles(at, 1, dtype, parts);
  return is_complex(dtype) ? fmt::format("{:.17g}{:+.17g}i", parts[0], parts[1])
                           : fmt::format("{:.17g}", parts[0]);
}

std::string elements_text(Dtype dtype, const Bytes& bytes) {
  const std::size_t size = itemsize(dtype), count = bytes.size() / size;
  std::string text;
  for (std::size_t i = 0; i < std::min(count, most_numbers); ++i)
    text += (i == 0 ? "" : ", ") + element_text(dtype, bytes.data() + i * size);
  if (count > most_numbers) text += fmt::format(", ... ({} in all)", count);
  return "[" + text + "]";
}

std::string shape_text(const Sizes& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

void show_inputs(const Problem& problem) {
  for (std::size_t i = 0; i < problem.tensors.size(); ++i) {
    const Laid& laid = problem.tensors[i];
    fmt::print("input {}: {} {}, strides {}, offset {}\n  {}\n", i, short_name(laid.dtype),
               shape_text(laid.shape), shape_text(laid.strides), laid.offset,
               elements_text(laid.dtype, packed_elements(laid)));
  }
}

std::string bounds_text(const ExpectedTensor& expected) {
  if (expected.bound.empty())
    return expected.ulp == 0 ? "bit for bit" : fmt::format("{:.3g} ulp", expected.ulp);
  const auto [least, most] = std::minmax_element(expected.bound.begin(), expected.bound.end());
  return fmt::format("bounds from {:.3g} to {:.3g}", *least, *most);
}

std::string wide_text(const ExpectedTensor& expected) {
  if (!expected.wide.defined()) return "(values are not determined)";
  const auto* data = static_cast<const unsigned char*>(expected.wide.data_ptr());
  const std::size_t bytes =
      static_cast<std::size_t>(expected.wide.numel()) * expected.wide.itemsize();
  return elements_text(expected.wide.dtype(), {data, data + bytes});
}

void show_results(const Expected& expected) {
  if (!expected.error.empty()) fmt::print("expected: an error that names \"{}\"\n", expected.error);
  for (std::size_t i = 0; i < expected.results.size(); ++i) {
    const ExpectedTensor& result = expected.results[i];
    fmt::print("expected {}: {} {}, {} ({})\n  {}\n", i, short_name(result.dtype),
               shape_text(result.shape), result.rule, bounds_text(result), wide_text(result));
  }
}

// Long bytes say how many they are; the rest is the protocol's.
Json without_bytes(Json step) {
  for (auto& [key, value] : step.items())
    if (value.is_binary()) value = fmt::format("({} bytes)", value.get_binary().size());
  return step;
}

// In the dtype of the expected result that has so many bytes, else as they are.
std::string answer_bytes_text(const Bytes& bytes, const Expected& expected) {
  for (const ExpectedTensor& result : expected.results) {
    const std::int64_t count = numel_of(result.shape) * itemsize(result.dtype);
    if (static_cast<std::size_t>(count) == bytes.size()) return elements_text(result.dtype, bytes);
  }
  const Dtype dtype = expected.results.empty() ? u8 : expected.results[0].dtype;
  return fmt::format("as {} {}", short_name(dtype), elements_text(dtype, bytes));
}

void show_answers(const Json& script, const Json& answer, const Expected& expected) {
  const Json& steps = script.at("steps");
  for (std::size_t i = 0; i < steps.size(); ++i) {
    fmt::print("> {}\n", without_bytes(steps[i]).dump());
    const std::size_t num_results = answer.contains("steps") ? answer["steps"].size() : 0;
    if (i >= num_results) {
      if (i == num_results) fmt::print("  no answer\n");
      continue;
    }
    const Json& result = answer["steps"][i];
    if (!result.empty()) fmt::print("< {}\n", without_bytes(result).dump());
    if (result.contains("bytes") && result["bytes"].is_binary())
      fmt::print("  {}\n", answer_bytes_text(result["bytes"].get_binary(), expected));
  }
  if (answer.contains("watch")) fmt::print("instruments: {}\n", answer["watch"].dump());
  if (answer.contains("failed")) fmt::print("failed: {}\n", answer["failed"].dump());
}

Expected expected_of(const Case& one, const Problem& problem, const Subject& subject) {
  try {
    return expect(problem, one, subject.numerics, one.form == "grad");
  } catch (const std::exception& why) {
    fmt::print("nothing is expected by itself: {}\n", why.what());
    return {};
  }
}

}  // namespace

void show_case(const Case& one, const Subject& subject, const std::vector<Json>& scripts,
               const std::vector<Json>& answers) {
  Expected expected;
  fmt::print("{}\n", name_of(one));
  if (one.lane != Lane::probe) {
    const Problem problem = decisive_problem(one, subject.numerics);
    show_inputs(problem);
    expected = expected_of(one, problem, subject);
    show_results(expected);
  }
  for (std::size_t i = 0; i < scripts.size(); ++i) {
    if (i > 0 && i < answers.size() && answers[i] == answers[0]) {
      fmt::print("script {}: the same answers\n", i);
      continue;
    }
    fmt::print("script {}, memory filled with {}:\n", i, scripts[i].value("poison", 0));
    show_answers(scripts[i], i < answers.size() ? answers[i] : Json::object(), expected);
  }
}

void show_rules(const Case& one, const Subject& subject) {
  const Problem problem = decisive_problem(one, subject.numerics);
  const Expected expected = expected_of(one, problem, subject);
  if (!expected.error.empty())
    fmt::print("decided by: an error that names \"{}\"\n", expected.error);
  for (std::size_t i = 0; i < expected.results.size(); ++i)
    fmt::print("result {}, {} {}: {}; {}\n", i, short_name(expected.results[i].dtype),
               shape_text(expected.results[i].shape), expected.results[i].rule,
               bounds_text(expected.results[i]));
}

}  // namespace bp::conform

// Names of cases: written, and read back.
#include "cases/case.hpp"

#include <charconv>

#include <backplane/tensor/error.hpp>

#include "cases/classify.hpp"
#include "inputs/element.hpp"

namespace bp::conform {
namespace {

[[noreturn]] void refuse_name(std::string_view name, const std::string& why) {
  throw_error(
      ErrorClass::bad_argument,
      "'" + std::string(name) + "' is not a case: " + why +
          "; a case is lane:op[dtype]/shape/layouts/values/form@seed, or probe:name/what@seed");
}

std::string_view lane_name(Lane lane) {
  return lane == Lane::direct ? "direct" : lane == Lane::core ? "core" : "probe";
}

// Takes what is before the separator, which must be there.
std::string take_until(std::string_view name, std::string_view& rest, char separator,
                       const char* what) {
  const std::size_t end = rest.find(separator);
  if (end == rest.npos) refuse_name(name, std::string("it has no ") + what);
  std::string part(rest.substr(0, end));
  rest.remove_prefix(end + 1);
  return part;
}

void read_probe(std::string_view rest, Case& one) {
  std::string* const parts[] = {&one.op, &one.shape, &one.layouts, &one.values, &one.form};
  for (std::string* part : parts) {
    const std::size_t end = part == &one.form ? rest.npos : rest.find('/');
    *part = rest.substr(0, end);
    if (end == rest.npos) return;
    rest.remove_prefix(end + 1);
  }
}

void read_row(std::string_view name, std::string_view rest, Case& one) {
  one.op = take_until(name, rest, '[', "dtype in brackets");
  const std::string dtype = take_until(name, rest, ']', "end of its brackets");
  if (!dtype_of_short_name(dtype, one.dtype))
    refuse_name(name, "there is no dtype '" + dtype + "'");
  if (rest.empty() || rest[0] != '/') refuse_name(name, "'/' does not follow the dtype");
  rest.remove_prefix(1);
  one.shape = take_until(name, rest, '/', "layouts");
  one.layouts = take_until(name, rest, '/', "values");
  one.values = take_until(name, rest, '/', "form");
  one.form = rest;
  if (one.op.empty() || one.layouts.empty() || one.values.empty() || one.form.empty() ||
      one.form.find('/') != std::string::npos)
    refuse_name(name, "it has not five parts");
}

}  // namespace

std::string name_of(const Case& one) {
  std::string name(lane_name(one.lane));
  name += ':' + one.op;
  if (one.lane == Lane::probe) {
    std::string parts = '/' + one.shape + '/' + one.layouts + '/' + one.values + '/' + one.form;
    while (!parts.empty() && parts.back() == '/') parts.pop_back();
    name += parts;
  } else {
    name += '[';
    name += short_name(one.dtype);
    name += "]/" + one.shape + '/' + one.layouts + '/' + one.values + '/' + one.form;
  }
  return name + '@' + std::to_string(one.seed);
}

Case read_case(std::string_view name) {
  Case one;
  std::string_view rest = name;
  const std::string lane = take_until(name, rest, ':', "lane");
  if (lane == "direct" || lane == "core")
    one.lane = lane == "direct" ? Lane::direct : Lane::core;
  else if (lane == "probe")
    one.lane = Lane::probe;
  else
    refuse_name(name, "there is no lane '" + lane + "' (direct, core, probe)");
  const std::size_t at = rest.rfind('@');
  if (at == rest.npos) refuse_name(name, "it has no seed");
  const std::string_view seed = rest.substr(at + 1);
  const auto [end, error] = std::from_chars(seed.data(), seed.data() + seed.size(), one.seed);
  if (error != std::errc() || end != seed.data() + seed.size() || seed.empty())
    refuse_name(name, "its seed '" + std::string(seed) + "' is not a number");
  rest = rest.substr(0, at);
  if (rest.empty()) refuse_name(name, "nothing is named");
  if (one.lane == Lane::probe)
    read_probe(rest, one);
  else
    read_row(name, rest, one);
  classify(one);
  return one;
}

}  // namespace bp::conform

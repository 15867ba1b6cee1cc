#include <algorithm>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>

#include <backplane/dispatcher/named.hpp>
#include <backplane/dispatcher/registry.hpp>
#include <backplane/tensor/check.hpp>

#include "devices_differ.hpp"
#include "in_place.hpp"

namespace bp {
namespace {

// Does the sentence lose what it is about without the name of the operator inside? What a plugin said of
// its own kernel would.
bool is_about_a_kernel(ErrorClass error_class) {
  return error_class != ErrorClass::bad_argument && error_class != ErrorClass::unsupported &&
         error_class != ErrorClass::out_of_memory;
}

// Functions that are not operators, and that operators are made of.
bool is_function_inside(std::string_view name) {
  constexpr std::string_view all[] = {"to", "empty_strided", "promotion", "copy_into", "item"};
  return std::find(std::begin(all), std::end(all), name) != std::end(all);
}

// "add", and "add_" as well.
bool is_operator(std::string_view name) {
  return find_operator(name) ||
         (name.ends_with('_') && find_operator(name.substr(0, name.size() - 1)));
}

std::string named_sentence(std::string_view op, const Error& error) {
  const std::string_view text = error.what();
  const std::size_t colon = text.find(": ");
  const std::string_view first = text.substr(0, colon);
  if (colon == std::string_view::npos || is_about_a_kernel(error.error_class()) ||
      !(is_operator(first) || is_function_inside(first)))
    return fmt::format("{}: {}", op, text);
  return fmt::format("{}{}", op, text.substr(colon));
}

[[noreturn]] void throw_out_of_host_memory(const char* op) {
  throw_error(
      ErrorClass::out_of_memory,
      fmt::format("{}: the host has no memory for the lists of this call; ask for less", op));
}

}  // namespace

void rethrow_named(const char* op) {
  try {
    throw;
  } catch (const Error& error) {
    const std::string_view text = error.what(), name = op;
    if (error.is_late() || (text.starts_with(name) && text.substr(name.size()).starts_with(": ")))
      throw;
    throw_error(error.error_class(), named_sentence(name, error));
  } catch (const std::bad_alloc&) {
    throw_out_of_host_memory(op);
  } catch (const std::length_error&) {
    throw_out_of_host_memory(op);
  }
}

void rethrow_in_place(const char* op) {
  try {
    throw;
  } catch (const Error& error) {
    const std::string_view text = error.what(), name = op;
    if (error.is_late() || !text.starts_with(name) || !text.substr(name.size()).starts_with(": "))
      throw;
    const std::string sentence = fmt::format("{}_{}", name, text.substr(name.size()));
    if (dynamic_cast<const DevicesDiffer*>(&error)) throw DevicesDiffer(sentence);
    throw_error(error.error_class(), sentence);
  }
}

}  // namespace bp

#include <algorithm>

#include <backplane/nn/containers.hpp>
#include <backplane/tensor/check.hpp>
#include <backplane/tensor/dtype.hpp>

#include "printing.hpp"
#include "type_names.hpp"

namespace bp::nn {
namespace {

template <class Entries> auto place_of(Entries& entries, const std::string& name) {
  return std::find_if(entries.begin(), entries.end(),
                      [&](const auto& entry) { return entry.first == name; });
}

template <class Entries> std::vector<std::string> names_in(const Entries& entries) {
  std::vector<std::string> names;
  for (const auto& entry : entries) names.push_back(entry.first);
  return names;
}

void check_entry_name(const char* container, const std::string& name) {
  BP_CHECK(!name.empty() && name.find('.') == std::string::npos,
           "{}: '{}' cannot name an entry; a name is not empty and has no dot", container, name);
}

template <class Entries, class Value>
void put(const char* container, Entries& entries, const std::string& name, Value value) {
  check_entry_name(container, name);
  if (const auto place = place_of(entries, name); place != entries.end())
    place->second = std::move(value);
  else
    entries.emplace_back(name, std::move(value));
}

template <class Entries>
const auto& entry_named(const char* container, const Entries& entries, const std::string& name) {
  const auto place = place_of(entries, name);
  BP_CHECK(place != entries.end(), "{}: no '{}' among its {} entries: {}", container, name,
           entries.size(), fmt::join(names_in(entries), ", "));
  return place->second;
}

// As PyTorch prints a parameter within a list of them.
std::string parameter_line(const std::string& name, const Parameter& parameter) {
  if (!parameter.defined()) return fmt::format("({}): None", name);
  return fmt::format("({}): Parameter containing: [torch.{} of size {}]", name,
                     bp::name(parameter.dtype()), fmt::join(parameter.shape(), "x"));
}

}  // namespace

void detail::throw_other_module(const Module& module, const std::type_info& wanted) {
  throw_error(ErrorClass::bad_argument,
              fmt::format("the module is a {}, not a {}; ask for its own type", module.type_name(),
                          readable_type_name(wanted)));
}

void detail::throw_moved_from() {
  throw_error(ErrorClass::bad_argument,
              "AnyModule: its module was moved away; assign another one first");
}

Sequential::Sequential(std::initializer_list<Entry> modules) {
  for (const auto& [name, module] : modules) append(name, module);
}

void Sequential::append(std::string name, AnyModule module) {
  check_entry_name("Sequential", name);
  BP_CHECK(std::none_of(modules_.begin(), modules_.end(),
                        [&](const auto& one) { return one.first == name; }),
           "Sequential: there are two modules named '{}'; give each its own name", name);
  modules_.emplace_back(std::move(name), std::move(module));
}

Module& Sequential::operator[](std::size_t index) {
  return const_cast<Module&>(std::as_const(*this)[index]);
}

const Module& Sequential::operator[](std::size_t index) const {
  BP_CHECK(index < modules_.size(), "Sequential: no module {} of {}; count from 0", index,
           modules_.size());
  return *modules_[index].second;
}

void Sequential::list_parts(Parts& parts) {
  for (const auto& [name, module] : modules_) parts.module(name, *module);
}

Tensor Sequential::forward(const Tensor& x) const {
  Tensor result = x;
  for (const auto& [name, module] : modules_) result = (*module)(result);
  return result;
}

void ModuleList::extend(const ModuleList& others) {
  const std::vector<AnyModule> copies = others.modules_;  // it may be this list
  modules_.insert(modules_.end(), copies.begin(), copies.end());
}

void ModuleList::insert(std::size_t index, AnyModule module) {
  BP_CHECK(index <= size(), "ModuleList: no place {} among {} modules; the last one is {}", index,
           size(), size());
  modules_.insert(modules_.begin() + static_cast<std::ptrdiff_t>(index), std::move(module));
}

const Module& ModuleList::operator[](std::size_t index) const {
  BP_CHECK(index < size(), "ModuleList: no module {} of {}; count from 0", index, size());
  return *modules_[index];
}

void ModuleList::list_parts(Parts& parts) {
  for (std::size_t i = 0; i < size(); ++i) parts.module(std::to_string(i), *modules_[i]);
}

std::string ModuleList::printed() const {
  std::vector<std::string> entries;
  for (const AnyModule& module : modules_) entries.push_back(module->printed());
  return in_parentheses(printed_name(*this), folded(entries));
}

ModuleDict::ModuleDict(std::initializer_list<Entry> modules) {
  for (const auto& [name, module] : modules) set(name, module);
}

void ModuleDict::set(const std::string& name, AnyModule module) {
  put("ModuleDict", modules_, name, std::move(module));
}

void ModuleDict::erase(const std::string& name) {
  std::erase_if(modules_, [&](const Entry& entry) { return entry.first == name; });
}

bool ModuleDict::contains(const std::string& name) const {
  return place_of(modules_, name) != modules_.end();
}

std::vector<std::string> ModuleDict::keys() const {
  return names_in(modules_);
}

const Module& ModuleDict::operator[](const std::string& name) const {
  return *entry_named("ModuleDict", modules_, name);
}

void ModuleDict::list_parts(Parts& parts) {
  for (const auto& [name, module] : modules_) parts.module(name, *module);
}

void ParameterList::extend(const ParameterList& others) {
  const std::vector<Parameter> copies = others.parameters_;
  parameters_.insert(parameters_.end(), copies.begin(), copies.end());
}

const Parameter& ParameterList::operator[](std::size_t index) const {
  BP_CHECK(index < size(), "ParameterList: no parameter {} of {}; count from 0", index, size());
  return parameters_[index];
}

void ParameterList::list_parts(Parts& parts) {
  for (std::size_t i = 0; i < size(); ++i) parts.parameter(std::to_string(i), parameters_[i]);
}

std::string ParameterList::printed() const {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < size(); ++i)
    lines.push_back(parameter_line(std::to_string(i), parameters_[i]));
  return in_parentheses(printed_name(*this), lines);
}

ParameterDict::ParameterDict(std::initializer_list<Entry> parameters) {
  for (const auto& [name, parameter] : parameters) set(name, parameter);
}

void ParameterDict::set(const std::string& name, Parameter parameter) {
  put("ParameterDict", parameters_, name, std::move(parameter));
}

void ParameterDict::erase(const std::string& name) {
  std::erase_if(parameters_, [&](const Entry& entry) { return entry.first == name; });
}

bool ParameterDict::contains(const std::string& name) const {
  return place_of(parameters_, name) != parameters_.end();
}

std::vector<std::string> ParameterDict::keys() const {
  return names_in(parameters_);
}

const Parameter& ParameterDict::operator[](const std::string& name) const {
  return entry_named("ParameterDict", parameters_, name);
}

void ParameterDict::list_parts(Parts& parts) {
  for (auto& [name, parameter] : parameters_) parts.parameter(name, parameter);
}

std::string ParameterDict::printed() const {
  std::vector<std::string> lines;
  for (const auto& [name, parameter] : parameters_)
    lines.push_back(parameter_line(name, parameter));
  return in_parentheses(printed_name(*this), lines);
}

}  // namespace bp::nn

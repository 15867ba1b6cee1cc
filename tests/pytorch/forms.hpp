// Public functions that are not rows, or take more than their row's call: they are called by name as rows are, of a schema
// of their own.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include <backplane/dispatcher/schema.hpp>
#include <backplane/tensors.hpp>

namespace bp::test {

// A call's values, as the schema has them.
class Given {
 public:
  explicit Given(std::span<const bp_value> values) : values_(values) {}

  Tensor tensor(std::size_t at) const;
  std::vector<Tensor> tensors(std::size_t at) const;
  std::optional<std::int64_t> integer(std::size_t at) const;
  double real(std::size_t at) const;
  bool flag(std::size_t at) const { return values_[at].u.i != 0; }
  IntList integers(std::size_t at) const;
  bool has(std::size_t at) const { return values_[at].tag != BP_NONE; }
  std::string_view text(std::size_t at) const;
  std::optional<Dtype> dtype(std::size_t at) const;

 private:
  std::span<const bp_value> values_;
};

struct Form {
  const char* schema;
  std::vector<Tensor> (*call)(const Given& given);
};

std::span<const Form> forms();
// Null if there is none of this name.
const Form* find_form(std::string_view name);

}  // namespace bp::test

// Schemas: one line of text with an operator's arguments and results.
//   add(Tensor input, Tensor other, *, Scalar alpha=1) -> Tensor
//   sort(Tensor input, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)
//   index(Tensor input, Tensor?[] indices) -> Tensor
//   unbind(Tensor input, int dim=0) -> Tensor[]
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <backplane/abi.h>
#include <backplane/tensor/api.hpp>

namespace bp {

enum class ArgumentType : std::uint8_t {
  tensor,
  tensor_list,
  scalar,
  integer,
  integer_list,
  real,       // "float"
  real_list,  // "float[]"
  boolean,
  string,
  dtype,
  device,
  generator,
};

struct SchemaArgument {
  std::string name;
  ArgumentType type = ArgumentType::tensor;
  bool optional = false;  // "Tensor?": may be None
  bool holes = false;     // "Tensor?[]": elements may be None
  bool keyword_only = false;
  bool has_default = false;
  std::string default_text;
  // The default as a value; lists and strings point into this struct.
  bp_value default_value{};
  std::vector<std::int64_t> default_list;
};

struct SchemaReturn {
  std::string name;  // may be empty
  ArgumentType type = ArgumentType::tensor;
};

struct Schema {
  std::string text;        // as written
  std::uint64_t hash = 0;  // by which kernels name it: of `text`, or of an operator's `hash_of`
  std::string name;
  std::vector<SchemaArgument> arguments;
  std::vector<SchemaReturn> returns;  // a Tensor[] comes last

  Schema() = default;
  Schema(const Schema&) = delete;  // default values point into it
  Schema& operator=(const Schema&) = delete;

  // The name at the beginning of a schema; the rest is not parsed.
  static std::string_view name_in(std::string_view text) { return text.substr(0, text.find('(')); }

  // The position of an argument by name, or -1.
  BP_API int find(std::string_view argument) const;
  bool returns_list() const {
    return !returns.empty() && returns.back().type == ArgumentType::tensor_list;
  }
};

// Fills `out`; throws bad_argument quoting the text and the place.
BP_API void parse_schema(std::string_view text, Schema& out);

// Whether they are the same except for the names of arguments and results.
BP_API bool differ_in_names_alone(const Schema& a, const Schema& b);

// FNV-1a over the bytes.
constexpr std::uint64_t schema_hash(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return hash;
}

}  // namespace bp

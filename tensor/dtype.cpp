// Names of element types and their DLPack descriptions: one row per type.
#include <ostream>

#include <backplane/tensor/check.hpp>
#include <backplane/tensor/dtype.hpp>

namespace bp {
namespace {

// DLPack's DLDataTypeCode.
enum Code : std::uint8_t {
  code_int = 0,
  code_uint = 1,
  code_float = 2,
  code_bfloat = 4,
  code_complex = 5,
  code_bool = 6,
  code_float8_e4m3fn = 10,
  code_float8_e5m2 = 12,
};

struct Row {
  Dtype dtype;
  std::string_view name;
  std::string_view short_name;
  std::string_view alias;  // PyTorch's second name
  Code code;
};

constexpr Row rows[num_dtypes] = {
    {boolean, "bool", "boolean", {}, code_bool},
    {u8, "uint8", "u8", {}, code_uint},
    {i8, "int8", "i8", {}, code_int},
    {i16, "int16", "i16", "short", code_int},
    {i32, "int32", "i32", "int", code_int},
    {i64, "int64", "i64", "long", code_int},
    {u16, "uint16", "u16", {}, code_uint},
    {u32, "uint32", "u32", {}, code_uint},
    {u64, "uint64", "u64", {}, code_uint},
    {f16, "float16", "f16", "half", code_float},
    {bf16, "bfloat16", "bf16", {}, code_bfloat},
    {f32, "float32", "f32", "float", code_float},
    {f64, "float64", "f64", "double", code_float},
    {complex64, "complex64", "c64", "cfloat", code_complex},
    {complex128, "complex128", "c128", "cdouble", code_complex},
    {f8_e4m3fn, "float8_e4m3fn", "f8_e4m3fn", {}, code_float8_e4m3fn},
    {f8_e5m2, "float8_e5m2", "f8_e5m2", {}, code_float8_e5m2},
};

constexpr bool rows_are_in_order() {
  for (unsigned i = 0; i < num_dtypes; ++i)
    if (index(rows[i].dtype) != i) return false;
  return true;
}
static_assert(rows_are_in_order());

}  // namespace

void check_is_dtype(const char* op, Dtype dtype) {
  BP_CHECK(index(dtype) < num_dtypes, "{}: {} is not the number of a dtype; pass one of bp::Dtype",
           op, index(dtype));
}

std::string to_string(Dtype dtype) {
  return std::string(name(dtype));
}

std::ostream& operator<<(std::ostream& stream, Dtype dtype) {
  return stream << name(dtype);
}

std::string_view name(Dtype dtype) {
  return index(dtype) < num_dtypes ? rows[index(dtype)].name : "no dtype";
}

Dtype dtype_from_name(std::string_view name) {
  for (const Row& row : rows)
    if (!name.empty() && (name == row.name || name == row.short_name || name == row.alias))
      return row.dtype;
  std::string known;
  for (const Row& row : rows) known += fmt::format("{}{}", known.empty() ? "" : ", ", row.name);
  throw_error(ErrorClass::bad_argument,
              fmt::format("dtype: no type is called '{}'; there are {}", name, known));
}

}  // namespace bp

// A machine for the pickles that torch.save writes: it makes values and calls nothing. It knows no tensor and no file, so that
// it can be fuzzed alone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <backplane/tensor/dtype.hpp>

namespace bp::serialize {

inline constexpr std::uint64_t most_pickle_bytes = 64 << 20;
inline constexpr std::size_t most_pickle_values = 1'000'000;

// Where a tensor's elements lie: a member of the archive.
struct PickledStorage {
  std::string key;
  bool has_dtype = false;  // an untyped one is counted in bytes
  Dtype dtype = Dtype::u8;
  std::uint64_t numel = 0;
};
struct PickledTensor {
  std::size_t storage = 0;
  Dtype dtype = Dtype::f32;
  std::int64_t offset = 0;  // in elements, as sizes and strides
  std::vector<std::int64_t> sizes, strides;
};

// Values hold one another by number, so that a list may be in two places, or in itself.
struct PickledValue {
  enum class Kind : std::uint8_t {
    none,
    boolean,
    integer,
    real,
    text,
    bytes,
    list,
    tuple,
    dict,  // keys and values in turn
    tensor,
    // In a whole pickle, never a value of the user's:
    global,  // the name of a function or class
    storage,
    mark,
  };
  Kind kind = Kind::none;
  bool is_ordered_dict = false;
  std::int64_t integer = 0;  // of tensors and storages, their number
  double real = 0;
  std::string text;
  std::vector<std::uint32_t> items;
};

struct Pickle {
  std::vector<PickledValue> values;
  std::vector<PickledStorage> storages;
  std::vector<PickledTensor> tensors;
  std::uint32_t root = 0;
  std::size_t num_items =
      0;  // put into containers so far, again and again by short pickles that mean harm
};

// Throws bad_argument, beginning with `file`, for anything that is not such a pickle, and for globals by their names.
// Shapes agree with their storages' numel in the result.
Pickle run_pickle(std::string_view bytes, const std::string& file);

// What a machine may be asked to do with a global. Adds its result to `pickle`. pickle_globals.cpp has the list.
bool is_known_global(std::string_view name);
std::uint32_t call_global(Pickle& pickle, const std::string& name, std::uint32_t arguments,
                          const std::string& file);
// A class's instance gets its attributes, which are left out where the class may have some.
void build_global(const Pickle& pickle, std::uint32_t object, const std::string& file);
// What stands behind a persistent id, a tuple ('storage', class, key, location, numel).
std::uint32_t load_storage(Pickle& pickle, std::uint32_t id, const std::string& file);

// Counts what goes into a container; throws when it is too much.
void count_items(Pickle& pickle, std::size_t num_items, const std::string& file);

// Is it the name of a dtype, "torch.float32"?
bool is_dtype_name(std::string_view name);

// Adds a value and returns its number; throws when there are too many.
std::uint32_t add_value(Pickle& pickle, PickledValue value, const std::string& file);

// "a dict", "a tuple" and so on, as sentences have it.
const char* kind_of(const PickledValue& value);

}  // namespace bp::serialize

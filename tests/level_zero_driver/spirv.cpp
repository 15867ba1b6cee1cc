#include "spirv.hpp"

#include <algorithm>
#include <cstring>

namespace over_opencl {
namespace {

// Numbers from the SPIR-V specification, of the instructions that matter here.
enum Opcode : uint32_t {
  op_entry_point = 15,
  op_execution_mode = 16,
  op_type_bool = 20,
  op_type_int = 21,
  op_type_float = 22,
  op_type_vector = 23,
  op_type_array = 28,
  op_type_struct = 30,
  op_type_pointer = 32,
  op_constant = 43,
  op_spec_constant_true = 48,
  op_spec_constant_false = 49,
  op_spec_constant = 50,
  op_function = 54,
  op_function_parameter = 55,
  op_function_end = 56,
  op_decorate = 71,
};
constexpr uint32_t magic = 0x07230203, header_words = 5;
constexpr uint32_t mode_local_size = 17;
constexpr uint32_t decoration_spec_id = 1, decoration_packed = 10;
constexpr uint32_t storage_workgroup = 4, storage_function = 7;

struct Type {
  size_t bytes = 0, alignment = 1;
  bool is_pointer = false;
  uint32_t storage = 0, pointee = 0;
};

// One instruction: its operands follow the first word.
struct Instruction {
  const uint32_t* words;
  uint32_t length;

  uint32_t opcode() const { return words[0] & 0xffff; }
  uint32_t operator[](uint32_t index) const { return index < length ? words[index] : 0; }
  // A literal string that begins at this word.
  std::string text(uint32_t index) const {
    if (index >= length) return {};
    const char* start = reinterpret_cast<const char*>(words + index);
    return std::string(start, strnlen(start, size_t{4} * (length - index)));
  }
};

class Parser {
 public:
  explicit Parser(SpirvModule& module) : module_(module) {}

  bool parse() {
    const std::vector<uint32_t>& words = module_.words;
    for (size_t at = header_words; at < words.size();) {
      const uint32_t length = words[at] >> 16;
      if (length == 0 || length > words.size() - at) return false;
      see({words.data() + at, length}, at);
      at += length;
    }
    name_constants();
    // One that is cut between two instructions lacks the end of a function, or whole ones.
    return !in_function_ && num_kernels_seen_ == module_.kernels.size();
  }

 private:
  void see(const Instruction& instruction, size_t at) {
    switch (instruction.opcode()) {
      case op_entry_point: see_entry_point(instruction); break;
      case op_execution_mode: see_execution_mode(instruction); break;
      case op_decorate: see_decoration(instruction); break;
      case op_constant: lengths_[instruction[2]] = instruction[3]; break;
      case op_spec_constant_true:
      case op_spec_constant_false:
      case op_spec_constant: see_constant(instruction, at); break;
      case op_function: see_function(instruction); break;
      case op_function_parameter: see_parameter(instruction); break;
      case op_function_end: in_function_ = false; break;
      default: see_type(instruction);
    }
  }

  void see_entry_point(const Instruction& instruction) {
    kernel_of_function_[instruction[2]] = module_.kernels.size();
    module_.kernels.push_back({instruction.text(3), {}, {0, 0, 0}});
  }

  void see_execution_mode(const Instruction& instruction) {
    const auto found = kernel_of_function_.find(instruction[1]);
    if (instruction[2] != mode_local_size || found == kernel_of_function_.end()) return;
    for (uint32_t i = 0; i < 3; ++i)
      module_.kernels[found->second].required_group[i] = instruction[3 + i];
  }

  void see_decoration(const Instruction& instruction) {
    if (instruction[2] == decoration_spec_id) spec_ids_[instruction[1]] = instruction[3];
    if (instruction[2] == decoration_packed) packed_[instruction[1]] = true;
  }

  void see_constant(const Instruction& instruction, size_t at) {
    const bool is_boolean = instruction.opcode() != op_spec_constant;
    const size_t bytes = is_boolean ? 1 : types_[instruction[1]].bytes;
    defined_[instruction[2]] = {
        at, is_boolean,
        std::min<size_t>(bytes,
                         4 * (instruction.length - std::min(instruction.length, 3u)) + is_boolean)};
    if (!is_boolean) lengths_[instruction[2]] = instruction[3];
  }

  void see_function(const Instruction& instruction) {
    const auto found = kernel_of_function_.find(instruction[2]);
    current_ = found == kernel_of_function_.end() ? no_kernel : found->second;
    num_kernels_seen_ += current_ != no_kernel;
    in_function_ = true;
  }

  void see_parameter(const Instruction& instruction) {
    if (!in_function_ || current_ == no_kernel) return;
    const Type& type = types_[instruction[1]];
    Parameter parameter{ParameterKind::value, type.bytes};
    // A structure that is given by value arrives as the address of the function's own copy.
    if (type.is_pointer && type.storage == storage_function) {
      parameter.bytes = types_[type.pointee].bytes;
    } else if (type.is_pointer) {
      parameter.kind =
          type.storage == storage_workgroup ? ParameterKind::local : ParameterKind::pointer;
    }
    module_.kernels[current_].parameters.push_back(parameter);
  }

  void see_type(const Instruction& instruction) {
    const uint32_t id = instruction[1];
    switch (instruction.opcode()) {
      case op_type_bool: types_[id] = {1, 1}; break;
      case op_type_int:
      case op_type_float: types_[id] = {instruction[2] / 8, instruction[2] / 8}; break;
      case op_type_vector: {
        // Of three elements it takes the place of four.
        const uint32_t count = instruction[3] == 3 ? 4 : instruction[3];
        const size_t bytes = types_[instruction[2]].bytes * count;
        types_[id] = {bytes, bytes};
        break;
      }
      case op_type_array: {
        const Type element = types_[instruction[2]];
        types_[id] = {element.bytes * lengths_[instruction[3]], element.alignment};
        break;
      }
      case op_type_pointer: types_[id] = {8, 8, true, instruction[2], instruction[3]}; break;
      case op_type_struct: types_[id] = structure(instruction); break;
      default: break;
    }
  }

  Type structure(const Instruction& instruction) {
    Type type;
    const bool is_packed = packed_.count(instruction[1]) != 0;
    for (uint32_t i = 2; i < instruction.length; ++i) {
      const Type& member = types_[instruction[i]];
      if (member.bytes == 0) return {};
      const size_t alignment = is_packed ? 1 : std::max<size_t>(1, member.alignment);
      type.alignment = std::max(type.alignment, alignment);
      type.bytes = (type.bytes + alignment - 1) / alignment * alignment + member.bytes;
    }
    type.bytes = (type.bytes + type.alignment - 1) / type.alignment * type.alignment;
    return type;
  }

  // Decorations come before what they decorate.
  void name_constants() {
    for (const auto& [id, spec_id] : spec_ids_)
      if (const auto found = defined_.find(id); found != defined_.end())
        module_.constants[spec_id] = found->second;
  }

  static constexpr size_t no_kernel = SIZE_MAX;
  SpirvModule& module_;
  size_t current_ = no_kernel, num_kernels_seen_ = 0;
  bool in_function_ = false;
  std::map<uint32_t, size_t> kernel_of_function_;
  std::map<uint32_t, Type> types_;
  std::map<uint32_t, uint32_t> lengths_;  // values of constants
  std::map<uint32_t, uint32_t> spec_ids_;
  std::map<uint32_t, bool> packed_;
  std::map<uint32_t, SpecializationConstant> defined_;
};

}  // namespace

bool SpirvModule::specialize(uint32_t id, const void* value) {
  const auto found = constants.find(id);
  if (found == constants.end()) return false;
  const SpecializationConstant& constant = found->second;
  uint32_t* instruction = words.data() + constant.first_word;
  if (constant.is_boolean) {
    const bool is_true = *static_cast<const unsigned char*>(value) != 0;
    const uint32_t opcode = is_true ? op_spec_constant_true : op_spec_constant_false;
    instruction[0] = (instruction[0] & 0xffff0000) | opcode;
  } else {
    std::memcpy(instruction + 3, value, constant.bytes);
  }
  return true;
}

std::optional<SpirvModule> parse_spirv(const void* code, size_t bytes) {
  if (bytes % 4 != 0 || bytes < size_t{4} * header_words) return std::nullopt;
  SpirvModule module;
  module.words.resize(bytes / 4);
  std::memcpy(module.words.data(), code, bytes);
  if (module.words[0] != magic || !Parser(module).parse()) return std::nullopt;
  return module;
}

}  // namespace over_opencl

// Runs programs over tensors: one tile after the other, each read where it lies if its elements are
// neighbours, else gathered into a register.
#include <algorithm>
#include <complex>
#include <cstring>

#include "../constants.hpp"
#include "rounding.hpp"
#include "tensor_view.hpp"
#include "threads.hpp"
#include "tile/move.hpp"
#include "tile/program.hpp"
#include "tile/space.hpp"
#include "tile/transpose.hpp"

namespace bp::cpu::tile {

void write_number(void* to, uint32_t dtype, double number) {
  visit_dtype(dtype, [&]<class T>(Tag<T>) {
    T value;
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      value = static_cast<T>(static_cast<int64_t>(number));  // so that -1 becomes the highest u8
    } else {
      value = static_cast<T>(static_cast<Wide<T>>(number));
    }
    std::memcpy(to, &value, sizeof(T));
  });
}

namespace {

constexpr int64_t line_bytes = 64;  // of a cache
// Inputs that are turned block by block, and columns of a block.
constexpr int turned_inputs = 2;
constexpr int64_t most_turned_columns = constants::turned_columns_bytes / 4;

void write_value(void* to, uint32_t dtype, const bp_value& number) {
  if (number.tag == BP_DOUBLE) return write_number(to, dtype, number.u.f);
  if (number.tag == BP_COMPLEX) {
    const auto* parts = static_cast<const double*>(number.u.ptr);
    if (dtype == BP_COMPLEX64) {
      const std::complex<float> value(static_cast<float>(parts[0]), static_cast<float>(parts[1]));
      std::memcpy(to, &value, sizeof(value));
    } else if (dtype == BP_COMPLEX128) {
      std::memcpy(to, parts, 16);
    } else {
      write_number(to, dtype, parts[0]);
    }
    return;
  }
  visit_dtype(dtype, [&]<class T>(Tag<T>) {
    if constexpr (is_complex<T>) {
      write_number(to, dtype, static_cast<double>(number.u.i));
    } else {
      const T value = static_cast<T>(static_cast<Wide<T>>(number.u.i));
      std::memcpy(to, &value, sizeof(T));
    }
  });
}

// Without the repetitions of what is broadcast.
int64_t bytes_in_memory(const bp_tensor& tensor) {
  int64_t bytes = tensor.itemsize;
  for (int32_t dim = 0; dim < tensor.dl.ndim; ++dim)
    if (tensor.dl.strides[dim] != 0) bytes *= tensor.dl.shape[dim];
  return bytes;
}

// A program's registers, on the stack of the thread that runs it.
class Machine {
 public:
  // Numbers and constants are filled for tiles of at most `count` elements. Bits of `repeated`: inputs that are one element for
  // all tiles. `streams`: the last step is to be the streaming one, if the program has that.
  Machine(const Program& program, const bp_call& call, int64_t count, uint32_t repeated = 0,
          bool streams = false)
      : program_(program) {
    choose_steps(call, count, repeated, streams);
    for (int i = 0; i < program.num_registers; ++i) registers_[i] = memory_[i];
    for (int i = 0; i < program.num_constants; ++i) {
      const Constant& constant = program.constants[i];
      fill_register(constant.reg, constant.value, constant.itemsize, count);
    }
    alignas(16) char number[16];
    for (int i = 0; i < program.num_inputs; ++i) {
      repeated_[i].count = 0;
      const bp_value& value = call.args[program.inputs[i].arg];
      if (value.tag == BP_TENSOR) continue;
      const bool is_wide = (program.wide_numbers >> program.inputs[i].arg & 1u) != 0;
      const uint32_t dtype = is_wide ? uint32_t{BP_F32} : dtype_of(program.inputs[i].is_mask);
      write_value(number, dtype, value);
      fill_register(i, number, itemsize_of(dtype), count);
    }
  }

  // Input `i` for the next `count` elements, which lie `stride` elements apart from `src` on.
  void read(int i, const char* src, int64_t stride, int64_t count) {
    const bool converts = program_.load && program_.inputs[i].is_mask == 0;
    if (stride == 1 || count == 1) {
      if (converts) {
        program_.load(memory_[i], src, count);
      } else {
        registers_[i] = const_cast<char*>(src);  // no step writes to an input
      }
      return;
    }
    registers_[i] = memory_[i];
    if (stride == 0) {
      read_repeated(i, src, converts, count);
    } else if (converts) {
      gather(raw_, src, itemsize(i), stride, count);
      program_.load(memory_[i], raw_, count);
    } else {
      gather(memory_[i], src, itemsize(i), stride, count);
    }
  }

  // The same for elements of several rows.
  void read_rows(int i, const char* base, const Space& space, int operand, const Position& from,
                 int64_t count) {
    registers_[i] = memory_[i];
    if (program_.load && program_.inputs[i].is_mask == 0) {
      gather_rows(raw_, base, itemsize(i), space, operand, from, count);
      program_.load(memory_[i], raw_, count);
    } else {
      gather_rows(memory_[i], base, itemsize(i), space, operand, from, count);
    }
  }

  // Runs the steps; the result lies where this returns. That is `out`, if it is not NULL. `streams`: by
  // the program's streaming step.
  const char* execute(char* out, int64_t count, bool streams = false) {
    const uint8_t result = program_.result();
    const bool in_register = out == nullptr || program_.store;
    registers_[result] = in_register ? memory_[result] : out;
    const int last = program_.num_steps - 1;
    for (int i = 0; i < last; ++i) run(program_.steps[i], chosen_[i], count);
    run(program_.steps[last], streams ? program_.streaming : chosen_[last], count);
    if (!program_.store) return registers_[result];
    char* to = out != nullptr ? out : raw_;
    program_.store(to, registers_[result], count);
    return to;
  }

  // Whether no element goes through a register, so that a tile may have any length; each input must be one run, or one element.
  bool is_direct() const {
    return program_.num_steps == 1 && !program_.load && !program_.store && filled_ == 0;
  }

  // A direct program's step, on inputs where they lie; NULL for those that are numbers.
  void run_direct(char* out, const char* const* inputs, int64_t count) {
    const Step& step = program_.steps[0];
    const uint8_t operands[] = {step.a, step.b, step.c};
    const void* from[3] = {};
    for (int k = 0; k < step.num_operands; ++k) {
      const uint8_t reg = operands[k];
      from[k] = reg < program_.num_inputs && inputs[reg] != nullptr ? inputs[reg] : memory_[reg];
    }
    chosen_[0](out, from[0], from[1], from[2], count);
  }

 private:
  // The numbered form of a step where its operands allow it. All others' numbers are to be filled into registers.
  void choose_steps(const bp_call& call, int64_t count, uint32_t repeated, bool streams) {
    if (count == 1 && program_.wide_numbers == 0) {  // nothing to gain, and calls are short
      for (int i = 0; i < program_.num_steps; ++i) chosen_[i] = program_.steps[i].run;
      filled_ = ~0u;
      return;
    }
    uint32_t single = program_.wide_numbers == 0 ? repeated : 0;
    for (int i = 0; i < program_.num_inputs; ++i)
      single |= uint32_t{call.args[program_.inputs[i].arg].tag != BP_TENSOR} << i;
    for (int i = 0; i < program_.num_constants; ++i) single |= 1u << program_.constants[i].reg;
    for (int i = 0; i < program_.num_steps; ++i) {
      const Step& step = program_.steps[i];
      const bool is_streaming = streams && i + 1 == program_.num_steps && program_.streaming;
      chosen_[i] = step.run;
      uint32_t numbers = 0;
      for (const Numbered& way : step.numbered) {
        if (is_streaming || way.run == nullptr || numbers != 0) continue;
        if (!are_single(step, way.operands, single)) continue;
        chosen_[i] = way.run;
        numbers = way.operands;
      }
      const uint8_t operands[] = {step.a, step.b, step.c};
      for (int k = 0; k < step.num_operands; ++k)
        if ((numbers >> k & 1u) == 0) filled_ |= (single | repeated) & 1u << operands[k];
    }
  }
  static bool are_single(const Step& step, uint8_t operands, uint32_t single) {
    const uint8_t registers[] = {step.a, step.b, step.c};
    for (int k = 0; k < 3; ++k)
      if ((operands >> k & 1) != 0 && (single >> registers[k] & 1u) == 0) return false;
    return true;
  }
  void run(const Step& step, Primitive primitive, int64_t count) {
    primitive(registers_[step.to], registers_[step.a], registers_[step.b], registers_[step.c],
              count);
  }
  // `value` has 16 bytes, whatever its type.
  void fill_register(int reg, const char* value, int64_t itemsize, int64_t count) {
    if (count == 1 || (filled_ >> reg & 1u) == 0) {
      std::memcpy(memory_[reg], value, 16);
    } else {
      fill(memory_[reg], value, itemsize, count);
    }
  }
  uint32_t dtype_of(bool is_mask) const {
    return is_mask ? uint32_t{BP_BOOL} : program_.compute_dtype;
  }
  int64_t itemsize(int i) const {
    return program_.inputs[i].is_mask ? 1 : itemsize_of(program_.dtype);
  }

  // One element for the whole tile: mostly the same as in the tile before.
  void read_repeated(int i, const char* src, bool converts, int64_t count) {
    if (repeated_[i].count >= count && repeated_[i].src == src) return;
    repeated_[i] = {src, count};
    if (converts) {
      char number[16];
      program_.load(number, src, 1);
      fill(memory_[i], number, itemsize_of(program_.compute_dtype), count);
    } else if ((filled_ >> i & 1u) == 0) {
      repeated_[i].count = INT64_MAX;
      std::memcpy(memory_[i], src, static_cast<size_t>(itemsize(i)));
    } else {
      fill(memory_[i], src, itemsize(i), count);
    }
  }

  struct Repeated {
    const char* src;
    int64_t count;
  };

  const Program& program_;
  uint32_t filled_ = 0;  // bits: registers of numbers that steps read like those of tensors
  Primitive chosen_[max_steps];
  char* registers_[max_registers];
  Repeated repeated_[max_inputs];
  alignas(64) char raw_[register_bytes];
  alignas(64) char memory_[max_registers][register_bytes];
};

// A call whose tensors do not all lie in one run, or that is large.
class LargeRun {
 public:
  LargeRun(const Program& program, const bp_call& call) : program_(program), call_(call) {
    const bp_tensor& out = *call.outputs[0];
    bases_[0] = data_of<char>(out);
    space_.set_shape(out);
    space_.add(out);
    int64_t read = 0;
    bool in_place = false;
    for (int i = 0; i < program.num_inputs; ++i) {
      const bp_value& value = call.args[program.inputs[i].arg];
      operand_[i] = -1;
      if (value.tag != BP_TENSOR) continue;
      operand_[i] = space_.num_operands;
      bases_[operand_[i]] = data_of<char>(*value.u.tensor);
      in_place |= bases_[operand_[i]] == bases_[0];
      itemsizes_[operand_[i]] = value.u.tensor->itemsize;
      read += bytes_in_memory(*value.u.tensor);
      space_.add(*value.u.tensor);
    }
    itemsizes_[0] = out.itemsize;
    space_.join();
    repeat_rows();
    for (int k = 0; k < space_.num_operands; ++k) in_one_run_[k] = space_.is_one_run(k);
    are_in_place_ = space_.inner_stride(0) == 1;
    for (int i = 0; i < program.num_inputs; ++i) {
      if (operand_[i] < 0) continue;
      const int64_t stride = space_.inner_stride(operand_[i]);
      are_in_place_ = are_in_place_ && (stride == 0 || stride == 1);
      repeated_ |= uint32_t{stride == 0} << i;
    }
    const bool long_rows = space_.inner_stride(0) == 1 &&
                           space_.inner() * itemsizes_[0] >= constants::streamed_row_bytes;
    streams_ = !in_place && long_rows && worth_streaming(read, out.numel * out.itemsize);
    find_turned();
  }

  LargeRun(const LargeRun&) = delete;  // its bases may lie in it

  void run() {
    if (num_turned_ > 0) {
      run_turned();
    } else if (space_.rank == 1 || space_.inner() >= constants::row_of_tiles) {
      run_rows();
    } else {
      parallel_for(space_.numel, program_.grain,
                   [this](int64_t begin, int64_t end) { gathered(begin, end); });
    }
  }

 private:
  void run_rows() {
    const int64_t inner = space_.inner();
    // One run is shared in pieces that begin at whole tiles; many rows, row by row.
    const int64_t piece = std::min(inner, program_.tile * constants::tiles_of_piece);
    const int64_t pieces = (inner + piece - 1) / piece;
    const int64_t grain = std::max<int64_t>(1, program_.grain / piece);
    parallel_for(space_.numel / inner * pieces, grain,
                 [&](int64_t begin, int64_t end) { rows(begin, end, piece, pieces); });
  }

  // A row that is the same for all others, such as a bias, is copied a few times, so that as many rows are one: steps are called for more
  // elements, and begin where lines of the cache do more often.
  void repeat_rows() {
    if (space_.rank != 2 || space_.numel < constants::repeated_row_elements) return;
    const int64_t rows = space_.shape[0], inner = space_.shape[1];
    int64_t bytes = 0;
    for (int k = 0; k < space_.num_operands; ++k) {
      const int64_t outer_stride = space_.strides[k][0], stride = space_.strides[k][1];
      if (outer_stride == 0 && stride == 1)
        bytes += inner * itemsizes_[k];
      else if (outer_stride != stride * inner || stride > 1)
        return;
    }
    if (bytes == 0) return;
    int64_t copies = std::min<int64_t>(rows / 4, sizeof(row_copies_) / bytes);
    while (copies > 1 && rows % copies != 0) --copies;
    if (copies <= 1) return;
    char* to = row_copies_;
    for (int k = 0; k < space_.num_operands; ++k) {
      if (space_.strides[k][0] == 0 && space_.strides[k][1] == 1) {
        const int64_t row_bytes = inner * itemsizes_[k];
        for (int64_t i = 0; i < copies; ++i)
          std::memcpy(to + i * row_bytes, bases_[k], static_cast<size_t>(row_bytes));
        bases_[k] = to;
        to += copies * row_bytes;
      }
      space_.strides[k][0] *= copies;
    }
    space_.shape[0] = rows / copies;
    space_.shape[1] = inner * copies;
  }

  // The pieces from `begin` to `end` of all rows.
  void rows(int64_t begin, int64_t end, int64_t piece, int64_t pieces) {
    const int64_t inner = space_.inner();
    Machine machine(program_, call_, std::min(inner, program_.tile), repeated_, streams_);
    if (pieces == 1 && space_.rank == 2 && !streams_ && are_in_place_ && machine.is_direct())
      return direct_rows(machine, begin, end);
    Position at;
    at.seek(space_, begin / pieces * inner);
    int64_t first = begin % pieces * piece;
    for (int64_t left = end - begin; left > 0;) {
      const int64_t in_row = std::min(left, pieces - first / piece);
      row(machine, at, first, std::min(inner, first + in_row * piece));
      left -= in_row;
      first = 0;
      at.next_outer(space_, space_.rank - 1);
    }
    if (streams_) finish_streaming();
  }

  void direct_row(Machine& machine, const Position& at, int64_t begin, int64_t end) {
    const char* inputs[max_inputs];
    for (int k = 0; k < program_.num_inputs; ++k)
      inputs[k] = operand_[k] >= 0 ? element(operand_[k], at, begin) : nullptr;
    machine.run_direct(element(0, at, begin), inputs, end - begin);
  }

  // Whole rows of a matrix, one after the other: nothing but the step, whose rows may be short.
  void direct_rows(Machine& machine, int64_t begin, int64_t end) {
    const char* inputs[max_inputs] = {};
    int64_t steps[max_operands];  // bytes from row to row
    for (int k = 0; k < space_.num_operands; ++k) steps[k] = space_.strides[k][0] * itemsizes_[k];
    for (int k = 0; k < program_.num_inputs; ++k)
      if (operand_[k] >= 0) inputs[k] = bases_[operand_[k]] + begin * steps[operand_[k]];
    char* out = bases_[0] + begin * steps[0];
    for (int64_t i = begin; i < end; ++i, out += steps[0]) {
      machine.run_direct(out, inputs, space_.inner());
      for (int k = 0; k < program_.num_inputs; ++k)
        if (operand_[k] >= 0) inputs[k] += steps[operand_[k]];
    }
  }

  void row(Machine& machine, const Position& at, int64_t begin, int64_t end) {
    const int64_t out_stride = space_.inner_stride(0);
    const bool from_register = streams_ && program_.streaming == nullptr;
    int64_t tile = program_.tile;
    if (from_register) tile = std::min(tile, constants::streamed_tile_bytes / itemsizes_[0]);
    if (!from_register && are_in_place_ && machine.is_direct()) {
      if (!streams_) return direct_row(machine, at, begin, end);
      tile = end - begin;
    }
    for (int64_t i = begin, count = 0; i < end; i += count) {
      char* out = element(0, at, i);
      count = std::min(end - i, tile);
      // The first tile is shortened until the others begin where lines of the cache do.
      const int64_t past_line = streams_ ? misaligned(out) : 0;
      if (past_line != 0) count = std::min(count, line_bytes / itemsizes_[0] - past_line);
      for (int k = 0; k < program_.num_inputs; ++k) {
        const int operand = operand_[k];
        if (operand >= 0)
          machine.read(k, element(operand, at, i), space_.inner_stride(operand), count);
      }
      if (out_stride == 1 && !from_register) {
        machine.execute(out, count, streams_ && past_line == 0);
        continue;
      }
      const char* result = machine.execute(nullptr, count);
      if (streams_) {
        stream(out, result, count * itemsizes_[0]);
      } else {
        scatter(out, result, itemsizes_[0], out_stride, count);
      }
    }
  }

  // Elements in the order of visits, across rows that are too short for a tile each.
  void gathered(int64_t begin, int64_t end) {
    Machine machine(program_, call_, std::min(end - begin, program_.tile));
    Position at;
    for (int64_t i = begin, count = 0; i < end; i += count) {
      count = std::min(end - i, program_.tile);
      at.seek(space_, i);
      for (int k = 0; k < program_.num_inputs; ++k) {
        const int operand = operand_[k];
        if (operand < 0) continue;
        if (in_one_run_[operand]) {
          machine.read(k, bases_[operand] + i * itemsizes_[operand], 1, count);
        } else {
          machine.read_rows(k, bases_[operand], space_, operand, at, count);
        }
      }
      if (in_one_run_[0]) {
        machine.execute(bases_[0] + i * itemsizes_[0], count);
      } else {
        scatter_rows(bases_[0], machine.execute(nullptr, count), itemsizes_[0], space_, 0, at,
                     count);
      }
    }
  }

  // ---- Inputs that run along another dimension than the result: read in place, each of their lines would be fetched for one element

  void find_turned() {
    const int last = space_.rank - 1;
    if (space_.inner_stride(0) != 1 || space_.inner() < constants::row_of_tiles) return;
    for (int i = 0; i < program_.num_inputs && num_turned_ < turned_inputs; ++i) {
      if (operand_[i] < 0) continue;
      const int64_t* const strides = space_.strides[operand_[i]];
      if (strides[last] == 0 || strides[last] == 1) continue;
      // Of 8 bytes by way of memory it takes 1.5 times as long as reading in place, of 2 and 4 a half to a quarter (Zen 3); in registers
      // of 8 four fifths (Zen 4).
      const int64_t of_line = line_bytes / itemsizes_[operand_[i]];
      if (of_line < constants::turned_side ||
          (of_line == constants::turned_side && !turns_in_registers()))
        continue;
      for (int dim = 0; dim < last; ++dim) {
        const bool is_other = num_turned_ > 0 && dim != turned_dim_;
        if (strides[dim] != 1 || space_.shape[dim] < constants::turned_side || is_other) continue;
        turned_dim_ = dim;
        turned_[num_turned_++] = i;
        turned_itemsize_ = std::max(turned_itemsize_, itemsizes_[operand_[i]]);
        break;
      }
    }
  }

  struct Block {
    int64_t row, column, rows, columns;
  };

  void run_turned() {
    Space outer = space_;
    const int64_t rows = space_.shape[turned_dim_], columns = space_.inner();
    outer.shape[turned_dim_] = outer.shape[space_.rank - 1] = 1;
    const int64_t block_rows = constants::turned_rows_bytes / turned_itemsize_;
    const int64_t block_columns = std::min({columns, program_.tile, most_turned_columns});
    const int64_t down = divide_up(rows, block_rows), across = divide_up(columns, block_columns);
    const int64_t grain = std::max<int64_t>(1, program_.grain / (block_rows * block_columns));
    parallel_for(
        space_.numel / (rows * columns) * down * across, grain, [&](int64_t begin, int64_t end) {
          Machine machine(program_, call_, block_columns, repeated_);
          Position at;
          for (int64_t i = begin; i < end; ++i) {
            at.seek(outer, i / (down * across));
            const int64_t row = i % down * block_rows, column = i / down % across * block_columns;
            turned_block(machine, at,
                         {row, column, std::min(block_rows, rows - row),
                          std::min(block_columns, columns - column)});
          }
          if (streams_) finish_streaming();
        });
  }

  void turned_block(Machine& machine, Position at, const Block& block) {
    alignas(64) char turned[turned_inputs][constants::turned_rows_bytes * most_turned_columns];
    const char* inputs[max_inputs] = {};
    for (int k = 0; k < space_.num_operands; ++k)
      at.offsets[k] += block.row * space_.strides[k][turned_dim_];
    for (int k = 0; k < num_turned_; ++k) {
      const int operand = operand_[turned_[k]];
      inputs[turned_[k]] = turned[k];
      transpose({turned[k], element(operand, at, block.column), block.columns,
                 space_.inner_stride(operand), block.rows, block.columns, itemsizes_[operand],
                 false});
    }
    for (int64_t row = 0; row < block.rows; ++row) {
      for (int i = 0; i < program_.num_inputs; ++i) {
        const int operand = operand_[i];
        if (inputs[i] != nullptr)
          machine.read(i, inputs[i] + row * block.columns * itemsizes_[operand], 1, block.columns);
        else if (operand >= 0)
          machine.read(i, element(operand, at, block.column), space_.inner_stride(operand),
                       block.columns);
      }
      char* const out = element(0, at, block.column);
      if (streams_)
        stream(out, machine.execute(nullptr, block.columns), block.columns * itemsizes_[0]);
      else
        machine.execute(out, block.columns);
      for (int k = 0; k < space_.num_operands; ++k) at.offsets[k] += space_.strides[k][turned_dim_];
    }
  }

  char* element(int operand, const Position& at, int64_t i) const {
    return bases_[operand] +
           (at.offsets[operand] + i * space_.inner_stride(operand)) * itemsizes_[operand];
  }
  int64_t misaligned(const char* out) const {
    return static_cast<int64_t>(reinterpret_cast<uintptr_t>(out) & 63) / itemsizes_[0];
  }

  const Program& program_;
  const bp_call& call_;
  Space space_;
  int operand_[max_inputs];  // of the space; -1 for a number
  char* bases_[max_operands];
  int64_t itemsizes_[max_operands];
  bool in_one_run_[max_operands];  // neighbours in memory are neighbours in the order of visits
  uint32_t repeated_ = 0;          // bits: inputs that are one element in each row
  bool are_in_place_ = false;  // the result's rows are runs, and the inputs' runs or one element
  bool streams_ = false;
  int turned_dim_ = 0, num_turned_ = 0;
  int turned_[turned_inputs];  // inputs whose elements are neighbours along turned_dim_
  int64_t turned_itemsize_ = 1;
  alignas(64) char row_copies_[constants::repeated_row_bytes];
};

// Everything in one run, on this thread. Apart from `run`, whose stack stays small.
[[gnu::noinline]] void run_contiguous(const Program& program, const bp_call& call,
                                      const char* const* inputs) {
  const bp_tensor& out = *call.outputs[0];
  Machine machine(program, call, std::min(out.numel, program.tile));
  const int64_t tile = machine.is_direct() ? out.numel : program.tile;
  const auto bytes_of = [&](int i, int64_t elements) {
    return elements == 0 || program.inputs[i].is_mask != 0 ? elements
                                                           : elements * itemsize_of(program.dtype);
  };
  for (int64_t at = 0; at < out.numel; at += tile) {
    const int64_t count = std::min(tile, out.numel - at);
    for (int i = 0; i < program.num_inputs; ++i) {
      if (inputs[i] != nullptr) machine.read(i, inputs[i] + bytes_of(i, at), 1, count);
    }
    machine.execute(data_of<char>(out) + at * out.itemsize, count);
  }
}

[[gnu::noinline]] void run_large(const Program& program, const bp_call& call) {
  LargeRun(program, call).run();
}

}  // namespace

void run(const Program& program, const bp_call& call) {
  const bp_tensor& out = *call.outputs[0];
  const char* inputs[max_inputs];
  bool all_tensors = true, all_contiguous = is_contiguous(out);
  for (int i = 0; i < program.num_inputs; ++i) {
    const bp_value& value = call.args[program.inputs[i].arg];
    if (value.tag != BP_TENSOR) {
      all_tensors = false;
      inputs[i] = nullptr;
      continue;
    }
    inputs[i] = data_of<char>(*value.u.tensor);
    all_contiguous &= is_contiguous(*value.u.tensor);
  }
  if (all_contiguous && all_tensors && program.is_direct && out.numel <= program.grain) {
    const Step& step = program.steps[0];
    step.run(data_of<char>(out), inputs[step.a], inputs[step.b], inputs[step.c], out.numel);
  } else if (all_contiguous && out.numel <= program.grain) {
    run_contiguous(program, call, inputs);
  } else {
    run_large(program, call);
  }
}

}  // namespace bp::cpu::tile

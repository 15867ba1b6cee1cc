// The loops over elements: flat or by strides, for processors and for others.
#include <algorithm>
#include <fmt/format.h>

#include "kinds/elementwise.hpp"

namespace bp::codegen {
namespace {

// Operand k lies at the address pk; by strides, its elements are counted from ak on.
class Writer {
 public:
  explicit Writer(const ElementwiseText& of) : of_(of), is_flat_(of.form.reach == Reach::flat) {}

  KernelText write() {
    const char* way = !is_flat_ ? "_strided" : streams() ? "_streamed" : "_flat";
    text_.name = function_name(of_.name + way);
    declare();
    text_.num_memory = of_.form.has_one_block ? 1 : num_tensors_;
    if (is_flat_)
      write_flat();
    else if (of_.for_cpu)
      write_pieces();
    else
      write_elements();
    return std::move(text_);
  }

 private:
  std::size_t num_operands() const { return of_.operands.size(); }
  bool streams() const { return of_.form.streams && of_.width > 1; }
  bool is_number(std::size_t operand) const { return of_.operands[operand].is_number; }
  int outer() const { return of_.form.rank_class - 1; }
  static std::string wide(std::string_view word, unsigned width) {
    return width == 1 ? std::string(word) : fmt::format("{}x{}", word, width);
  }

  void line(std::string_view code) { text_.body.append("  ").append(code).append("\n"); }

  // The number of elements and the starts, two in a word where they are narrow.
  void declare_flat() {
    std::size_t tensors = 0;
    for (const Operand& operand : of_.operands) tensors += !operand.is_number;
    if (of_.form.is_narrow)
      text_.values = {{"packed", false, static_cast<int>(tensors / 2 + 1)}};
    else
      text_.values = {{"n"}, {"start", false, static_cast<int>(tensors)}};
    line(of_.form.is_narrow ? "const i64 n = (i64)(u32)v.packed[0];" : "const i64 n = v.n;");
  }
  void declare() {
    if (is_flat_)
      declare_flat();
    else
      text_.values = {{"rows"},  {"inner"}, {"pieces"},     {"piece"},
                      {"share"}, {"outer"}, {"by_vectors"}, {"size", false, outer()}};
    for (std::size_t k = 0; k < num_operands(); ++k) {
      if (is_number(k)) continue;
      line(fmt::format("GLOBAL u8* const p{} = m{} + {};", k,
                       of_.form.has_one_block ? 0 : num_tensors_, start_of(k)));
      ++num_tensors_;
      if (is_flat_) continue;
      text_.values.push_back({fmt::format("step{}", k)});
      text_.values.push_back({fmt::format("stride{}", k), false, outer()});
    }
    for (std::size_t k = 1; k < num_operands(); ++k) {
      if (!is_number(k)) continue;
      const Dtype dtype = of_.operands[k].dtype;
      const std::string name = fmt::format("n{}", k);
      text_.values.push_back(number_field(name, dtype));
      line(fmt::format("const {} {} = {};", compute_type(dtype), name,
                       number_text("v." + name, dtype)));
    }
  }

  // Where the operand's tensor begins, in bytes.
  std::string start_of(std::size_t operand) {
    const unsigned tensor = num_tensors_;
    if (!is_flat_) {
      text_.values.push_back({fmt::format("start{}", operand)});
      return fmt::format("v.start{}", operand);
    }
    if (!of_.form.is_narrow) return fmt::format("v.start[{}]", tensor);
    return tensor % 2 == 0 ? fmt::format("(i64)((u64)v.packed[{}] >> 32)", tensor / 2)
                           : fmt::format("(i64)(u32)v.packed[{}]", tensor / 2 + 1);
  }

  std::string place_of(std::size_t operand, unsigned width) const {
    if (is_flat_) return flat_place_;
    if (width > 1) return fmt::format("a{} + i", operand);
    return fmt::format("a{0} + i * v.step{0}", operand);
  }

  std::string load_of(std::size_t operand, unsigned width) const {
    return fmt::format("load_{}(p{}, {})", wide(suffix(of_.operands[operand].dtype), width),
                       operand, place_of(operand, width));
  }
  // Of `flat`: what was loaded from there before.
  std::string taken(std::size_t operand) const {
    return fmt::format("of{}_{}", operand, flat_place_);
  }

  std::string value_of(std::size_t operand, unsigned width) const {
    const Dtype dtype = of_.operands[operand].dtype;
    const auto repeated = [&](std::string_view one) {
      if (width == 1) return std::string(one);
      return fmt::format("(({})({}))", wide(compute_type(dtype), width), one);
    };
    if (is_number(operand)) return repeated(fmt::format("n{}", operand));
    if (is_taken_) return taken(operand);
    std::string load = load_of(operand, width);
    if (width == 1 || is_flat_) return load;
    const std::string one = fmt::format("load_{0}(p{1}, a{1})", suffix(dtype), operand);
    return fmt::format("(v.step{} ? {} : {})", operand, load, repeated(one));
  }

  // One element, or `width` of them, `i` behind where the operands are.
  void write_step(unsigned width, const char* store = "store") {
    std::string statements;
    const std::string result = of_.step(
        width, [&](std::size_t operand) { return value_of(operand, width); }, statements);
    text_.body += statements;
    line(fmt::format("{}_{}(p0, {}, {});", store, wide(suffix(of_.operands[0].dtype), width),
                     place_of(0, width), result));
  }

  // From `i` up to `end`.
  void write_run() {
    if (of_.width > 1) {
      line(fmt::format("for (; {0}i + {1} <= end; i += {1}) {{", is_flat_ ? "" : "v.by_vectors && ",
                       of_.width));
      write_step(of_.width);
      line("}");
    }
    line("for (; i < end; ++i) {");
    write_step(1);
    line("}");
  }

  void write_flat() {
    if (!of_.for_cpu) {
      text_.body += flat_tiles(of_);
      return;
    }
    line(fmt::format("const i64 units = (n + {0} - 1) / {0};", unit_of_share));
    line(fmt::format("const i64 chunk = (units + items0 - 1) / items0 * {};", unit_of_share));
    line("i64 i = item0 * chunk;");
    line("const i64 end = i + chunk < n ? i + chunk : n;");
    if (streams()) write_streamed_run();
    write_run();
  }

  // Two pages in turns: a processor fetches ahead within a page alone, and each vector's chain of steps fills so much of
  // the window in which a core looks ahead that too few reads were under way (PoCL 3.1, tanh: 46 against 40 GB/s). A
  // buffer of the application's may begin anywhere: its elements go through the caches.
  void write_streamed_run() {
    std::uint32_t largest = 1;
    for (const Operand& operand : of_.operands)
      if (!operand.is_number) largest = std::max(largest, itemsize(operand.dtype));
    constexpr std::uint32_t page_bytes = 4096;
    const std::uint32_t page = page_bytes / largest;
    line(fmt::format("if ((size_t)p0 % {} == 0)", of_.width * itemsize(of_.operands[0].dtype)));
    line(fmt::format("for (; end - i >= {}; i += {})", 2 * page, page));
    line(fmt::format("for (const i64 turn = i + {0}; i < turn; i += {1}) {{", page, of_.width));
    line(fmt::format("const i64 i0 = i, i1 = i + {};", page));
    for (const char* place : {"i0", "i1"}) {
      flat_place_ = place;
      for (std::size_t k = 1; k < num_operands(); ++k)
        if (!is_number(k))
          line(fmt::format("const {} {} = {};",
                           wide(compute_type(of_.operands[k].dtype), of_.width), taken(k),
                           load_of(k, of_.width)));
    }
    is_taken_ = true;
    for (const char* place : {"i0", "i1"}) {
      flat_place_ = place;
      line("{");
      write_step(of_.width, "stream");
      line("}");
    }
    is_taken_ = false;
    flat_place_ = "i";
    line("}");
  }

  // The operands' places in row `row`, `first` elements into it.
  void write_places() {
    for (std::size_t k = 0; k < num_operands(); ++k)
      if (!is_number(k)) line(fmt::format("i64 a{0} = first * v.step{0};", k));
    const bool in_loop = of_.form.rank_class > 4;
    if (in_loop) line("for (i64 dim = v.outer - 1; dim >= 0; --dim) {");
    for (int dim = in_loop ? 0 : outer() - 1; dim >= 0; --dim) {
      if (dim == 0 && !in_loop) {
        add_places("row", "0");
        break;
      }
      const std::string at = in_loop ? "dim" : std::to_string(dim);
      line(fmt::format("const i64 rest{} = row / v.size[{}];", dim, at));
      add_places(fmt::format("(row - rest{} * v.size[{}])", dim, at), at);
      line(fmt::format("row = rest{};", dim));
    }
    if (in_loop) line("}");
  }
  void add_places(const std::string& index, const std::string& dim) {
    for (std::size_t k = 0; k < num_operands(); ++k)
      if (!is_number(k)) line(fmt::format("a{0} += {1} * v.stride{0}[{2}];", k, index, dim));
  }

  // A work-item's share of the rows, cut into pieces where rows are few and long.
  void write_pieces() {
    line("const i64 units = v.rows * v.pieces;");
    line("i64 unit = item0 * v.share;");
    line("const i64 last = unit + v.share < units ? unit + v.share : units;");
    line("for (; unit < last; ++unit) {");
    line("i64 row = unit / v.pieces, i = 0;");
    line("const i64 first = (unit - row * v.pieces) * v.piece;");
    line("const i64 end = v.inner - first < v.piece ? v.inner - first : v.piece;");
    write_places();
    write_run();
    line("}");
  }

  // Neighbouring work-items take neighbouring elements.
  void write_elements() {
    line("const i64 count = v.rows * v.inner;");
    line("for (i64 element = item0; element < count; element += items0) {");
    line("i64 row = element / v.inner;");
    line("const i64 first = element - row * v.inner, i = 0;");
    write_places();
    write_step(1);
    line("}");
  }

  const ElementwiseText& of_;
  const bool is_flat_;
  unsigned num_tensors_ = 0;  // declared so far
  const char* flat_place_ = "i";
  bool is_taken_ = false;
  KernelText text_;
};

}  // namespace

// A word that no function of the dialect has.
std::string function_name(std::string name) {
  for (char& c : name)
    if (c == ':' || c == '.') c = '_';
  return name;
}

KernelText elementwise_text(const ElementwiseText& text) {
  const bool by_units = text.form.reach == Reach::strided && text.form.is_narrow;
  if (by_units && !text.for_cpu) return strided_units(text);
  return Writer(text).write();
}

}  // namespace bp::codegen

#include "kinds/matmul_text.hpp"

#include <fmt/format.h>

namespace bp::codegen {

std::string_view accumulator_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::boolean:
    case Dtype::u8:
    case Dtype::i8:
    case Dtype::i16:
    case Dtype::i32:
    case Dtype::u16:
    case Dtype::u32: return "u32";
    case Dtype::i64:
    case Dtype::u64: return "u64";
    default: return compute_type(dtype);
  }
}

unsigned accumulator_bytes(Dtype dtype) {
  const std::string_view type = accumulator_type(dtype);
  if (type == "c128") return 16;
  return type == "u32" || type == "f32" ? 4 : 8;
}

namespace {

bool is_integer(std::string_view type) {
  return type[0] == 'u';
}

std::string vector_of(std::string_view type, unsigned width) {
  return width == 1 ? std::string(type) : fmt::format("{}x{}", type, width);
}

std::string times(unsigned count, const auto& make) {
  std::string text;
  for (unsigned i = 0; i < count; ++i) text += make(i);
  return text;
}

// The words that both kernels use: T, V, S; in_1, in_w: an element, a vector of them, as T.
std::string load_words(Dtype dtype, unsigned width) {
  const std::string_view type = accumulator_type(dtype), name = suffix(dtype);
  const std::string vector = vector_of(type, width);
  std::string text = fmt::format(
      "typedef {} T;\ntypedef {} V;\n"
      "DEVICE T in_1(GLOBAL const u8* p, i64 i) {{ return (T)load_{}(p, i); }}\n",
      type, vector, name);
  if (is_complex(dtype))
    text = fmt::format(
        "typedef {0} T;\ntypedef {0} V;\n"
        "DEVICE T in_1(GLOBAL const u8* p, i64 i) {{ return load_{1}(p, i); }}\n",
        type, name);
  if (width == 1) return text + "#define in_w(p, i) in_1(p, i)\n";
  std::string value = fmt::format("load_{}x{}(p, i)", name, width);
  if (is_integer(type)) {
    const bool wide = type == "u64";
    const bool is_signed = name[0] == 'i';
    value = is_signed ? fmt::format("as_{0}{2}(convert_{1}{2}({3}))", wide ? "ulong" : "uint",
                                    wide ? "long" : "int", width, value)
                      : fmt::format("convert_{}{}({})", wide ? "ulong" : "uint", width, value);
  }
  return text + fmt::format("DEVICE V in_w(GLOBAL const u8* p, i64 i) {{ return {}; }}\n", value);
}

// What a batch adds to each operand's place: `NAME_at`, in elements.
std::string batch_text(std::initializer_list<const char*> names) {
  std::string text = "    i64 rest = v.first_batch + batch;\n";
  for (const char* name : names) text += fmt::format("    i64 {}_at = 0;\n", name);
  text +=
      "    for (i64 d = v.batch_rank - 1; d >= 0; --d) {\n"
      "      const i64 index = rest % v.batch_size[d];\n"
      "      rest /= v.batch_size[d];\n";
  for (const char* name : names)
    text += fmt::format("      {0}_at += index * v.{0}_batch[d];\n", name);
  return text + "    }\n";
}

void add_batch_fields(std::vector<Field>& fields, std::initializer_list<const char*> names) {
  fields.push_back({"batch_rank"});
  fields.push_back({"batch_size", false, max_batch_rank});
  for (const char* name : names)
    fields.push_back({fmt::format("{}_batch", name), false, max_batch_rank});
}

// ---- Tiles

class TileText {
 public:
  explicit TileText(const TileShape& shape)
      : s_(shape), type_(accumulator_type(shape.dtype)), size_(itemsize(shape.dtype)) {}

  KernelText make() const {
    KernelText text;
    text.name = fmt::format("matmul_{}_{}_{}x{}{}{}", s_.form == TileForm::along ? "rows" : "tile",
                            suffix(s_.dtype), s_.rows, s_.columns, s_.packed_a ? "_packed_a" : "",
                            s_.packed_b ? "_packed_b" : "");
    text.num_memory = 3;
    text.values = fields();
    text.helpers = helpers();
    text.body = body();
    return text;
  }

 private:
  bool along() const { return s_.form == TileForm::along; }
  // Columns are vectors of neighbours, in the register and in the result.
  bool by_vectors() const { return !along() && s_.width > 1; }
  // Columns from the first one of a panel on, rather than at any step.
  bool neighbours() const { return by_vectors() || s_.packed_b; }
  unsigned vectors() const { return along() ? s_.columns : s_.columns / s_.width; }

  static std::vector<Field> fields() {
    std::vector<Field> fields;
    for (const char* name :
         {"m",         "n",           "k",           "row_panels",   "column_panels", "batches",
          "row_group", "batch_group", "first_batch", "column_panel", "column_step",   "a_panels",
          "b_panels",  "out_start",   "out_row",     "out_column",   "a_start",       "a_row",
          "a_k",       "b_start",     "b_k",         "b_column"})
      fields.push_back({name});
    add_batch_fields(fields, {"out", "a", "b"});
    return fields;
  }

  std::string helpers() const {
    std::string text = load_words(s_.dtype, s_.width);
    if (is_complex(s_.dtype)) {
      // Not mul_c64, which tells infinities from NaN at a hundred times the cost: cpu's does not either.
      text += fmt::format(
          "#define ZERO make_{0}(0, 0)\n"
          "#define SPLAT(x) (x)\n"
          "DEVICE T MULTIPLY_ADD(T a, T b, T c) {{\n"
          "  c.re += a.re * b.re - a.im * b.im;\n"
          "  c.im += a.re * b.im + a.im * b.re;\n"
          "  return c;\n}}\n",
          type_);
    } else {
      text +=
          "#define ZERO (V)(0)\n"
          "#define SPLAT(x) (V)(x)\n";
      text += multiply_add();
    }
    return text + store_words();
  }

  // Fused wherever that is an instruction. fma() would cost a call where it is not, mad() is not fused on
  // every device that could, and the macros that tell are not defined by every driver. In SPIR-V it must be said:
  // clang 15 makes two operations of it for that target, which took 1.6 times as long.
  std::string multiply_add() const {
    std::string plain = "#define MULTIPLY_ADD(a, b, c) ((a) * (b) + (c))\n";
    if (is_integer(type_)) return plain;
    return "#ifdef __SPIR__\n#define MULTIPLY_ADD(a, b, c) fma(a, b, c)\n#else\n"
           "#ifdef __OPENCL_VERSION__\n#pragma OPENCL FP_CONTRACT ON\n#endif\n" +
           plain + "#endif\n";
  }

  std::string store_words() const {
    const std::string_view name = suffix(s_.dtype), stored = compute_type(s_.dtype);
    std::string text =
        fmt::format("DEVICE void out_1(GLOBAL u8* p, i64 i, T x) {{ store_{}(p, i, {}x); }}\n",
                    name, is_integer(type_) ? fmt::format("({})", stored) : "");
    if (s_.width == 1) return text;
    text += fmt::format(
        "DEVICE T lane_sum(V x) {{\n"
        "  T lanes[{0}], sum = 0;\n"
        "  vstore{0}(x, 0, lanes);\n"
        "  for (int i = 0; i < {0}; ++i) sum += lanes[i];\n"
        "  return sum;\n}}\n",
        s_.width);
    return by_vectors() ? text + store_vector() : text;
  }

  // One vector of the result; from `skip` up to `limit` belongs to this tile.
  std::string store_vector() const {
    std::string whole;
    if (size_ == accumulator_bytes(s_.dtype)) {
      whole = fmt::format(
          "  if (step == 1 && skip <= 0 && limit >= {0}) {{\n"
          "    vstore{0}(x, 0, (GLOBAL T*)p + at);\n    return;\n  }}\n",
          s_.width);
    } else if (!is_integer(type_)) {
      whole = fmt::format(
          "  if (step == 1 && skip <= 0 && limit >= {0}) {{\n"
          "    store_{1}x{0}(p, at, x);\n    return;\n  }}\n",
          s_.width, suffix(s_.dtype));
    }
    return fmt::format(
        "DEVICE void out_w(GLOBAL u8* p, i64 at, i64 step, i64 skip, i64 limit, V x) {{\n{1}"
        "  T lanes[{0}];\n"
        "  vstore{0}(x, 0, lanes);\n"
        "  for (i64 j = skip > 0 ? skip : 0; j < {0} && j < limit; ++j)\n"
        "    out_1(p, at + j * step, lanes[j]);\n}}\n",
        s_.width, whole);
  }

  std::string body() const {
    std::string text =
        fmt::format("  const i64 row_item = {}, column_item = {};\n",
                    s_.columns_first ? "item1" : "item0", s_.columns_first ? "item0" : "item1");
    text +=
        "  const i64 k = v.k, a_row = v.a_row, a_k = v.a_k, b_k = v.b_k, b_column = v.b_column;\n"
        "  const i64 out_row = v.out_row, out_column = v.out_column;\n"
        "  (void)a_row; (void)a_k; (void)b_k; (void)b_column;\n"
        "  if (column_item >= v.column_panels) return;\n"
        "  i64 panel_end = (row_item + 1) * v.row_group;\n"
        "  if (panel_end > v.row_panels) panel_end = v.row_panels;\n"
        "  i64 batch_end = (item2 + 1) * v.batch_group;\n"
        "  if (batch_end > v.batches) batch_end = v.batches;\n"
        "  for (i64 batch = item2 * v.batch_group; batch < batch_end; ++batch) {\n";
    text += batch_text({"out", "a", "b"});
    text += fmt::format(
        "    GLOBAL u8* const out = m0 + v.out_start + out_at * {0};\n"
        "    GLOBAL const u8* const a = m1 + v.a_start + a_at * {0} + batch * v.a_panels * {1};\n"
        "    GLOBAL const u8* const b = m2 + v.b_start + b_at * {0} + batch * v.b_panels * {1};\n",
        size_, accumulator_bytes(s_.dtype));
    text += column_text();
    text += "    for (i64 panel = row_item * v.row_group; panel < panel_end; ++panel) {\n";
    text += row_text();
    text += along() ? loop_along() : loop_across();
    text += times(s_.rows, [&](unsigned r) { return store_row(r); });
    return text + "    }\n  }\n";
  }

  // Where b's columns start, and which of them are this tile's.
  std::string column_text() const {
    if (!neighbours())
      return times(s_.columns, [&](unsigned j) {
        return fmt::format(
            "    const i64 column{0} = column_item * v.column_panel + {0} * v.column_step;\n"
            "    GLOBAL const u8* const b{0} = b + (column{0} < v.n ? column{0} : v.n - 1) * "
            "b_column * {1};\n",
            j, size_);
      });
    std::string text = fmt::format("    i64 column = column_item * {0}, skip = 0;\n", s_.columns);
    if (s_.packed_b) {
      text += fmt::format(
          "    GLOBAL const T* const b_panel = (GLOBAL const T*)b + column_item * {} * k;\n",
          s_.columns);
    } else {
      // The last panel is shifted back, so that it reads whole vectors; it writes its own columns only.
      text += fmt::format(
          "    if (column + {0} > v.n) {{\n"
          "      skip = column + {0} - v.n;\n"
          "      column -= skip;\n    }}\n"
          "    GLOBAL const u8* const b0 = b + column * {1};\n",
          s_.columns, size_);
    }
    return text + "    const i64 limit = v.n - column;\n    (void)skip; (void)limit;\n";
  }

  // Rows past the last repeat it: they are read, and not written.
  std::string row_text() const {
    std::string text =
        fmt::format("      const i64 row = panel * {0}, rows = v.m - row;\n", s_.rows);
    if (s_.packed_a)
      return text +
             fmt::format("      GLOBAL const T* const a_panel = (GLOBAL const T*)a + row * k;\n");
    return text + times(s_.rows, [&](unsigned r) {
             return fmt::format(
                 "      GLOBAL const u8* const a{0} = a + (row + ({0} < rows ? {0} : rows - 1)) * "
                 "a_row * {1};\n",
                 r, size_);
           });
  }

  std::string zeros(std::string_view type, std::string_view name, std::string_view zero) const {
    return times(s_.rows, [&](unsigned r) {
      return times(vectors(), [&](unsigned j) {
        return fmt::format("      {} {}{}_{} = {};\n", type, name, r, j, zero);
      });
    });
  }

  std::string b_value(unsigned j) const {
    if (s_.packed_b && s_.width > 1)
      return fmt::format("vload{}({}, b_panel + i * {})", s_.width, j, s_.columns);
    if (s_.packed_b) return fmt::format("b_panel[i * {} + {}]", s_.columns, j);
    if (s_.width > 1) return fmt::format("in_w(b0, i * b_k + {})", j * s_.width);
    return fmt::format("in_1(b{}, i * b_k)", j);
  }

  std::string loop_across() const {
    std::string text = zeros("V", "c", "ZERO");
    text += "      for (i64 i = 0; i < k; ++i) {\n";
    text += times(vectors(), [&](unsigned j) {
      return fmt::format("        const V y{} = {};\n", j, b_value(j));
    });
    text += times(s_.rows, [&](unsigned r) {
      std::string row = fmt::format("        const V x{0} = SPLAT({1});\n", r,
                                    s_.packed_a ? fmt::format("a_panel[i * {} + {}]", s_.rows, r)
                                                : fmt::format("in_1(a{}, i * a_k)", r));
      return row + times(vectors(), [&](unsigned j) {
               return fmt::format("        c{0}_{1} = MULTIPLY_ADD(x{0}, y{1}, c{0}_{1});\n", r, j);
             });
    });
    return text + "      }\n";
  }

  std::string products(std::string_view load, std::string_view type, std::string_view to) const {
    std::string text = times(s_.rows, [&](unsigned r) {
      return fmt::format("        const {} x{} = {}(a{}, i);\n", type, r, load, r);
    });
    return text + times(s_.columns, [&](unsigned j) {
             return fmt::format("        const {} y{} = {}(b{}, i);\n", type, j, load, j) +
                    times(s_.rows, [&](unsigned r) {
                      return fmt::format(
                          "        {2}{0}_{1} = MULTIPLY_ADD(x{0}, y{1}, {2}{0}_{1});\n", r, j, to);
                    });
           });
  }

  std::string loop_along() const {
    std::string text = zeros("V", "w", "ZERO");
    text += "      i64 i = 0;\n";
    text += fmt::format("      for (; i + {0} <= k; i += {0}) {{\n", s_.width);
    text += products("in_w", "V", "w") + "      }\n";
    text += times(s_.rows, [&](unsigned r) {
      return times(s_.columns, [&](unsigned j) {
        return fmt::format("      T c{0}_{1} = lane_sum(w{0}_{1});\n", r, j);
      });
    });
    text += "      for (; i < k; ++i) {\n";
    return text + products("in_1", "T", "c") + "      }\n";
  }

  std::string store_row(unsigned r) const {
    std::string text =
        fmt::format("      if ({0} < rows) {{\n        const i64 at = (row + {0}) * out_row;\n", r);
    if (by_vectors()) {
      text += times(vectors(), [&](unsigned j) {
        return fmt::format(
            "        out_w(out, at + (column + {2}) * out_column, out_column, skip - {2}, limit - "
            "{2}, c{0}_{1});\n",
            r, j, j * s_.width);
      });
    } else {
      text += times(s_.columns, [&](unsigned j) {
        const std::string column =
            neighbours() ? fmt::format("column + {}", j) : fmt::format("column{}", j);
        return fmt::format(
            "        if ({2} < v.n) out_1(out, at + ({2}) * out_column, c{0}_{1});\n", r, j,
            column);
      });
    }
    return text + "      }\n";
  }

  const TileShape& s_;
  std::string_view type_;
  std::size_t size_;
};

}  // namespace

std::uint64_t TileShape::variant() const {
  std::uint64_t number = static_cast<std::uint64_t>(index(dtype));
  for (std::uint64_t each : {static_cast<std::uint64_t>(form), std::uint64_t{rows},
                             std::uint64_t{columns}, std::uint64_t{width}, std::uint64_t{packed_a},
                             std::uint64_t{packed_b}, std::uint64_t{columns_first}})
    number = number << 8 | each;
  return number;
}

KernelText tile_text(const TileShape& shape) {
  return TileText(shape).make();
}

void TileValues::add_to(Values& values, const Product& p) const {
  for (std::int64_t each : {m, n, k, row_panels, column_panels, batches, row_group, batch_group,
                            first_batch, column_panel, column_step, a_panels, b_panels})
    values.add(each);
  for (std::int64_t each : {p.out.start, p.out.row, p.out.column, p.a.start, p.a.row, p.a.column,
                            p.b.start, p.b.row, p.b.column})
    values.add(each);
  values.add(std::int64_t{p.batch_rank}).add_all(p.batch_size);
  values.add_all(p.out.batch).add_all(p.a.batch).add_all(p.b.batch);
}

// ---- Packing

std::uint64_t PackShape::variant() const {
  // Apart from every tile's: no tile has 255 rows.
  return std::uint64_t{255} << 40 | std::uint64_t{index(dtype)} << 16 | std::uint64_t{size} << 8 |
         width;
}

KernelText pack_text(const PackShape& s) {
  const std::size_t bytes = itemsize(s.dtype);
  KernelText text;
  text.name = fmt::format("matmul_pack_{}_{}", suffix(s.dtype), s.size);
  text.num_memory = 2;
  for (const char* name : {"count", "k", "k_piece", "panels", "batches", "first_batch", "from",
                           "step", "k_step", "to"})
    text.values.push_back({name});
  add_batch_fields(text.values, {"from"});
  text.helpers = load_words(s.dtype, s.width);
  text.body = fmt::format(
      "  const i64 panel = item0, batch = item2, k = v.k, step = v.step, k_step = v.k_step;\n"
      "  const i64 first = panel * {0}, begin = item1 * v.k_piece;\n"
      "  const i64 end = begin + v.k_piece < k ? begin + v.k_piece : k;\n"
      "  if (panel >= v.panels || batch >= v.batches) return;\n"
      "  {{\n",
      s.size);
  text.body += batch_text({"from"});
  text.body += fmt::format(
      "    GLOBAL const u8* const from = m1 + v.from + (from_at + first * step) * {1};\n"
      "    GLOBAL T* const to = (GLOBAL T*)(m0 + v.to) + (batch * v.panels + panel) * {0} * k;\n"
      "    const i64 here = v.count - first < {0} ? v.count - first : {0};\n",
      s.size, bytes);
  if (s.width > 1)
    text.body += fmt::format(
        "    if (here == {0} && step == 1) {{\n"
        "      for (i64 i = begin; i < end; ++i) {{\n{1}      }}\n"
        "      return;\n    }}\n",
        s.size, times(s.size / s.width, [&](unsigned j) {
          return fmt::format(
              "        vstore{0}(in_w(from, i * k_step + {1}), 0, to + i * {2} + {1});\n", s.width,
              j * s.width, s.size);
        }));
  text.body += fmt::format(
      "    for (i64 i = begin; i < end; ++i) {{\n"
      "      GLOBAL T* const line = to + i * {0};\n"
      "      for (i64 j = 0; j < here; ++j) line[j] = in_1(from, i * k_step + j * step);\n"
      "      for (i64 j = here; j < {0}; ++j) line[j] = {1};\n    }}\n  }}\n",
      s.size,
      is_complex(s.dtype) ? fmt::format("make_{}(0, 0)", accumulator_type(s.dtype)) : "(T)(0)");
  return text;
}

void PackValues::add_to(Values& values, const Product& p, const BatchArray& batch) const {
  for (std::int64_t each :
       {count, k, k_piece, panels, batches, first_batch, from, step, k_step, to})
    values.add(each);
  values.add(std::int64_t{p.batch_rank}).add_all(p.batch_size).add_all(batch);
}

}  // namespace bp::codegen

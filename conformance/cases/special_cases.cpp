// Cases that no crossing of axes gives, past the sizes at which kernels change their way among them.
#include "cases/special_cases.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "inputs/problem.hpp"
#include "inputs/values.hpp"

namespace bp::conform {
namespace {

int tensors_of_schema(const Operator& op) {
  return static_cast<int>(std::ranges::count_if(op.schema->arguments, [](const auto& argument) {
    return argument.type == ArgumentType::tensor || argument.type == ArgumentType::tensor_list;
  }));
}

// ---- All inputs of 16 bits

void add_every_input(const RowCases& row) {
  if (row.op.kind != BP_KIND_POINTWISE || tensors_of_schema(row.op) != 1) return;
  for (const Dtype dtype : {f16, bf16})
    if (contains(row.op.dtypes, dtype)) row.add(dtype, "s65536", "plain", "every16", "call");
}

// ---- Numbers that are not the default

// Near enough to it that the usual values show the difference.
double other_than(double usual, Dtype dtype) {
  if (!is_floating(dtype) && !is_complex(dtype)) return usual + 2;
  return usual > 2 ? 1 : usual + 0.5;
}

void add_numbers(const RowCases& row) {
  if (row.op.kind != BP_KIND_POINTWISE || row.axes.shapes.empty()) return;
  for (const SchemaArgument& argument : row.op.schema->arguments) {
    if (argument.type != ArgumentType::scalar || !argument.has_default) continue;
    if (argument.default_value.tag == BP_NONE) continue;
    const double usual = Scalar::from_value(argument.default_value).to_double();
    for (const Dtype dtype : row.axes.dtypes)
      if (dtype != boolean)
        row.add(
            dtype,
            fmt::format("{}:{}={}", row.axes.shapes[0], argument.name, other_than(usual, dtype)),
            "plain", "normal", "call");
  }
}

// ---- Elements 2 GiB apart

void add_far_elements(const RowCases& row) {
  if (row.is(Trait::far_elements) && contains(row.op.dtypes, u8))
    row.add(u8, "s2", "far", "normal", "call");
}

// ---- Derivatives

bool has_derivative(const Operator& op) {
  return !has_trait(op.name(), Trait::flat) && (op.has_gradient || op.decompose || op.is_view());
}

// Shapes whose call writes into an argument, or gives nothing.
bool has_no_gradient_here(const Operator& op, const std::string& shape) {
  if (op.mutates && shape != "sample:without_running") return true;
  // A number alone may equal what it is compared with, and its derivative is anyone's.
  const bool chooses_of_two = has_trait(op.name(), Trait::extrema) && tensors_of_schema(op) == 2 &&
                              (shape == "s" || shape.ends_with(','));
  if (chooses_of_two) return true;
  // Derivatives end at whole numbers.
  if (converts(op) && shape.find("dtype=f") == shape.npos) return true;
  if (shape.find("+0") != shape.npos) return true;
  if (shape.find("x0") != shape.npos || shape.find("s0") != shape.npos ||
      shape.find("m0k") != shape.npos || shape.find("k0n") != shape.npos)
    return true;
  // Elements that share memory share a derivative in no one way.
  if (op.view && op.schema->find("stride") >= 0 && shape == "sample:expanded") return true;
  if (has_trait(op.name(), Trait::long_is_open) &&
      (shape.find("257") != shape.npos || shape.find("1031") != shape.npos ||
       shape.find("1025") != shape.npos))
    return true;
  // What completes a basis is one of many; one half of a matrix alone is read.
  if (is_one_of(shape, {"sample:completed", "sample:symmetric"})) return true;
  return is_one_of(shape,
                   {"sample:zero_size", "sample:no_keys", "sample:no_channels", "sample:no_columns",
                    "sample:never", "sample:promoted", "sample:integer", "sample:boolean",
                    "sample:repeated_values"});  // of which each may be the one that is taken
}

// In 16 bits many elements are as large as their neighbours, and powers leave the range: in a sum over what was
// broadcast, or in a loss, one of them leaves the whole derivative open.
bool is_open_in_half(const Operator& op, Dtype dtype, const std::string& shape) {
  return (dtype == f16 || dtype == bf16) &&
         (shape.find(',') != shape.npos || shape.starts_with("sample:")) &&
         has_trait(op.name(), Trait::open_in_half);
}

// One complex number deviates from itself by NaN in both parts, of which anything would be right.
bool has_open_deviation(const Operator& op, Dtype dtype, const std::string& shape) {
  return is_complex(dtype) && shape == "s" && has_trait(op.name(), Trait::deviations);
}

void add_gradients(const RowCases& row) {
  const Operator& op = row.op;
  if (!has_derivative(op)) return;
  const bool is_quick = row.profile == Profile::quick, is_view = op.kind == BP_KIND_VIEW;
  std::vector<std::string> shapes;
  for (const std::string& shape : row.axes.shapes)
    if (!has_no_gradient_here(op, shape)) shapes.push_back(shape);
  const std::size_t most = is_quick ? 1 : row.profile == Profile::normal ? 4 : shapes.size();
  const bool is_sample = !shapes.empty() && shapes[0].starts_with("sample:");
  const std::string usual = is_sample ? "own" : "plain";
  const bool are_telling = is_sample && row.is(Trait::telling_input);
  const std::string values = are_telling                      ? "own"
                             : row.is(Trait::positive_domain) ? "positive"
                                                              : "normal";
  for (const Dtype dtype : {f32, f64, f16, bf16, complex64}) {
    if (!contains(op.all_dtypes(), dtype)) continue;
    if ((is_view || is_quick) && dtype != f32) continue;
    for (std::size_t i = 0; i < std::min(shapes.size(), dtype == f32 ? most : (most + 3) / 4); ++i)
      if (!is_open_in_half(op, dtype, shapes[i]) && !has_open_deviation(op, dtype, shapes[i]))
        row.add(dtype, shapes[i], usual, values, "grad");
  }
  if (!is_quick && !shapes.empty() && !is_view && contains(op.dtypes, f32))
    for (const char* layout : {"transpose", "step2"})
      row.add(f32, shapes[0], layout, values, "grad");
}

// ---- Stress

void add_stress(const RowCases& row) {
  const bool is_asked = row.profile == Profile::full ||
                        (row.profile == Profile::normal && is_inference_row(row.op.name()));
  if (!is_asked || row.op.is_view() || !gives_the_same_again(row.op)) return;
  if (row.axes.shapes.empty() || row.axes.dtypes.empty()) return;
  const bool is_sample = row.takes_samples();
  for (const char* form : {"repeat", "threads"})
    row.add(row.axes.dtypes[0], row.axes.shapes[0], is_sample ? "own" : "plain",
            is_sample ? "own" : "normal", form);
}

// ---- Refusals

// A dtype that the row does not compute in.
bool foreign_dtype(const Operator& op, Dtype& out) {
  const bool promotes = op.promotion == Promotion::common || op.promotion == Promotion::compare;
  if (op.kind != BP_KIND_POINTWISE || !promotes || op.dtypes == set_of(boolean)) return false;
  for (const Dtype dtype : {complex64, i64, f32}) {
    if (contains(op.all_dtypes(), dtype)) continue;
    out = dtype;
    return true;
  }
  return false;
}

void add_refusals(const RowCases& row) {
  if (row.axes.dtypes.empty()) return;
  const Operator& op = row.op;
  const Dtype usual = row.axes.dtypes[0];
  const auto add = [&](Dtype dtype, const std::string& shape, const char* layouts = "plain",
                       const std::string& values = "normal") {
    row.add(dtype, shape, layouts, values, "error");
  };
  const RowFacts* facts = find_row_facts(op.name());
  for (const std::string& refused : split_text(facts ? facts->refused : "", ' ')) {
    if (refused.empty()) continue;
    const std::size_t mark = refused.find('!');
    add(usual, refused.substr(0, mark), "plain",
        mark == refused.npos ? "normal" : refused.substr(mark + 1));
  }
  if (op.kind != BP_KIND_POINTWISE) return;
  const int tensors = tensors_of_schema(op);
  if (tensors == 2) add(usual, "s3x5,4");
  if (tensors == 3) add(usual, "s3x5,4,5");
  if (op.promotion != Promotion::compare && takes_result_first(op))
    add(usual, "s3x5", "expand.plain");
  Dtype foreign = f32;
  if (foreign_dtype(op, foreign)) add(foreign, "s3x5");
}

}  // namespace

void add_special_cases(const RowCases& row) {
  add_refusals(row);
  if (row.profile != Profile::quick) {
    add_every_input(row);
    add_numbers(row);
    add_far_elements(row);
  }
  add_gradients(row);
  add_stress(row);
}

// ---- Large sizes, and what no luck of a crossing may leave out

namespace {

// One between each two of 128, 256, 1,024, 2,048, 4,096, 16,384, 32,768, 65,535, and one past all: tiles, blocks, grids,
// pieces of a scan, counters of 16 bits. Some are multiples of a power of two, some of nothing.
constexpr std::int64_t large_sizes[] = {192, 777, 1536, 3001, 6400, 20001, 40000, 66001};
constexpr std::size_t num_sizes = std::size(large_sizes);
constexpr std::int64_t small_size = 7;  // stands for them where only the form of a call matters

std::string with_size(const std::string& pattern, std::int64_t size) {
  std::string shape;
  for (const char each : pattern)
    shape += each == 'N' ? std::to_string(size) : std::string(1, each);
  return shape;
}

// "all", "floating", or names joined by '+'.
bool is_named(const std::string& dtypes, Dtype dtype) {
  if (dtypes == "all") return true;
  if (dtypes == "floating") return is_floating(dtype);
  const std::vector<std::string> names = split_text(dtypes, '+');
  return std::ranges::find(names, short_name(dtype)) != names.end();
}

class LargeCases {
 public:
  LargeCases(const RowCases& row, Thoroughness thoroughness, const Takes& takes,
             const RowFacts& facts)
      : row_(row), values_(split_text(facts.large_values, ' ')), thoroughness_(thoroughness),
        takes_(takes), turn_(row.turn()) {}

  void add(const std::string& pattern, std::size_t place) {
    if (pattern.find('N') == pattern.npos)
      add_layouts(pattern, num_blocks_++);
    else
      add_sizes(pattern, place);
  }

 private:
  // The largest shows what is lost past any of them; what is wrong between two of them alone, those between.
  void add_sizes(const std::string& pattern, std::size_t place) {
    const std::size_t period = thoroughness_ == Thoroughness::all              ? 1
                               : thoroughness_ == Thoroughness::most && !place ? 1
                               : thoroughness_ == Thoroughness::most           ? 3
                               : thoroughness_ == Thoroughness::some           ? 4
                                                                               : num_sizes;
    for (std::size_t i = 0; i + 1 < num_sizes; ++i)
      if (period != num_sizes && (i + turn_ + place) % period == 0)
        add_case(row_.axes.dtypes[0], pattern, large_sizes[i], "plain");
    add_case(row_.axes.dtypes[0], pattern, large_sizes[num_sizes - 1], "plain");
    const std::size_t others = row_.axes.dtypes.size() - 1;
    const std::size_t each = thoroughness_ == Thoroughness::all      ? 3
                             : thoroughness_ == Thoroughness::little ? 0
                                                                     : 1;
    for (std::size_t i = 0; i < std::min(each, others); ++i)
      add_case(row_.axes.dtypes[1 + (turn_ + place * each + i) % others], pattern,
               large_sizes[num_sizes - 1], "plain");
  }

  // Into a tensor of another order as well: that is what transposes.
  void add_layouts(const std::string& shape, std::size_t turn) {
    std::size_t most = thoroughness_ == Thoroughness::all    ? row_.axes.layouts.size()
                       : thoroughness_ == Thoroughness::most ? 3
                                                             : 2;
    std::size_t place = 0;
    for (const std::string& layouts : row_.axes.layouts) {
      if (repeats_elements(layouts)) continue;
      if (most-- == 0) return;
      const bool has_out = writes_where_told(row_.op) && (turn + place) % 2 != 0;
      add_case(row_.axes.dtypes[place++ % row_.axes.dtypes.size()], shape, 0, layouts,
               has_out ? "out" : "call");
    }
  }

  void add_case(Dtype dtype, const std::string& pattern, std::int64_t size,
                const std::string& layouts, const char* form = "call") {
    Case one = case_of(row_.op, dtype, with_size(pattern, small_size), layouts,
                       values_[num_added_++ % values_.size()], form);
    if (takes_ && !takes_(one)) return;
    one.shape = with_size(pattern, size);
    make_sensible(row_.op, one);
    row_.all.push_back(std::move(one));
  }

  const RowCases& row_;
  const std::vector<std::string> values_;
  const Thoroughness thoroughness_;
  const Takes& takes_;
  const std::size_t turn_;
  std::size_t num_added_ = 0, num_blocks_ = 0;
};

}  // namespace

void add_large_cases(const RowCases& row, Thoroughness thoroughness, const Takes& takes) {
  const RowFacts* facts = find_row_facts(row.op.name());
  if (row.profile == Profile::quick || !facts || *facts->large == '\0') return;
  if (row.profile == Profile::full && thoroughness != Thoroughness::little)
    thoroughness = Thoroughness::all;
  LargeCases large(row, thoroughness, takes, *facts);
  std::size_t place = 0;
  for (const std::string& pattern : split_text(facts->large, ' ')) large.add(pattern, place++);
}

void add_deciding_cases(const RowCases& row) {
  const RowFacts* facts = find_row_facts(row.op.name());
  if (row.profile == Profile::quick || !facts || *facts->decides == '\0') return;
  for (const std::string& decides : split_text(facts->decides, ' ')) {
    const std::vector<std::string> parts = split_text(decides, '/');
    for (const Dtype dtype : row.axes.all_dtypes()) {
      if (parts.size() > 2 && !is_named(parts[2], dtype)) continue;
      row.add(dtype, parts[0], parts.size() > 3 ? parts[3] : "plain", parts[1], "call");
      make_sensible(row.op, row.all.back());
    }
  }
}

}  // namespace bp::conform

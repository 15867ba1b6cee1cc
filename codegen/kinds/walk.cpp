#include "kinds/walk.hpp"

#include <algorithm>
#include <bit>
#include <cctype>
#include <fmt/format.h>

namespace bp::codegen {
namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

}  // namespace

std::string fill_in(std::string_view text,
                    std::initializer_list<std::pair<std::string_view, std::string_view>> words) {
  std::string filled;
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] != '$') {
      filled += text[i++];
      continue;
    }
    std::size_t end = i + 1;
    while (end < text.size() && is_word(text[end])) ++end;
    const std::string_view name = text.substr(i + 1, end - i - 1);
    const auto* found = std::find_if(words.begin(), words.end(),
                                     [&](const auto& word) { return word.first == name; });
    if (found == words.end())
      throw_error(ErrorClass::internal, fmt::format("codegen: nothing stands for ${}", name));
    filled += found->second;
    i = end;
  }
  return filled;
}

Walk::Walk(std::span<const std::int64_t> shape) : rank(static_cast<int>(shape.size())) {
  std::copy(shape.begin(), shape.end(), size.begin());
}

Walk& Walk::add(const std::int64_t* strides) {
  std::copy_n(strides, rank, stride[num_operands++].begin());
  return *this;
}

void Walk::simplify(bool keeps_last) {
  if (rank == 0) size[rank++] = 1;
  const auto move = [&](int from, int to) {
    size[to] = size[from];
    for (int k = 0; k < num_operands; ++k) stride[k][to] = stride[k][from];
  };
  const auto joins = [&](int outer, int inner) {
    for (int k = 0; k < num_operands; ++k)
      if (stride[k][outer] != stride[k][inner] * size[inner]) return false;
    return true;
  };
  // From the last dimension on, packed at the end of the arrays.
  int kept = rank - 1;
  for (int d = rank - 2; d >= 0; --d) {
    const bool fixed = keeps_last && kept == rank - 1;
    if (size[d] == 1) continue;
    if (!fixed && size[kept] == 1)
      move(d, kept);
    else if (!fixed && joins(d, kept))
      size[kept] *= size[d];
    else
      move(d, --kept);
  }
  for (int d = kept; d < rank; ++d) move(d, d - kept);
  rank -= kept;
}

std::int64_t Walk::count() const {
  std::int64_t product = 1;
  for (int d = 0; d < rank; ++d) product *= size[d];
  return product;
}

Step Walk::step_class(int operand) const {
  if (row_size() == 1) return Step::any;
  return step(operand) == 1 ? Step::one : step(operand) == 0 ? Step::none : Step::any;
}

int Walk::rank_class() const {
  for (int known : {1, 2, 3, 4, 8})
    if (rank <= known) return known;
  return BP_MAX_RANK;
}

Division divide(const Invocation& invocation, std::int64_t count, std::int64_t grain) {
  if (!invocation.for_cpu()) return {static_cast<std::uint64_t>(count), 1};
  const auto most = std::max(std::int64_t{4} * invocation.info().compute_units, std::int64_t{1});
  const std::int64_t wanted = std::clamp<std::int64_t>((count + grain - 1) / grain, 1, most);
  const std::int64_t piece = std::max<std::int64_t>((count + wanted - 1) / wanted, 1);
  return {static_cast<std::uint64_t>((count + piece - 1) / piece), piece};
}

void WalkText::add_fields(std::vector<Field>& fields) const {
  fields.push_back({"count"});
  fields.push_back({"piece"});
  fields.push_back({"size", false, rank_class});
  for (const WalkOperand& operand : operands) {
    fields.push_back({fmt::format("{}_start", operand.name)});
    fields.push_back({fmt::format("{}_stride", operand.name), false, rank_class});
  }
}

void add_walk_values(Values& values, const Walk& walk, const Division& division,
                     std::initializer_list<std::int64_t> starts) {
  values.add(walk.count()).add(division.piece);
  const int rank = walk.rank_class();
  const int missing = rank - walk.rank;
  const auto add_padded = [&](const auto& list, std::int64_t filler) {
    for (int d = 0; d < rank; ++d) values.add(d < missing ? filler : list[d - missing]);
  };
  add_padded(walk.size, 1);
  int k = 0;
  for (std::int64_t start : starts) {
    values.add(start);
    add_padded(walk.stride[k++], 0);
  }
}

std::string WalkText::loop(std::string_view row) const {
  const int last = rank_class - 1;
  std::string text = fill_in(R"(
  const i64 end = (item0 + 1) * v.piece < v.count ? (item0 + 1) * v.piece : v.count;
  i64 element = item0 * v.piece;
  while (element < end) {
    i64 row = element / v.size[$last];
    const i64 first = element % v.size[$last];
    i64 run = v.size[$last] - first;
    if (run > end - element) run = end - element;
    element += run;
)",
                             {{"last", std::to_string(last)}});
  for (const WalkOperand& operand : operands) {
    const std::string step = operand.step == Step::one ? "1"
                             : operand.step == Step::none
                                 ? "0"
                                 : fmt::format("v.{}_stride[{}]", operand.name, last);
    text += fmt::format("    const i64 {0}_step = {1};\n    i64 {0}_at = first * {0}_step;\n",
                        operand.name, step);
  }
  for (int d = last - 1; d >= 0; --d) {
    // Nothing is left to divide for the first dimension.
    text +=
        d > 0 ? fmt::format("    {{ const i64 place = row % v.size[{0}]; row /= v.size[{0}];\n", d)
              : std::string("    { const i64 place = row;\n");
    for (const WalkOperand& operand : operands)
      text += fmt::format("      {0}_at += place * v.{0}_stride[{1}];\n", operand.name, d);
    text += "    }\n";
  }
  text += row;
  return text + "  }\n";
}

std::array<std::int64_t, BP_MAX_RANK> strides_without(const bp_tensor& tensor, std::int64_t dim) {
  std::array<std::int64_t, BP_MAX_RANK> strides{};
  std::copy_n(tensor.dl.strides, tensor.dl.ndim, strides.begin());
  if (dim < tensor.dl.ndim) strides[dim] = 0;
  return strides;
}

std::string_view mover_type(std::uint32_t itemsize) {
  switch (itemsize) {
    case 1: return "u8";
    case 2: return "u16";
    case 4: return "u32";
    case 8: return "u64";
    default: return "u128";
  }
}

std::string_view mover_helpers(std::uint32_t itemsize) {
  return itemsize == 16 ? "typedef struct { u64 low, high; } u128;\n" : "";
}

}  // namespace bp::codegen

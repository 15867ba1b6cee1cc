// Looking for the expressions of fused.hpp among a row's nodes.
#include <algorithm>

#include <backplane/generated/steps.h>

#include "tile/fused.hpp"

namespace bp::cpu::tile {
namespace {

class Search {
 public:
  Search(std::span<const bp_expr_node> nodes, const std::vector<bool>& is_one)
      : nodes_(nodes), is_one_(is_one) {}

  template <class Shape> bool fits(int index, int (&operands)[3]) {
    std::fill_n(operands_, 3, -1);
    if (!fits(Shape{}, index)) return false;
    std::copy_n(operands_, 3, operands);
    return true;
  }

 private:
  template <int k> bool fits(shape::Operand<k>, int index) {
    index = without_ones(index);
    if (operands_[k] < 0) operands_[k] = index;
    return are_equal(operands_[k], index);
  }
  template <shape::IsNumber Number> bool fits(Number, int index) {
    return is_number(index, Number::value);
  }
  template <uint16_t code, class... Shapes> bool fits(shape::Step<code, Shapes...>, int index) {
    const bp_expr_node& node = nodes_[without_ones(index)];
    if (node.code != code) return false;
    const uint16_t operands[] = {node.a, node.b, node.c};
    int k = 0;
    return (fits(Shapes{}, operands[k++]) && ...);
  }

  // 1 * x and x * 1 are left out of programs.
  int without_ones(int index) const {
    const bp_expr_node& node = nodes_[index];
    if (node.code != BP_X_MUL) return index;
    if (is_one_[node.a]) return without_ones(node.b);
    return is_one_[node.b] ? without_ones(node.a) : index;
  }
  bool is_number(int index, double number) const {
    const bp_expr_node& node = nodes_[index];
    return node.code == BP_X_CONST ? node.imm == number : number == 1 && is_one_[index];
  }
  // Whether two nodes are the same expression.
  bool are_equal(int a, int b) const {
    if (a == b) return true;
    const bp_expr_node &one = nodes_[a], &other = nodes_[b];
    if (one.code != other.code) return false;
    if (one.code == BP_X_CONST) return one.imm == other.imm;
    if (one.code == BP_X_ARG) return one.a == other.a;
    const int count = bp_steps[one.code].num_operands;
    return are_equal(one.a, other.a) && (count < 2 || are_equal(one.b, other.b)) &&
           (count < 3 || are_equal(one.c, other.c));
  }

  std::span<const bp_expr_node> nodes_;
  const std::vector<bool>& is_one_;
  int operands_[3] = {};
};

}  // namespace

bool find_fused(std::span<const bp_expr_node> nodes, int index, uint32_t dtype,
                const std::vector<bool>& is_one, FoundStep& found) {
  Search search(nodes, is_one);
  bool is_found = false;
  const auto look = [&]<class Entry>(Entry) {
    if (is_found || find_primitive(Entry::code, dtype) == nullptr) return;
    is_found = search.fits<typename Entry::Shape>(index, found.operands);
    if (is_found) found.code = Entry::code;
  };
  FusedSteps::for_each(look);
  OtherFusedSteps::for_each(look);
  return is_found;
}

uint8_t numbers_of_fused(uint16_t code) {
  uint8_t numbers = 0;
  FusedSteps::for_each([&]<class Entry>(Entry) {
    if (Entry::code == code) numbers = Entry::numbers;
  });
  return numbers;
}

}  // namespace bp::cpu::tile

#include "dialect/spirv_blocks.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <unordered_map>
#include <vector>

namespace bp::codegen {
namespace {

// Numbers from the SPIR-V specification.
enum Opcode : std::uint32_t {
  op_function_end = 56,
  op_loop_merge = 246,
  op_label = 248,
  op_branch = 249,
  op_branch_conditional = 250,
  op_switch = 251,
};
constexpr std::size_t header_words = 5;

// From its label up to the next, in words of the module.
struct Block {
  std::size_t begin = 0, end = 0;
  std::size_t last = 0;                      // the instruction that leaves it
  std::size_t hint_begin = 0, hint_end = 0;  // what is left out
};

class Function {
 public:
  explicit Function(const std::vector<std::uint32_t>& words) : words_(words) {}
  void clear() {
    blocks_.clear();
    places_.clear();
  }

  bool is_empty() const { return blocks_.empty(); }
  void begin_block(std::size_t at) {
    end_block(at);
    places_[words_[at + 1]] = blocks_.size();
    blocks_.push_back({at, at, at, at, at});
  }
  void see(std::size_t at) {
    if (!blocks_.empty()) blocks_.back().last = at;
  }
  void leave_out(std::size_t at, std::size_t length) {
    Block& block = blocks_.back();
    if (block.hint_end != at) block.hint_begin = at;
    block.hint_end = at + length;
  }
  void end_block(std::size_t at) {
    if (!blocks_.empty()) blocks_.back().end = at;
  }

  // Every block behind all those on each way to it that does not come back (reverse postorder), so behind its dominators. Those
  // that nobody reaches come last.
  void write(std::vector<std::uint32_t>& to) const {
    std::vector<std::size_t> order = postorder();
    std::reverse(order.begin(), order.end());
    std::vector<bool> is_written(blocks_.size());
    for (const std::size_t each : order) is_written[each] = true;
    for (std::size_t i = 0; i < blocks_.size(); ++i)
      if (!is_written[i]) order.push_back(i);
    for (const std::size_t each : order) {
      const Block& block = blocks_[each];
      copy(block.begin, block.hint_begin, to);
      copy(block.hint_end, block.end, to);
    }
  }

 private:
  void copy(std::size_t begin, std::size_t end, std::vector<std::uint32_t>& to) const {
    to.insert(to.end(), words_.begin() + static_cast<std::ptrdiff_t>(begin),
              words_.begin() + static_cast<std::ptrdiff_t>(end));
  }
  // Without recursion: functions may have thousands of blocks.
  std::vector<std::size_t> postorder() const {
    struct Visit {
      std::size_t block, next;
      std::vector<std::size_t> successors;
    };
    std::vector<std::size_t> order;
    std::vector<bool> is_seen(blocks_.size());
    std::vector<Visit> path{{0, 0, successors_of(0)}};
    is_seen[0] = true;
    while (!path.empty()) {
      Visit& visit = path.back();
      if (visit.next == visit.successors.size()) {
        order.push_back(visit.block);
        path.pop_back();
        continue;
      }
      const std::size_t successor = visit.successors[visit.next++];
      if (is_seen[successor]) continue;
      is_seen[successor] = true;
      path.push_back({successor, 0, successors_of(successor)});
    }
    return order;
  }

  // The last one that is named is visited first, and so written last: the order changes little.
  std::vector<std::size_t> successors_of(std::size_t block) const {
    const std::size_t at = blocks_[block].last, length = words_[at] >> 16;
    std::vector<std::size_t> found;
    switch (words_[at] & 0xffff) {
      case op_branch: add(found, at + 1); break;
      case op_branch_conditional:
        add(found, at + 3);
        add(found, at + 2);
        break;
      case op_switch: add_cases(found, at, length); break;
      default: break;
    }
    return found;
  }

  void add(std::vector<std::size_t>& found, std::size_t at) const {
    const auto place = places_.find(words_[at]);
    if (place != places_.end()) found.push_back(place->second);
  }

  // A case is a number, of one word or two, and a label.
  void add_cases(std::vector<std::size_t>& found, std::size_t at, std::size_t length) const {
    std::size_t step = 2;
    for (std::size_t i = at + 4; i < at + length; i += 2)
      if (!places_.count(words_[i])) step = 3;
    for (std::size_t i = at + 2 + step; i < at + length; i += step) add(found, i);
    add(found, at + 2);
  }

  const std::vector<std::uint32_t>& words_;
  std::vector<Block> blocks_;
  std::unordered_map<std::uint32_t, std::size_t> places_;  // of a label, among the blocks
};

}  // namespace

std::string order_blocks(std::string_view module) {
  if (module.size() % 4 != 0 || module.size() / 4 < header_words) return std::string(module);
  std::vector<std::uint32_t> words(module.size() / 4);
  std::memcpy(words.data(), module.data(), module.size());
  std::vector<std::uint32_t> ordered(words.begin(), words.begin() + header_words);
  Function function(words);
  for (std::size_t at = header_words; at < words.size();) {
    const std::size_t length = words[at] >> 16;
    if (length == 0 || length > words.size() - at) return std::string(module);
    const std::uint32_t opcode = words[at] & 0xffff;
    if (opcode == op_label) function.begin_block(at);
    if (opcode == op_function_end && !function.is_empty()) {
      function.end_block(at);
      function.write(ordered);
      function.clear();
    }
    if (function.is_empty())
      ordered.insert(ordered.end(), words.begin() + static_cast<std::ptrdiff_t>(at),
                     words.begin() + static_cast<std::ptrdiff_t>(at + length));
    if (opcode == op_loop_merge && !function.is_empty()) function.leave_out(at, length);
    function.see(at);
    at += length;
  }
  if (!function.is_empty()) return std::string(module);
  return std::string(reinterpret_cast<const char*>(ordered.data()), 4 * ordered.size());
}

}  // namespace bp::codegen

#include "pickle.hpp"

#include <bit>
#include <unordered_map>

#include <backplane/files/file_errors.hpp>

namespace bp::serialize {
namespace {

using Kind = PickledValue::Kind;

// Python's pickletools has these numbers, for protocols 2 to 5.
enum Opcode : unsigned char {
  op_mark = '(',
  op_stop = '.',
  op_pop = '0',
  op_pop_mark = '1',
  op_dup = '2',
  op_binfloat = 'G',
  op_binint = 'J',
  op_binint1 = 'K',
  op_binint2 = 'M',
  op_none = 'N',
  op_binpersid = 'Q',
  op_reduce = 'R',
  op_binstring = 'T',
  op_short_binstring = 'U',
  op_binunicode = 'X',
  op_append = 'a',
  op_build = 'b',
  op_global = 'c',
  op_dict = 'd',
  op_appends = 'e',
  op_binget = 'h',
  op_long_binget = 'j',
  op_list = 'l',
  op_binput = 'q',
  op_long_binput = 'r',
  op_setitem = 's',
  op_tuple = 't',
  op_setitems = 'u',
  op_empty_list = ']',
  op_empty_tuple = ')',
  op_empty_dict = '}',
  op_binbytes = 'B',
  op_short_binbytes = 'C',
  op_proto = 0x80,
  op_newobj = 0x81,
  op_tuple1 = 0x85,
  op_tuple2 = 0x86,
  op_tuple3 = 0x87,
  op_newtrue = 0x88,
  op_newfalse = 0x89,
  op_long1 = 0x8a,
  op_long4 = 0x8b,
  op_short_binunicode = 0x8c,
  op_binunicode8 = 0x8d,
  op_binbytes8 = 0x8e,
  op_stack_global = 0x93,
  op_memoize = 0x94,
  op_frame = 0x95,
};

class Machine {
 public:
  Machine(std::string_view bytes, const std::string& file) : bytes_(bytes), file_(file) {}

  Pickle run() {
    for (;;) {
      begin_ = at_;
      const auto opcode = static_cast<unsigned char>(take(1)[0]);
      if (opcode == op_stop) break;
      if (!push_constant(opcode) && !make_container(opcode) && !fill_container(opcode) &&
          !use_memo(opcode) && !call(opcode))
        refuse(fmt::format("opcode {:#04x}, which torch.save does not write", opcode));
    }
    pickle_.root = pop();
    return std::move(pickle_);
  }

 private:
  // Numbers, text and what else has no parts.
  bool push_constant(unsigned char opcode) {
    switch (opcode) {
      case op_none: return push({});
      case op_newtrue: return push_number(Kind::boolean, 1);
      case op_newfalse: return push_number(Kind::boolean, 0);
      case op_binint: return push_number(Kind::integer, static_cast<std::int32_t>(number(4)));
      case op_binint1: return push_number(Kind::integer, static_cast<std::int64_t>(number(1)));
      case op_binint2: return push_number(Kind::integer, static_cast<std::int64_t>(number(2)));
      case op_long1: return push_long(number(1));
      case op_long4: return push_long(number(4));
      case op_binfloat: return push_float();
      case op_short_binstring: return push_text(Kind::bytes, number(1));
      case op_binstring: return push_text(Kind::bytes, number(4));
      case op_short_binbytes: return push_text(Kind::bytes, number(1));
      case op_binbytes: return push_text(Kind::bytes, number(4));
      case op_binbytes8: return push_text(Kind::bytes, number(8));
      case op_short_binunicode: return push_text(Kind::text, number(1));
      case op_binunicode: return push_text(Kind::text, number(4));
      case op_binunicode8: return push_text(Kind::text, number(8));
      default: return false;
    }
  }

  bool make_container(unsigned char opcode) {
    switch (opcode) {
      case op_mark: return push_number(Kind::mark, 0);
      case op_empty_list: return push_items(Kind::list, {});
      case op_empty_tuple: return push_items(Kind::tuple, {});
      case op_empty_dict: return push_items(Kind::dict, {});
      case op_list: return push_items(Kind::list, pop_to_mark());
      case op_tuple: return push_items(Kind::tuple, pop_to_mark());
      case op_dict: {
        std::vector<std::uint32_t> items = pop_to_mark();
        check_pairs(items);
        return push_items(Kind::dict, std::move(items));
      }
      case op_tuple1: return push_tuple(1);
      case op_tuple2: return push_tuple(2);
      case op_tuple3: return push_tuple(3);
      default: return false;
    }
  }

  bool fill_container(unsigned char opcode) {
    switch (opcode) {
      case op_append: return fill(Kind::list, {pop()});
      case op_appends: return fill(Kind::list, pop_to_mark());
      case op_setitem: {
        const std::uint32_t value = pop(), key = pop();
        return fill(Kind::dict, {key, value});
      }
      case op_setitems: {
        const std::vector<std::uint32_t> items = pop_to_mark();
        check_pairs(items);
        return fill(Kind::dict, items);
      }
      default: return false;
    }
  }

  bool use_memo(unsigned char opcode) {
    switch (opcode) {
      case op_binput: return memoize(number(1));
      case op_long_binput: return memoize(number(4));
      case op_memoize: return memoize(memo_.size());
      case op_binget: return recall(number(1));
      case op_long_binget: return recall(number(4));
      case op_pop: return pop_any(), true;
      case op_pop_mark: return pop_to_mark(), true;
      case op_dup: return push_again(top());
      default: return false;
    }
  }

  bool call(unsigned char opcode) {
    switch (opcode) {
      case op_proto: {
        const std::uint64_t protocol = number(1);
        if (protocol < 2 || protocol > 5)
          refuse(fmt::format("protocol {}; 2 to 5 can be read", protocol));
        return true;
      }
      case op_frame: return number(8), true;
      case op_global: {
        const std::string module = line();
        return push_global(module, line());
      }
      case op_stack_global: {
        const std::string name = text_of(pop()), module = text_of(pop());
        return push_global(module, name);
      }
      case op_newobj:
      case op_reduce: {
        const std::uint32_t arguments = pop(), callee = pop();
        if (pickle_.values[callee].kind != Kind::global ||
            pickle_.values[arguments].kind != Kind::tuple)
          refuse(fmt::format("a call of {} with {}", kind_of(pickle_.values[callee]),
                             kind_of(pickle_.values[arguments])));
        const std::string name = pickle_.values[callee].text;
        stack_.push_back(call_global(pickle_, name, arguments, file_));
        return true;
      }
      case op_build: {
        pop();  // the attributes
        build_global(pickle_, top(), file_);
        return true;
      }
      case op_binpersid: {
        const std::uint32_t id = pop();
        stack_.push_back(load_storage(pickle_, id, file_));
        return true;
      }
      default: return false;
    }
  }

  bool push(PickledValue value) {
    stack_.push_back(add_value(pickle_, std::move(value), file_));
    return true;
  }
  bool push_number(Kind kind, std::int64_t value) {
    PickledValue made;
    made.kind = kind;
    made.integer = value;
    return push(std::move(made));
  }
  bool push_items(Kind kind, std::vector<std::uint32_t> items) {
    PickledValue made;
    made.kind = kind;
    made.items = std::move(items);
    return push(std::move(made));
  }
  bool push_text(Kind kind, std::uint64_t length) {
    PickledValue made;
    made.kind = kind;
    made.text = take(length);
    return push(std::move(made));
  }
  bool push_float() {
    const std::string_view bytes = take(8);
    std::uint64_t bits = 0;
    for (const char c : bytes)
      bits = bits << 8 | static_cast<unsigned char>(c);  // big-endian, alone here
    PickledValue made;
    made.kind = Kind::real;
    made.real = std::bit_cast<double>(bits);
    return push(std::move(made));
  }
  // Two's complement of any length.
  bool push_long(std::uint64_t length) {
    const std::string_view bytes = take(length);
    if (length > 8) refuse(fmt::format("a number of {} bytes; at most 8 can be read", length));
    std::uint64_t bits = length > 0 && (bytes.back() & 0x80) ? ~std::uint64_t{0} : 0;
    for (std::size_t i = length; i-- > 0;) bits = bits << 8 | static_cast<unsigned char>(bytes[i]);
    return push_number(Kind::integer, static_cast<std::int64_t>(bits));
  }
  bool push_tuple(int size) {
    std::vector<std::uint32_t> items(static_cast<std::size_t>(size));
    for (std::size_t i = items.size(); i-- > 0;) items[i] = pop();
    return push_items(Kind::tuple, std::move(items));
  }
  // Refused before anybody calls it.
  bool push_global(const std::string& module, const std::string& name) {
    PickledValue made;
    made.kind = Kind::global;
    made.text = module + "." + name;
    BP_CHECK(is_known_global(made.text),
             "{}: names {}, which is not loaded here: only tensors, dicts, lists, numbers and text "
             "are; in PyTorch, save "
             "the state_dict() of modules and plain values of the rest",
             file_, files::shown(made.text));
    return push(std::move(made));
  }

  bool fill(Kind kind, const std::vector<std::uint32_t>& items) {
    PickledValue& container = pickle_.values[top()];
    if (container.kind != kind) refuse(fmt::format("items for {}", kind_of(container)));
    container.items.insert(container.items.end(), items.begin(), items.end());
    count_items(pickle_, items.size(), file_);
    return true;
  }

  bool push_again(std::uint32_t value) {
    if (stack_.size() > 2 * most_pickle_values) refuse("too many values at once");
    stack_.push_back(value);
    return true;
  }
  bool memoize(std::uint64_t slot) {
    memo_[slot] = top();
    if (memo_.size() > most_pickle_values) refuse("too many memos");
    return true;
  }
  bool recall(std::uint64_t slot) {
    const auto found = memo_.find(slot);
    if (found == memo_.end()) refuse(fmt::format("memo {}, which was not put", slot));
    return push_again(found->second);
  }

  void check_pairs(const std::vector<std::uint32_t>& items) const {
    if (items.size() % 2 != 0) refuse("a key without a value");
  }
  const std::string& text_of(std::uint32_t index) const {
    if (pickle_.values[index].kind != Kind::text) refuse("a name that is not text");
    return pickle_.values[index].text;
  }

  std::uint32_t pop_any() {
    if (stack_.empty()) refuse("a use of the empty stack");
    const std::uint32_t value = stack_.back();
    stack_.pop_back();
    return value;
  }
  std::uint32_t top() const {
    if (stack_.empty() || pickle_.values[stack_.back()].kind == Kind::mark)
      refuse("a use of the empty stack");
    return stack_.back();
  }
  std::uint32_t pop() {
    const std::uint32_t value = top();
    stack_.pop_back();
    return value;
  }
  std::vector<std::uint32_t> pop_to_mark() {
    std::size_t first = stack_.size();
    while (first > 0 && pickle_.values[stack_[first - 1]].kind != Kind::mark) --first;
    if (first == 0) refuse("an end without its beginning");
    std::vector<std::uint32_t> items(stack_.begin() + static_cast<std::ptrdiff_t>(first),
                                     stack_.end());
    stack_.resize(first - 1);
    return items;
  }

  std::string_view take(std::uint64_t length) {
    BP_CHECK(length <= bytes_.size() - at_,
             "{}: byte {} of the pickle needs {} more, and {} are left; is the file cut off?",
             file_, begin_, length, bytes_.size() - at_);
    const std::string_view taken = bytes_.substr(at_, length);
    at_ += length;
    return taken;
  }
  std::uint64_t number(unsigned length) {
    const std::string_view bytes = take(length);
    std::uint64_t value = 0;
    for (unsigned i = 0; i < length; ++i)
      value |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
    return value;
  }
  std::string line() {
    constexpr std::size_t most = 1000;
    const std::size_t end = bytes_.substr(at_, most).find('\n');
    if (end == std::string_view::npos) refuse("a name without an end");
    const std::string text(take(end));
    take(1);
    return text;
  }

  [[noreturn]] void refuse(const std::string& what) const {
    throw_error(ErrorClass::bad_argument,
                fmt::format("{}: byte {} of the pickle has {}; was it written by torch.save?",
                            file_, begin_, what));
  }

  std::string_view bytes_;
  const std::string& file_;
  std::size_t at_ = 0, begin_ = 0;
  Pickle pickle_;
  std::vector<std::uint32_t> stack_;
  std::unordered_map<std::uint64_t, std::uint32_t> memo_;
};

}  // namespace

Pickle run_pickle(std::string_view bytes, const std::string& file) {
  BP_CHECK(bytes.size() <= most_pickle_bytes, "{}: a pickle of {} bytes, and at most {} are read",
           file, bytes.size(), most_pickle_bytes);
  return Machine(bytes, file).run();
}

std::uint32_t add_value(Pickle& pickle, PickledValue value, const std::string& file) {
  BP_CHECK(pickle.values.size() < most_pickle_values,
           "{}: has more than {} values; save lists of numbers as tensors", file,
           most_pickle_values);
  pickle.values.push_back(std::move(value));
  return static_cast<std::uint32_t>(pickle.values.size() - 1);
}

void count_items(Pickle& pickle, std::size_t num_items, const std::string& file) {
  pickle.num_items += num_items;
  BP_CHECK(pickle.num_items <= 4 * most_pickle_values,
           "{}: puts more than {} values into lists and dicts; save lists of numbers as tensors",
           file, 4 * most_pickle_values);
}

const char* kind_of(const PickledValue& value) {
  constexpr const char* kinds[] = {"None",       "a bool",    "an int",  "a float", "text",
                                   "bytes",      "a list",    "a tuple", "a dict",  "a tensor",
                                   "a function", "a storage", "a mark"};
  return kinds[static_cast<std::size_t>(value.kind)];
}

}  // namespace bp::serialize

// Operators by name, and their calls.
#include <cstddef>
#include <span>
#include <vector>

#include <backplane/dispatcher/call.hpp>
#include <backplane/dispatcher/operator_source.hpp>
#include <backplane/dispatcher/registry.hpp>
#include <backplane/runtime/generator.hpp>

#include "boundary.hpp"
#include "functions.hpp"

static_assert(BP_DEFAULT == bp::default_argument);

namespace bp::client {
namespace {

Operator& operator_of(const char* function, const bp_operator* op) {
  check_pointer(function, "op", op);
  // Callers hold the description that lies within the operator.
  const char* address = reinterpret_cast<const char*>(op) - offsetof(Operator, abi);
  return *const_cast<Operator*>(reinterpret_cast<const Operator*>(address));
}

// What only a caller in C can get wrong; the schema says the rest.
void check_value(const Operator& op, std::size_t place, const bp_value& value) {
  switch (value.tag) {
    case BP_BOOLEAN:
      BP_CHECK(value.u.i == 0 || value.u.i == 1, "{}: argument {} is the boolean {}; pass 0 or 1",
               op.name(), place, value.u.i);
      return;
    case BP_DEVICE:
      BP_CHECK(value.u.i >= 0 && value.u.i < max_devices,
               "{}: argument {} is device {}, which does not exist; find_device gives the numbers "
               "of those that do",
               op.name(), place, value.u.i);
      return;
    case BP_GENERATOR: {
      const auto* generator = static_cast<const bp_generator*>(value.u.ptr);
      BP_CHECK(value.aux == 0 && (!generator || generator->h.size >= sizeof(bp_generator)),
               "{}: argument {} is a generator whose size or aux is not set; set h.size to the "
               "size of bp_generator and aux to 0",
               op.name(), place);
      return;
    }
    default: return;
  }
}

inline std::span<const bp_value> checked_args(const char* function, const Operator& op,
                                              const bp_value* args, std::uint32_t num_args) {
  constexpr std::uint32_t checked = 1u << BP_BOOLEAN | 1u << BP_DEVICE | 1u << BP_GENERATOR;
  if (num_args != 0) check_pointer(function, "args", args);
  for (std::uint32_t i = 0; i < num_args; ++i)
    if (args[i].tag < 32 && (checked >> args[i].tag & 1u) != 0) check_value(op, i, args[i]);
  return {args, num_args};
}

// The caller's tensor, without a reference of our own: for calls that leave the handle alone.
class Borrowed {
 public:
  explicit Borrowed(const bp_tensor* tensor) : tensor_(Tensor::adopt(TensorImpl::of(tensor))) {}
  ~Borrowed() { tensor_.release(); }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;
  std::span<Tensor> span() { return {&tensor_, 1}; }

 private:
  Tensor tensor_;
};

// The tensors of a call's results: handles to the caller's, and room for new ones.
class Results {
 public:
  Results(bp_tensor** entries, std::uint32_t count) : entries_(entries), count_(count) {
    if (count > few_results) [[unlikely]]
      many_.resize(count);
    for (std::uint32_t i = 0; i < count; ++i)
      if (entries[i]) data()[i] = Tensor::share(TensorImpl::of(entries[i]));
  }
  std::span<Tensor> span() { return {data(), count_}; }
  void hand_over() {
    for (std::uint32_t i = 0; i < count_; ++i)
      if (!entries_[i]) entries_[i] = give(std::move(data()[i]));
  }

 private:
  Tensor* data() { return count_ > few_results ? many_.data() : few_; }

  bp_tensor** entries_;
  std::uint32_t count_;
  Tensor few_[few_results];
  std::vector<Tensor> many_;
};

}  // namespace

bp_code find_operator(const char* name, const bp_operator** out) noexcept {
  return guarded("find_operator", [&] {
    clear_output("find_operator", "out", out);
    check_pointer("find_operator", "name", name);
    ensure_operators();
    const Operator* op = bp::find_operator(name);
    // Operators that the core joins at run time may end while somebody holds this pointer.
    BP_CHECK(op && !op->joined,
             "find_operator: there is no operator '{}'; 'backplane ops' lists them, and those of a "
             "plugin exist once it is loaded",
             name);
    *out = &op->abi;
  });
}

bp_code find_argument(const bp_operator* op, const char* name, std::uint32_t* position) noexcept {
  return guarded("find_argument", [&] {
    clear_output("find_argument", "position", position);
    check_pointer("find_argument", "name", name);
    const Operator& of = operator_of("find_argument", op);
    const int found = of.schema->find(name);
    BP_CHECK(found >= 0, "{}: there is no argument '{}'; the schema is {}", of.name(), name,
             of.schema->text);
    *position = static_cast<std::uint32_t>(found);
  });
}

bp_code count_results(const bp_operator* op, const bp_value* args, std::uint32_t num_args,
                      std::uint32_t* count) noexcept {
  return guarded("count_results", [&] {
    clear_output("count_results", "count", count);
    Operator& of = operator_of("count_results", op);
    *count = num_boxed_results(of, checked_args("count_results", of, args, num_args));
  });
}

bp_code call(const bp_operator* op, const bp_value* args, std::uint32_t num_args,
             bp_tensor** results, std::uint32_t num_results) noexcept {
  return guarded("call", [&] {
    Operator& of = operator_of("call", op);
    const std::span<const bp_value> given = checked_args("call", of, args, num_args);
    if (num_results != 0) check_pointer("call", "results", results);
    // The common kind of call, in which counting and clearing would cost as much as checking the arguments.
    if (num_results == 1 && results[0] && !of.count) {
      Borrowed out(results[0]);
      return call_boxed(of, given, out.span());
    }
    Results made(results, num_results);
    call_boxed(of, given, made.span());
    made.hand_over();
  });
}

bp_code manual_seed(std::uint64_t seed) noexcept {
  return guarded("manual_seed", [&] { bp::manual_seed(seed); });
}

}  // namespace bp::client

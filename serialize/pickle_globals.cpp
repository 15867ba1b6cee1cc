// The functions that a checkpoint may name, and what each makes of its arguments.
#include <map>
#include <optional>

#include <backplane/files/file_errors.hpp>
#include <backplane/tensor/shape.hpp>

#include "pickle.hpp"

namespace bp::serialize {
namespace {

using Kind = PickledValue::Kind;

constexpr std::pair<std::string_view, Dtype> storage_classes[] = {
    {"torch.FloatStorage", f32},
    {"torch.DoubleStorage", f64},
    {"torch.HalfStorage", f16},
    {"torch.BFloat16Storage", bf16},
    {"torch.LongStorage", i64},
    {"torch.IntStorage", i32},
    {"torch.ShortStorage", i16},
    {"torch.CharStorage", i8},
    {"torch.ByteStorage", u8},
    {"torch.BoolStorage", boolean},
    {"torch.ComplexFloatStorage", complex64},
    {"torch.ComplexDoubleStorage", complex128},
};
constexpr std::string_view untyped_storages[] = {"torch.storage.UntypedStorage",
                                                 "torch.UntypedStorage"};

std::optional<Dtype> dtype_of_storage(std::string_view name) {
  for (const auto& [known, dtype] : storage_classes)
    if (known == name) return dtype;
  return {};
}

bool is_untyped(std::string_view name) {
  return name == untyped_storages[0] || name == untyped_storages[1];
}

// "torch.float32", for those that exist here.
std::optional<Dtype> dtype_called(std::string_view name) {
  if (!name.starts_with("torch.")) return {};
  name.remove_prefix(6);
  for (unsigned i = 0; i < num_dtypes; ++i)
    if (bp::name(static_cast<Dtype>(i)) == name) return static_cast<Dtype>(i);
  return {};
}

// The arguments of one call, by place.
class Call {
 public:
  Call(Pickle& pickle, const std::string& name, std::uint32_t arguments, const std::string& file)
      : pickle_(pickle), name_(name), file_(file), items_(pickle.values[arguments].items) {
    count_items(pickle, items_.size(), file);
  }

  std::size_t size() const { return items_.size(); }
  std::uint32_t item(std::size_t place, Kind kind) const {
    if (place >= items_.size()) refuse(fmt::format("{} arguments", items_.size()));
    const PickledValue& found = pickle_.values[items_[place]];
    if (found.kind != kind) refuse(fmt::format("{} as argument {}", kind_of(found), place));
    return items_[place];
  }
  const PickledValue& at(std::size_t place, Kind kind) const {
    return pickle_.values[item(place, kind)];
  }
  bool is(std::size_t place, Kind kind) const {
    return place < items_.size() && pickle_.values[items_[place]].kind == kind;
  }
  std::vector<std::int64_t> numbers(std::size_t place) const {
    std::vector<std::int64_t> out;
    if (at(place, Kind::tuple).items.size() > 64) refuse("more than 64 sizes");
    for (const std::uint32_t each : at(place, Kind::tuple).items) {
      if (pickle_.values[each].kind != Kind::integer)
        refuse(kind_of(pickle_.values[each]) + std::string(" as a size"));
      out.push_back(pickle_.values[each].integer);
    }
    return out;
  }
  [[noreturn]] void refuse(const std::string& what) const {
    throw_error(ErrorClass::bad_argument,
                fmt::format("{}: {} is called with {}; was the file written by torch.save?", file_,
                            name_, what));
  }

  std::uint32_t add(PickledValue value) const {
    return add_value(pickle_, std::move(value), file_);
  }
  std::uint32_t add_text(std::string text) const {
    PickledValue made;
    made.kind = Kind::text;
    made.text = std::move(text);
    return add(std::move(made));
  }
  std::uint32_t add_items(Kind kind, std::vector<std::uint32_t> items) const {
    PickledValue made;
    made.kind = kind;
    made.items = std::move(items);
    count_items(pickle_, made.items.size(), file_);
    return add(std::move(made));
  }

  Pickle& pickle() const { return pickle_; }
  const std::string& file() const { return file_; }

 private:
  Pickle& pickle_;
  const std::string& name_;
  const std::string& file_;
  std::vector<std::uint32_t> items_;  // a copy: new values move the old ones
};

// Every element lies within the storage.
void check_reach(const Call& call, const PickledTensor& tensor, std::uint64_t numel) {
  const auto shape = [&] {
    return fmt::format(
        "a tensor of sizes [{}], strides [{}] and offset {}, and its storage has {} elements",
        fmt::join(tensor.sizes, ", "), fmt::join(tensor.strides, ", "), tensor.offset, numel);
  };
  if (tensor.sizes.size() != tensor.strides.size() || tensor.offset < 0) call.refuse(shape());
  if (tensor.sizes.size() > static_cast<std::size_t>(max_rank)) call.refuse(shape());
  bool is_empty = false, fits = true;
  std::int64_t last = tensor.offset, count = 1;
  for (std::size_t i = 0; i < tensor.sizes.size(); ++i) {
    const std::int64_t size = tensor.sizes[i], stride = tensor.strides[i];
    if (size < 0 || stride < 0) call.refuse(shape());
    is_empty = is_empty || size == 0;
    std::int64_t step = 0;
    fits = fits && !__builtin_mul_overflow(std::max<std::int64_t>(size - 1, 0), stride, &step) &&
           !__builtin_add_overflow(last, step, &last) &&
           !__builtin_mul_overflow(count, std::max<std::int64_t>(size, 1), &count);
  }
  const std::uint64_t needed =
      is_empty ? static_cast<std::uint64_t>(tensor.offset) : static_cast<std::uint64_t>(last) + 1;
  if (!fits || count > INT64_MAX / 16 || needed > numel) call.refuse(shape());
}

// (storage, offset, sizes, strides, ...): with a dtype where the storage has none.
std::uint32_t rebuild_tensor(const Call& call, std::size_t dtype_place) {
  PickledTensor tensor;
  tensor.storage = static_cast<std::size_t>(call.at(0, Kind::storage).integer);
  const PickledStorage& storage = call.pickle().storages[tensor.storage];
  tensor.offset = call.at(1, Kind::integer).integer;
  tensor.sizes = call.numbers(2);
  tensor.strides = call.numbers(3);
  tensor.dtype = storage.dtype;
  if (dtype_place > 0) {
    const auto dtype = dtype_called(call.at(dtype_place, Kind::global).text);
    if (!dtype) call.refuse(files::shown(call.at(dtype_place, Kind::global).text) + " as a dtype");
    tensor.dtype = *dtype;
  }
  if (storage.has_dtype && storage.dtype != tensor.dtype)
    call.refuse(
        fmt::format("a storage of {} for a tensor of {}", name(storage.dtype), name(tensor.dtype)));
  if (!storage.has_dtype && dtype_place == 0) call.refuse("a storage without a dtype");
  check_reach(call, tensor,
              storage.has_dtype ? storage.numel : storage.numel / itemsize(tensor.dtype));
  // Marks of lazy conjugation and negation: the values in the storage are others.
  const std::size_t marks = dtype_place > 0 ? 7 : 6;
  if (call.is(marks, Kind::dict) && !call.at(marks, Kind::dict).items.empty())
    call.refuse("a conjugated or negated view; save x.resolve_conj().resolve_neg()");
  PickledValue made;
  made.kind = Kind::tensor;
  made.integer = static_cast<std::int64_t>(call.pickle().tensors.size());
  call.pickle().tensors.push_back(std::move(tensor));
  return call.add(std::move(made));
}

std::uint32_t rebuild_v2(const Call& call) {
  return rebuild_tensor(call, 0);
}
std::uint32_t rebuild_v3(const Call& call) {
  return rebuild_tensor(call, 6);
}

// (tensor, requires_grad, hooks, ...)
std::uint32_t rebuild_parameter(const Call& call) {
  return call.item(0, Kind::tensor);
}

// (function, class, its arguments, attributes): a Parameter or tensor with attributes, which are left out.
std::uint32_t rebuild_from_type(const Call& call) {
  const std::string function = call.at(0, Kind::global).text;
  const std::string type = call.at(1, Kind::global).text;
  if (type != "torch.Tensor" && type != "torch.nn.parameter.Parameter" &&
      type != "torch.nn.Parameter")
    call.refuse(files::shown(type) + " as a class");
  if (function == "torch._tensor._rebuild_from_type_v2") call.refuse("itself");
  return call_global(call.pickle(), function, call.item(2, Kind::tuple), call.file());
}

// () or one list of pairs.
std::uint32_t ordered_dict(const Call& call) {
  std::vector<std::uint32_t> items;
  if (call.size() > 1) call.refuse(fmt::format("{} arguments", call.size()));
  if (call.size() == 1) {
    count_items(call.pickle(), call.at(0, Kind::list).items.size(), call.file());
    for (const std::uint32_t pair : call.at(0, Kind::list).items) {
      const PickledValue& value = call.pickle().values[pair];
      const bool is_pair =
          (value.kind == Kind::list || value.kind == Kind::tuple) && value.items.size() == 2;
      if (!is_pair) call.refuse(kind_of(value) + std::string(" for a pair"));
      items.insert(items.end(), value.items.begin(), value.items.end());
    }
  }
  const std::uint32_t made = call.add_items(Kind::dict, std::move(items));
  call.pickle().values[made].is_ordered_dict = true;
  return made;
}

// What schedulers count their milestones with: a dict.
std::uint32_t counter(const Call& call) {
  if (call.size() == 0) return call.add_items(Kind::dict, {});
  return call.add_items(Kind::dict, call.at(0, Kind::dict).items);
}

std::uint32_t size(const Call& call) {
  call.numbers(0);
  return call.add_items(Kind::list, call.at(0, Kind::tuple).items);
}

// ('cpu',) or ('cuda', 0)
std::uint32_t device_text(const Call& call) {
  std::string text = call.at(0, Kind::text).text;
  if (call.size() > 1 && !call.is(1, Kind::none))
    text += fmt::format(":{}", call.at(1, Kind::integer).integer);
  return call.add_text(std::move(text));
}

using Function = std::uint32_t (*)(const Call& call);
constexpr std::pair<std::string_view, Function> functions[] = {
    {"torch._utils._rebuild_tensor", rebuild_v2},
    {"torch._utils._rebuild_tensor_v2", rebuild_v2},
    {"torch._utils._rebuild_tensor_v3", rebuild_v3},
    {"torch._utils._rebuild_parameter", rebuild_parameter},
    {"torch._utils._rebuild_parameter_with_state", rebuild_parameter},
    {"torch._tensor._rebuild_from_type_v2", rebuild_from_type},
    {"collections.OrderedDict", ordered_dict},
    {"collections.Counter", counter},
    {"torch.Size", size},
    {"torch.device", device_text},
};
// Those that are only named.
constexpr std::string_view names[] = {"torch.Tensor", "torch.nn.parameter.Parameter",
                                      "torch.nn.Parameter"};

Function function_called(std::string_view name) {
  for (const auto& [known, function] : functions)
    if (known == name) return function;
  return nullptr;
}

}  // namespace

bool is_dtype_name(std::string_view name) {
  return dtype_called(name).has_value();
}

bool is_known_global(std::string_view name) {
  for (const std::string_view each : names)
    if (each == name) return true;
  return function_called(name) || dtype_of_storage(name) || is_untyped(name) || dtype_called(name);
}

std::uint32_t call_global(Pickle& pickle, const std::string& name, std::uint32_t arguments,
                          const std::string& file) {
  const Function function = function_called(name);
  BP_CHECK(function,
           "{}: calls {}, a function that is not loaded here; was the file written by "
           "torch.save?",
           file, files::shown(name));
  return function(Call(pickle, name, arguments, file));
}

void build_global(const Pickle& pickle, std::uint32_t object, const std::string& file) {
  const PickledValue& value = pickle.values[object];
  BP_CHECK(value.is_ordered_dict, "{}: gives attributes to {}; was the file written by torch.save?",
           file, kind_of(value));
}

std::uint32_t load_storage(Pickle& pickle, std::uint32_t id, const std::string& file) {
  const std::string name = "a persistent id";
  BP_CHECK(pickle.values[id].kind == Kind::tuple,
           "{}: a persistent id is {}, not a tuple; was the file written by "
           "torch.save?",
           file, kind_of(pickle.values[id]));
  const Call call(pickle, name, id, file);
  if (call.at(0, Kind::text).text != "storage")
    call.refuse(files::shown(call.at(0, Kind::text).text));
  const std::string type = call.at(1, Kind::global).text;
  const auto dtype = dtype_of_storage(type);
  if (!dtype && !is_untyped(type)) call.refuse(files::shown(type) + " as a storage");
  const std::int64_t numel = call.at(4, Kind::integer).integer;
  if (numel < 0 || numel > INT64_MAX / 16) call.refuse(fmt::format("{} elements", numel));
  PickledValue made;
  made.kind = Kind::storage;
  made.integer = static_cast<std::int64_t>(pickle.storages.size());
  pickle.storages.push_back({call.at(2, Kind::text).text, dtype.has_value(), dtype.value_or(u8),
                             static_cast<std::uint64_t>(numel)});
  return call.add(std::move(made));
}

}  // namespace bp::serialize

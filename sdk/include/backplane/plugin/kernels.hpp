// Kernels and operators of a plugin: typed functions, and what they accept, as the data that the host
// reads. Include plugin.hpp.
#ifndef BACKPLANE_PLUGIN_KERNELS_HPP
#define BACKPLANE_PLUGIN_KERNELS_HPP

#include <deque>
#include <memory>
#include <vector>

#include <backplane/plugin/output_spec.hpp>
#include <backplane/plugin/signature.hpp>

namespace BP_SDK BP_HIDDEN {

// The plan that .plan() of a kernel makes for all calls with the same dtypes, shapes, strides, alignments and other
// arguments: an object that run() gets as call.plan<T>(), which the host destroys when no call uses it any more, and how much workspace
// each call gets. Planned<> for a workspace alone.
struct Nothing {};
template <class T = Nothing> struct Planned {
  std::unique_ptr<const T> own;
  uint64_t workspace = 0;  // bytes
  uint64_t alignment = 0;  // of the workspace; 0: the device's own
};

namespace detail {

using AnyFunction = void (*)();

struct KernelRecord {
  bp_kernel kernel{};
  std::vector<bp_arg> args;
  AnyFunction run = nullptr, supports = nullptr, plan = nullptr;
  bool has_dtypes = false;
};

struct OperatorRecord {
  bp_custom_operator op{};
  AnyFunction infer = nullptr;
};

// ---- From the call's values to typed parameters ------------------------------------------------------

template <class T> struct Argument;
template <> struct Argument<In> {
  static In read(const bp_value& value) { return In(value.u.tensor); }
};
template <> struct Argument<InOrNumber> {
  static InOrNumber read(const bp_value& value) { return InOrNumber(value); }
};
template <> struct Argument<InList> {
  static InList read(const bp_value& value) {
    return {static_cast<const bp_tensor* const*>(value.u.ptr), value.aux};
  }
};
template <> struct Argument<InListOrNumber> {
  static InListOrNumber read(const bp_value& value) { return InListOrNumber(value); }
};
template <> struct Argument<OptionalInList> {
  static OptionalInList read(const bp_value& value) {
    return {static_cast<const bp_tensor* const*>(value.u.ptr), value.aux};
  }
};
template <> struct Argument<Generator> {
  static Generator read(const bp_value& value) {
    const auto* generator = static_cast<const bp_generator*>(value.u.ptr);
    return {generator->seed, generator->offset};
  }
};
template <> struct Argument<Scalar> {
  static Scalar read(const bp_value& value) { return Scalar(value); }
};
template <> struct Argument<int64_t> {
  static int64_t read(const bp_value& value) { return Scalar(value).to_int(); }
};
template <> struct Argument<double> {
  static double read(const bp_value& value) { return Scalar(value).to_double(); }
};
template <> struct Argument<bool> {
  static bool read(const bp_value& value) { return value.u.i != 0; }
};
template <class T> struct Argument<List<T>> {
  static List<T> read(const bp_value& value) {
    return {static_cast<const T*>(value.u.ptr), value.aux};
  }
};
template <> struct Argument<std::string_view> {
  static std::string_view read(const bp_value& value) {
    return {static_cast<const char*>(value.u.ptr), value.aux};
  }
};
template <> struct Argument<Dtype> {
  static Dtype read(const bp_value& value) { return static_cast<Dtype>(value.u.i); }
};
template <> struct Argument<DeviceNumber> {
  static DeviceNumber read(const bp_value& value) { return {static_cast<uint32_t>(value.u.i)}; }
};
template <class T> struct Argument<std::optional<T>> {
  static std::optional<T> read(const bp_value& value) {
    if (value.tag == BP_NONE) return std::nullopt;
    return Argument<T>::read(value);
  }
};

// Only where a kernel takes double or int64_t for a Scalar can the caller's number not fit.
template <class Given, class Wanted> bool number_fits(const bp_value& value) {
  if constexpr (std::is_same_v<Given, Wanted> || !std::is_same_v<Wanted, Scalar>) return true;
  const Scalar number(value);
  constexpr int64_t exact = int64_t{1} << 53;
  if (number.is_complex()) return false;
  if (number.is_integer()) {
    return std::is_same_v<Given, int64_t> || (value.u.i >= -exact && value.u.i <= exact);
  }
  if constexpr (std::is_same_v<Given, double>) return true;
  return value.u.f >= -9223372036854775808.0 && value.u.f < 9223372036854775808.0 &&
         static_cast<double>(static_cast<int64_t>(value.u.f)) == value.u.f;
}

template <class Op, class F, size_t I> Parameter<F, I + 1> read_place(const bp_call& call) {
  using Given = Parameter<F, I + 1>;
  if constexpr (I < Places<Op>::num_args) {
    return Argument<Given>::read(call.args[I]);
  } else if constexpr (std::is_same_v<Given, OutList>) {
    constexpr size_t first = I - Places<Op>::num_args;
    return {call.outputs + first, call.num_outputs - first};
  } else {
    return Given(call.outputs[I - Places<Op>::num_args]);
  }
}

template <class R> struct TypeOfPlan {};
template <class T> struct TypeOfPlan<Result<Planned<T>>> { using type = T; };
template <class R, class = void> inline constexpr bool is_planned = false;
template <class R>
inline constexpr bool is_planned<R, std::void_t<typename TypeOfPlan<R>::type>> = true;

template <class Op, class F> struct KernelEntry {
  static bp_code run(void* self, const bp_call* call) noexcept {
    return guarded([=] { return invoke(self, *call, places(), args()); });
  }

  static bp_code supports(void* self, const bp_call* call) noexcept {
    return guarded([=] { return ask(self, *call, places()); });
  }

  static bp_code plan(void* self, const bp_call* call, bp_plan* out) noexcept {
    return guarded([=] { return make_plan(self, *call, *out, places(), args()); });
  }

  static void release_plan(void*, const void* own) noexcept {
    delete static_cast<const typename TypeOfPlan<typename Function<F>::Result>::type*>(own);
  }

 private:
  static constexpr auto places() { return std::make_index_sequence<Places<Op>::count>(); }
  static constexpr auto args() { return std::make_index_sequence<Places<Op>::num_args>(); }

  template <size_t... P, size_t... A>
  static Status invoke(void* self, const bp_call& call, std::index_sequence<P...>,
                       std::index_sequence<A...>) {
    if (!numbers_fit<A...>(call)) return does_not_take_the_number();
    auto* function = reinterpret_cast<F*>(static_cast<KernelRecord*>(self)->run);
    return function(Call(&call), read_place<Op, F, P>(call)...);
  }

  template <size_t... P, size_t... A>
  static Status make_plan(void* self, const bp_call& call, bp_plan& out, std::index_sequence<P...>,
                          std::index_sequence<A...>) {
    if (!numbers_fit<A...>(call)) return does_not_take_the_number();
    auto* function = reinterpret_cast<F*>(static_cast<KernelRecord*>(self)->plan);
    auto made = function(Call(&call), read_place<Op, F, P>(call)...);
    if (!made.is_ok()) return made.status();
    out.workspace = made.value().workspace;
    out.alignment = made.value().alignment;
    out.own = made.value().own.release();
    return ok;
  }

  template <size_t... A> static bool numbers_fit(const bp_call& call) {
    using Wanted = Places<Op>;
    return (1 & ... &
            int{number_fits<Parameter<F, A + 1>, typename Wanted::template type<A>>(
                call.args[A])}) != 0;
  }

  static Status does_not_take_the_number() {
    return unsupported("%s: this kernel cannot take the given number exactly", Op::name);
  }

  template <size_t... P>
  static Status ask(void* self, const bp_call& call, std::index_sequence<P...>) {
    auto* function = reinterpret_cast<F*>(static_cast<KernelRecord*>(self)->supports);
    const bool yes = function(Call(&call), read_place<Op, F, P>(call)...);
    return Status::from_host(yes ? BP_OK : BP_UNSUPPORTED);
  }
};

template <class Op, class F> struct InferEntry;
template <class Op, class... P> struct InferEntry<Op, Status(P...)> {
  static_assert(sizeof...(P) == Places<Op>::count,
                "infer takes one parameter for each argument of the operator's schema, and one "
                "bp::OutputSpec (bp::OutputSpecs for a Tensor[]) for each result");

  static bp_code run(void* self, const bp_call* call, bp_output_spec* outputs) noexcept {
    return guarded([=] { return invoke(self, *call, outputs, std::index_sequence_for<P...>()); });
  }

 private:
  using Parameters = typename Function<Status(P...)>::Parameters;

  template <size_t... I>
  static Status invoke(void* self, const bp_call& call, bp_output_spec* outputs,
                       std::index_sequence<I...>) {
    auto* function = reinterpret_cast<Status (*)(P...)>(static_cast<OperatorRecord*>(self)->infer);
    return function(read<I>(call, outputs)...);
  }

  template <size_t I>
  static std::tuple_element_t<I, Parameters> read(const bp_call& call, bp_output_spec* outputs) {
    using Given = std::tuple_element_t<I, Parameters>;
    constexpr size_t num_args = Places<Op>::num_args;
    if constexpr (I < num_args) {
      using Wanted = typename Places<Op>::template type<I>;
      static_assert(accepts<Given, Wanted>, "infer takes what the operator's schema says");
      return Argument<Given>::read(call.args[I]);
    } else {
      using Wanted = typename Places<Op>::template type<I>;
      using Spec = std::conditional_t<std::is_same_v<Wanted, OutList>, OutputSpecs, OutputSpec>;
      static_assert(std::is_same_v<Given, Spec>,
                    "infer's last parameters are bp::OutputSpec, for a Tensor[] bp::OutputSpecs");
      if constexpr (std::is_same_v<Spec, OutputSpecs>)
        return OutputSpecs(outputs + (I - num_args), call.num_outputs - (I - num_args));
      else
        return OutputSpec(outputs + (I - num_args));
    }
  }
};

template <class F> using Pointee = std::remove_pointer_t<decltype(+std::declval<F>())>;

}  // namespace detail

// ---- What a kernel declares --------------------------------------------------------------------------

// By default layouts are contiguous and nothing else is promised; dtypes must be given. `place`
// names one argument or output, as in .dtypes(bp::op::gather::place::index, bp::i64).
template <class Op> class KernelBuilder {
 public:
  using place = typename Op::place;

  explicit KernelBuilder(detail::KernelRecord* record) : record_(record) {}

  // Of all tensor arguments; of the outputs, if the operator has no tensor argument. The dtypes of other
  // outputs follow from the operator.
  template <class... Sets> KernelBuilder& dtypes(DtypeSet first, Sets... more) {
    constexpr bool of_outputs = num_tensor_args() == 0;
    for_each_tensor([&](size_t index) {
      if (of_outputs || index < Places::num_args)
        at(index).dtypes = (first | ... | DtypeSet(more)).bits;
    });
    record_->has_dtypes = true;
    return *this;
  }
  template <class... Sets> KernelBuilder& dtypes(place where, DtypeSet first, Sets... more) {
    at(where).dtypes = (first | ... | DtypeSet(more)).bits;
    return *this;
  }

  // Of all tensors, outputs too: each has one of these layouts.
  template <class... More> KernelBuilder& layouts(Layouts first, More... more) {
    for_each_tensor([&](size_t index) { at(index).layouts = (first | ... | Layouts(more)).bits; });
    return *this;
  }
  template <class... More> KernelBuilder& layouts(place where, Layouts first, More... more) {
    at(where).layouts = (first | ... | Layouts(more)).bits;
    return *this;
  }

  // Of all tensors, outputs too: each is in one of these memories of the device, by number; by default in main memory, 0.
  // The host copies operands from another one, and allocates outputs in the first of these that suits.
  template <class... More> KernelBuilder& spaces(uint32_t first, More... more) {
    for_each_tensor([&](size_t index) { at(index).spaces = bits_of(first, more...); });
    return *this;
  }
  template <class... More> KernelBuilder& spaces(place where, uint32_t first, More... more) {
    at(where).spaces = bits_of(first, more...);
    return *this;
  }

  // Both ends are included.
  KernelBuilder& rank(place where, uint8_t lowest, uint8_t highest) {
    at(where).min_rank = lowest;
    at(where).max_rank = highest;
    return *this;
  }
  // The alignment of the address of element 0, in bytes.
  KernelBuilder& alignment(place where, uint32_t bytes) {
    at(where).alignment = bytes;
    return *this;
  }

  // The highest that accepts a call takes it; 0 by default.
  KernelBuilder& priority(int32_t value) {
    record_->kernel.priority = value;
    return *this;
  }
  KernelBuilder& deterministic() { return set(BP_KERNEL_DETERMINISTIC); }
  KernelBuilder& capturable() { return set(BP_KERNEL_CAPTURABLE); }
  KernelBuilder& in_place_safe() { return set(BP_KERNEL_IN_PLACE_SAFE); }
  KernelBuilder& may_fault() { return set(BP_KERNEL_MAY_FAULT); }
  KernelBuilder& measured() { return set(BP_KERNEL_MEASURED); }  // runs where it is the faster one
  KernelBuilder& scratch() { return set(BP_KERNEL_SCRATCH); }    // asks for Call::workspace

  // `function` has the kernel's parameters and returns bool; it looks at the actual call, whose outputs
  // have no memory yet. Where it returns false, the call goes to the next candidate.
  template <class F> KernelBuilder& supports(F function) {
    using Written = detail::Pointee<F>;
    if constexpr (detail::fits<Op, Written, bool>()) {
      record_->supports = reinterpret_cast<detail::AnyFunction>(+function);
      record_->kernel.supports = detail::KernelEntry<Op, Written>::supports;
    }
    return *this;
  }

  // `function` has the kernel's parameters and returns bp::Result<bp::Planned<T>>; what it says holds for all calls of
  // one class, which it is asked for once (bp_kernel.plan in abi.h). The kernel then takes bp::Call as its first parameter
  // and finds call.plan<T>() and call.workspace(). Outputs have no memory yet where their shape depends on data.
  //
  //   bp::Result<bp::Planned<Tiles>> plan_matmul(bp::Stream, bp::In a, bp::In b, bp::Out) {
  //     bp::Planned<Tiles> planned{std::make_unique<Tiles>(choose_tiles(a.shape(), b.shape()))};
  //     planned.workspace = planned.own->packed_bytes;
  //     return bp::Result<bp::Planned<Tiles>>(std::move(planned));
  //   }
  //   k.add<bp::op::matmul>(matmul).plan(plan_matmul).dtypes(bp::f32);
  template <class F> KernelBuilder& plan(F function) {
    using Written = detail::Pointee<F>;
    using Answer = typename detail::Function<Written>::Result;
    static_assert(detail::is_planned<Answer>,
                  "what .plan() gets returns bp::Result<bp::Planned<T>>");
    if constexpr (detail::is_planned<Answer>) {
      if constexpr (detail::fits<Op, Written, Answer>()) {
        record_->plan = reinterpret_cast<detail::AnyFunction>(+function);
        record_->kernel.plan = detail::KernelEntry<Op, Written>::plan;
        record_->kernel.release_plan = detail::KernelEntry<Op, Written>::release_plan;
      }
    }
    return *this;
  }

 private:
  using Places = detail::Places<Op>;

  template <class... Spaces> static constexpr uint32_t bits_of(Spaces... spaces) {
    return (... | (uint32_t{1} << static_cast<uint32_t>(spaces)));
  }

  bp_arg& at(size_t index) { return record_->args[index]; }
  bp_arg& at(place where) { return record_->args[static_cast<size_t>(where)]; }

  KernelBuilder& set(uint32_t flag) {
    record_->kernel.flags |= flag;
    return *this;
  }

  template <class T>
  static constexpr bool is_tensor =
      std::is_same_v<T, In> || std::is_same_v<T, InOrNumber> ||
      std::is_same_v<T, std::optional<In>> || std::is_same_v<T, InList> ||
      std::is_same_v<T, InListOrNumber> || std::is_same_v<T, OptionalInList> ||
      std::is_same_v<T, Out> || std::is_same_v<T, OutList>;

  template <class Do> static constexpr void for_each_tensor(Do&& act) {
    visit(act, std::make_index_sequence<Places::count>());
  }
  template <class Do, size_t... I> static constexpr void visit(Do& act, std::index_sequence<I...>) {
    ((is_tensor<typename Places::template type<I>> ? act(I) : void()), ...);
  }
  static constexpr size_t num_tensor_args() {
    size_t count = 0;
    for_each_tensor([&](size_t index) { count += index < Places::num_args; });
    return count;
  }

  detail::KernelRecord* record_;
};

// The declaration of a plugin's own operator.
template <class Op> class OperatorBuilder {
 public:
  using place = typename Op::place;

  explicit OperatorBuilder(detail::OperatorRecord* record) : record_(record) {}

  // Shapes and dtypes of the outputs: Status(arguments..., OutputSpec for each). Without it, outputs are
  // as the first tensor. Threads: any.
  template <class F> OperatorBuilder& infer(F function) {
    record_->infer = reinterpret_cast<detail::AnyFunction>(+function);
    record_->op.infer = detail::InferEntry<Op, detail::Pointee<F>>::run;
    return *this;
  }

  // The derivative as data: operator `name` takes the gradients of the outputs, then the saved places.
  OperatorBuilder& backward(const char* name, List<place> saved = {}) {
    record_->op.backward = name;
    for (const place where : saved) {
      const auto index = static_cast<uint32_t>(where);
      constexpr uint32_t num_args = detail::Places<Op>::num_args;
      if (index < num_args)
        record_->op.saved_args |= uint64_t{1} << index;
      else
        record_->op.saved_outputs |= uint64_t{1} << (index - num_args);
    }
    return *this;
  }

 private:
  detail::OperatorRecord* record_;
};

// All kernels and operators of a plugin, filled by the functions that BP_KERNELS defines.
class Kernels {
 public:
  Kernels() = default;
  Kernels(const Kernels&) = delete;
  Kernels& operator=(const Kernels&) = delete;

  // `function`: a function or a lambda that captures nothing, Status(Stream, arguments..., Out...).
  template <class Op, class F> KernelBuilder<Op> add(F function) {
    using Written = detail::Pointee<F>;
    using Places = detail::Places<Op>;
    detail::KernelRecord& record = kernels_.emplace_back();
    if constexpr (detail::fits<Op, Written, Status>()) {
      bp_kernel& kernel = record.kernel;
      kernel.h = {sizeof kernel, BP_TYPE_KERNEL, nullptr};
      kernel.op = Op::name;
      kernel.schema_hash = Op::schema_hash;
      kernel.num_args = Places::count;
      kernel.run = detail::KernelEntry<Op, Written>::run;
      record.run = reinterpret_cast<detail::AnyFunction>(+function);
      record.args.resize(Places::count);
      mark_numbers<Op, Written>(record, std::make_index_sequence<Places::count>());
    }
    KernelBuilder<Op> builder(&record);
    if (!record.args.empty()) builder.layouts(contiguous);
    return builder;
  }

  // Brings an operator of the plugin's own, written like those of backplane/generated/ops.hpp; its name
  // has the maker's prefix: "acme::swish". Its kernels are added as any other's. Where names of arguments or results have
  // changed since it was published, `first_schema` has the first ones, and schema_hash is of that.
  template <class Op> OperatorBuilder<Op> define() {
    static_assert(detail::agrees_with_its_schema<Op>(),
                  "name, schema, schema_hash and signature of this operator do not say the same");
    detail::OperatorRecord& record = operators_.emplace_back();
    record.op.h = {sizeof record.op, BP_TYPE_CUSTOM_OPERATOR, nullptr};
    record.op.schema = Op::schema;
    record.op.first_schema = detail::FirstSchema<Op>::text;
    record.op.self = &record;
    return OperatorBuilder<Op>(&record);
  }

  // Hands the lists to `plugin`, which then points into this object.
  Status finish(bp_plugin& plugin) {
    for (detail::KernelRecord& record : kernels_) {
      if (!record.has_dtypes) {
        return internal("%s: a kernel must say its .dtypes(), bp::all for any", record.kernel.op);
      }
      record.kernel.args = record.args.data();
      record.kernel.self = &record;
      kernel_list_.push_back(&record.kernel);
    }
    for (detail::OperatorRecord& record : operators_) operator_list_.push_back(&record.op);
    plugin.kernels = kernel_list_.data();
    plugin.num_kernels = static_cast<uint32_t>(kernel_list_.size());
    plugin.operators = operator_list_.data();
    plugin.num_operators = static_cast<uint32_t>(operator_list_.size());
    return ok;
  }

 private:
  template <class Op, class F, size_t... I>
  static void mark_numbers(detail::KernelRecord& record, std::index_sequence<I...>) {
    ((record.args[I].scalar_ok = detail::takes_number<detail::Parameter<F, I + 1>>), ...);
  }

  std::deque<detail::KernelRecord> kernels_;
  std::deque<detail::OperatorRecord> operators_;
  std::vector<const bp_kernel*> kernel_list_;
  std::vector<const bp_custom_operator*> operator_list_;
};

}  // namespace BP_HIDDEN

// BP_KERNELS(pointwise) { k.add<bp::op::gelu>(gelu).dtypes(bp::floating); }
// At file scope, outside namespaces; BP_PLUGIN lists the names.
#define BP_KERNELS(group)                                    \
  BP_HIDDEN void bp_kernels_##group(bp::plugin::Kernels& k); \
  void bp_kernels_##group(bp::plugin::Kernels& k)

#endif  // BACKPLANE_PLUGIN_KERNELS_HPP

// full and arange: tensors from numbers.
#include <fmt/format.h>
#include <string_view>

#include "constants.hpp"
#include "dialect/expression_text.hpp"
#include "dialect/helpers.hpp"
#include "kinds/elementwise.hpp"
#include "kinds/kinds.hpp"

namespace bp::codegen {
namespace {

// One number for every element. `number`: its place in the schema.
class Full : public GeneratedKernel {
 public:
  Full(const Operator& op, int number)
      : name_(op.name()), number_(static_cast<std::uint32_t>(number)) {
    places = strided_places(op, op.dtypes & dtypes::computed);
  }

  void run(Invocation& invocation) const override {
    const bp_tensor& out = invocation.output();
    const auto dtype = static_cast<Dtype>(out.dtype);
    invocation.require(dtype);
    ElementwiseCall elements;
    elements.add(out);
    elements.launch(
        invocation, constants::factory_elements,
        [&](const Form& form) {
          return invocation.function(form.variant() | std::uint64_t{index(dtype)} << form_bits,
                                     [&] { return make_text(invocation, form, dtype); });
        },
        [&](Values& values) { add_number(values, invocation.arg(number_), dtype); });
  }

 private:
  KernelText make_text(const Invocation& invocation, const Form& form, Dtype dtype) const {
    ElementwiseText text;
    text.name = fmt::format("{}_{}", name_, suffix(dtype));
    text.form = form;
    text.for_cpu = invocation.for_cpu();
    text.language = invocation.device.language();
    if (has_vector_form(dtype))
      text.width = vector_width(invocation, bytes_of_type(compute_type(dtype)));
    text.operands = {{dtype, false}, {dtype, true}};
    text.step = [](unsigned, const auto& input, std::string&) { return input(1); };
    return elementwise_text(text);
  }

  std::string name_;
  std::uint32_t number_;
};

// Each element from its own product, so that errors do not add up: in u64 for integers, which wrap, and
// for floats in f64, or in f32 where the device has no other.
class Arange : public GeneratedKernel {
 public:
  explicit Arange(const Operator& op) : name_(op.name()) {
    places = strided_places(op, op.dtypes & dtypes::real);
  }

  void run(Invocation& invocation) const override {
    const bp_tensor& out = invocation.output();
    const auto dtype = static_cast<Dtype>(out.dtype);
    invocation.require(dtype);
    const Dtype computed = computed_in(invocation, dtype);
    const Sharing sharing = share(invocation, out.numel, constants::factory_elements, 64);
    const std::int64_t step = out.dl.ndim ? out.dl.strides[0] : 1;
    Values values;
    values.add(out.numel).add(sharing.each).add(offset_of(out)).add(step);
    const Dtype given = computed == Dtype::u64 ? Dtype::i64 : computed;
    add_number(values, invocation.arg(0), given);
    add_number(values, invocation.arg(2), given);
    const std::uint64_t variant = index(dtype) | std::uint64_t{index(computed)} << 5;
    bp_function* function = invocation.function(
        variant, [&] { return make_text(dtype, computed, invocation.for_cpu()); });
    Grid grid;
    grid.items[0] = sharing.items;
    invocation.launch(function, grid, {handle_of(out)}, values);
  }

 private:
  static Dtype computed_in(const Invocation& invocation, Dtype dtype) {
    if (!is_floating(dtype)) return Dtype::u64;
    return contains(invocation.info().compute_dtypes, Dtype::f64) ? Dtype::f64 : Dtype::f32;
  }

  KernelText make_text(Dtype dtype, Dtype computed, bool for_cpu) const {
    KernelText text;
    text.name = fmt::format("{}_{}_of_{}", name_, suffix(dtype), suffix(computed));
    text.num_memory = 1;
    text.values = {{"n"},
                   {"chunk"},
                   {"start"},
                   {"stride"},
                   number_field("first", computed),
                   number_field("step", computed)};
    const std::string_view type = compute_type(computed);
    text.body = fmt::format(
        "  const {0} first = {1}, step = {2};\n{3}"
        "    const {0} x = first + step * ({0})i;\n"
        "    store_{4}(m0 + v.start, i * v.stride, ({5})x);\n  }}\n",
        type, number_text("v.first", computed), number_text("v.step", computed),
        for_cpu ? "  const i64 begin = item0 * v.chunk;\n"
                  "  const i64 end = begin + v.chunk < v.n ? begin + v.chunk : v.n;\n"
                  "  for (i64 i = begin; i < end; ++i) {\n"
                : "  for (i64 i = item0; i < v.n; i += items0) {\n",
        suffix(dtype), compute_type(dtype));
    return text;
  }

  std::string name_;
};

}  // namespace

std::unique_ptr<GeneratedKernel> make_factory(const Operator& op) {
  const std::string_view name = op.name();
  if (name == "arange") return std::make_unique<Arange>(op);
  if (const int number = op.schema->find("fill_value"); number >= 0)
    return std::make_unique<Full>(op, number);
  return nullptr;
}

}  // namespace bp::codegen

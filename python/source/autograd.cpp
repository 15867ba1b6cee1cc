// Derivatives: what tensors know of theirs, going back, and functions whose derivative is written in Python.
#include <memory>
#include <optional>
#include <vector>

#include "objects.hpp"

namespace bp::python {
namespace {

// Holds an object of Python's where C++ copies and drops it on any thread.
std::shared_ptr<nb::object> shared(nb::handle object) {
  return {new nb::object(nb::borrow(object)), [](nb::object* held) {
            if (!Py_IsInitialized()) return;  // the interpreter is gone, and its objects with it
            nb::gil_scoped_acquire acquired;
            delete held;
          }};
}

autograd::BackwardOptions options_of(std::optional<bool> retain_graph, bool create_graph) {
  autograd::BackwardOptions options;
  options.retain_graph = retain_graph;
  options.create_graph = create_graph;
  return options;
}

nb::list hand_out(const std::vector<Tensor>& tensors) {
  nb::list list;
  for (const Tensor& each : tensors) list.append(object_or_none(each));
  return list;
}

// What Python's Function.forward and backward are given.
struct Context {
  autograd::FunctionContext* inner = nullptr;  // while one of them runs
};

autograd::FunctionContext& running(const Context& context) {
  if (!context.inner) throw nb::value_error("ctx is of use only while forward or backward runs");
  return *context.inner;
}

std::vector<Tensor> results_of(nb::object given, const char* name) {
  if (tensor_in(given.ptr()) || given.is_none() || PyTuple_Check(given.ptr()) ||
      PyList_Check(given.ptr()))
    return given.is_none() ? std::vector<Tensor>{Tensor()} : tensors_of(given, "a result");
  throw nb::type_error((std::string(name) + ": return a Tensor, or a tuple of them").c_str());
}

// Function.apply: tensors take part, other arguments are passed on, and get no derivative.
nb::object apply(nb::handle function, nb::args args) {
  std::vector<Tensor> inputs;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < args.size(); ++i)
    if (const Tensor* tensor = tensor_in(args[i].ptr())) {
      inputs.push_back(*tensor);
      places.push_back(i);
    }
  const std::string name = nb::cast<std::string>(function.attr("__name__"));
  const auto held_function = shared(function), held_args = shared(args);
  const auto context = shared(nb::cast(Context{}));
  const std::size_t num_args = args.size();
  bool is_tuple = false;
  autograd::Function description;
  description.name = name;
  description.forward = [&](autograd::FunctionContext& inner, std::span<const Tensor> seen) {
    nb::gil_scoped_acquire acquired;
    Context& ctx = nb::cast<Context&>(*context);
    ctx.inner = &inner;
    nb::list arguments;
    arguments.append(*context);
    std::size_t next = 0;
    for (std::size_t i = 0; i < num_args; ++i)
      if (next < places.size() && places[next] == i)
        arguments.append(nb::cast(seen[next++]));
      else
        arguments.append(args[i]);
    const nb::object result = held_function->attr("forward")(*nb::tuple(arguments));
    ctx.inner = nullptr;
    is_tuple = !tensor_in(result.ptr());
    return results_of(result, name.c_str());
  };
  description.backward = [held_function, context, places, num_args, name](
                             autograd::FunctionContext& inner, std::span<const Tensor> gradients) {
    nb::gil_scoped_acquire acquired;
    Context& ctx = nb::cast<Context&>(*context);
    ctx.inner = &inner;
    nb::list arguments;
    arguments.append(*context);
    for (const Tensor& each : gradients) arguments.append(object_or_none(each));
    const std::vector<Tensor> given =
        results_of(held_function->attr("backward")(*nb::tuple(arguments)), name.c_str());
    ctx.inner = nullptr;
    if (given.size() != num_args)
      throw nb::value_error((name + ".backward returned " + std::to_string(given.size()) +
                             " derivatives, and forward has " + std::to_string(num_args) +
                             " arguments; return None for those without one")
                                .c_str());
    std::vector<Tensor> wanted;
    for (const std::size_t place : places) wanted.push_back(given[place]);
    return wanted;
  };
  std::vector<Tensor> results = without_gil([&] { return autograd::apply(description, inputs); });
  if (!is_tuple) return object_or_none(results[0]);
  nb::list list = hand_out(results);
  return nb::tuple(list);
}

void add_context(nb::module_& module) {
  nb::class_<Context>(module, "FunctionContext", nb::dynamic_attr(),
                      "What one call of a Function keeps from forward to backward.")
      .def("save_for_backward",
           [](Context& self, nb::args tensors) {
             running(self).save(tensors_of(tensors, "save_for_backward: each"));
           })
      .def_prop_ro("saved_tensors",
                   [](const Context& self) { return nb::tuple(hand_out(running(self).saved())); })
      .def("mark_non_differentiable",
           [](Context& self, nb::args tensors) {
             for (nb::handle each : tensors)
               running(self).mark_non_differentiable(
                   tensor_of(each, "mark_non_differentiable: each"));
           })
      .def(
          "needs_input_grad",
          [](const Context& self, std::size_t tensor) {
            return running(self).needs_gradient(tensor);
          },
          nb::arg("tensor"), "Does anybody want the derivative by this tensor among the inputs?");
  module.def("apply_function", &apply);
}

}  // namespace

void add_autograd(nb::module_& module, nb::class_<Tensor>& tensor) {
  tensor.def(
      "requires_grad_",
      [](nb::object self, bool wanted) {
        set_requires_grad(self_of(self.ptr()), wanted);
        return self;
      },
      nb::arg("requires_grad") = true);
  tensor.def(
      "detach", [](const Tensor& self) { return detach(self); },
      "The same values in the same memory, outside of every record.");
  tensor.def("retain_grad", [](const Tensor& self) { retain_grad(self); });
  tensor.def(
      "backward",
      [](const Tensor& self, nb::handle gradient, std::optional<bool> retain_graph,
         bool create_graph) {
        const std::vector<Tensor> weights = tensors_of(gradient, "gradient");
        without_gil([&] {
          backward(self, weights.empty() ? Tensor() : weights[0],
                   options_of(retain_graph, create_graph));
        });
      },
      nb::arg("gradient") = nb::none(), nb::arg("retain_graph") = nb::none(),
      nb::arg("create_graph") = false,
      "Adds the derivatives of this tensor to the leaves that it was made of.");
  tensor.def(
      "register_hook",
      [](const Tensor& self, nb::callable hook) {
        const auto held = shared(hook);
        return autograd::register_hook(self, [held](const Tensor& gradient) {
          nb::gil_scoped_acquire acquired;
          const nb::object other = (*held)(object_or_none(gradient));
          return other.is_none() ? Tensor() : tensor_of(other, "what a hook returns");
        });
      },
      nb::arg("hook"),
      "Sees the derivative by this tensor, and may return another. Returns a number for "
      "remove_hook.");
  tensor.def(
      "remove_hook", [](const Tensor& self, std::uint64_t id) { autograd::remove_hook(self, id); },
      nb::arg("id"));

  module.def(
      "backward",
      [](nb::handle tensors, nb::handle gradients, std::optional<bool> retain_graph,
         bool create_graph) {
        const std::vector<Tensor> all = tensors_of(tensors, "tensors"),
                                  weights = tensors_of(gradients, "grad_tensors");
        without_gil(
            [&] { autograd::backward(all, weights, options_of(retain_graph, create_graph)); });
      },
      nb::arg("tensors"), nb::arg("grad_tensors") = nb::none(),
      nb::arg("retain_graph") = nb::none(), nb::arg("create_graph") = false);
  module.def(
      "grad",
      [](nb::handle outputs, nb::handle inputs, nb::handle gradients,
         std::optional<bool> retain_graph, bool create_graph, bool allow_unused) {
        const std::vector<Tensor> of = tensors_of(outputs, "outputs"),
                                  by = tensors_of(inputs, "inputs"),
                                  weights = tensors_of(gradients, "grad_outputs");
        const std::vector<Tensor> found = without_gil([&] {
          return autograd::grad(of, by, weights, options_of(retain_graph, create_graph),
                                allow_unused);
        });
        return nb::tuple(hand_out(found));
      },
      nb::arg("outputs"), nb::arg("inputs"), nb::arg("grad_outputs") = nb::none(),
      nb::arg("retain_graph") = nb::none(), nb::arg("create_graph") = false,
      nb::arg("allow_unused") = false,
      "The derivatives of `outputs` by `inputs`, returned and not accumulated.");
  module.def("is_grad_enabled", &is_grad_enabled);
  // Both return what was there before, for who puts it back.
  module.def("exclude_layers", [](bool autograd_too, bool inference) {
    ThreadState& state = thread_state();
    const std::uint64_t before = state.excluded_layers;
    const std::uint64_t keys = key_of(Layer::autograd);
    state.excluded_layers = autograd_too ? before | keys : before & ~keys;
    const std::uint64_t marks = state.new_tensor_keys;
    if (inference) {
      state.excluded_layers |= key_of(Layer::inference);
      state.new_tensor_keys |= key_of(Layer::inference);
    }
    return nb::make_tuple(before, marks);
  });
  module.def("restore_layers", [](std::uint64_t excluded, std::uint64_t marks) {
    thread_state().excluded_layers = excluded;
    thread_state().new_tensor_keys = marks;
  });
  module.def("is_inference", [](const Tensor& self) { return is_inference(self); });
  add_context(module);
}

}  // namespace bp::python

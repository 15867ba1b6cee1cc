// Derivatives: what tensors know of theirs, hooks, going back, and what is recorded at all.
#include <any>
#include <memory>
#include <optional>
#include <vector>

#include <backplane/autograd/anomaly.hpp>

#include "objects.hpp"
#include "same_object.hpp"

namespace bp::python {
namespace {

autograd::BackwardOptions options_of(std::optional<bool> retain_graph, bool create_graph) {
  autograd::BackwardOptions options;
  options.retain_graph = retain_graph;
  options.create_graph = create_graph;
  return options;
}

nb::tuple tuple_of(const std::vector<Tensor>& tensors) {
  nb::list list;
  for (const Tensor& each : tensors) list.append(object_or_none(each));
  return nb::tuple(list);
}

// Only the leaves in `inputs`, if any are given, get what comes back.
void go_back(const std::vector<Tensor>& tensors, const std::vector<Tensor>& weights,
             const autograd::BackwardOptions& options, const std::vector<Tensor>& inputs) {
  if (inputs.empty()) return autograd::backward(tensors, weights, options);
  const std::vector<Tensor> found = autograd::grad(tensors, inputs, weights, options, true);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!found[i].defined()) continue;
    const Tensor before = grad(inputs[i]);
    set_grad(inputs[i], before.defined() ? add(before, found[i]) : found[i]);
  }
}

Tensor call_hook(const nb::object& hook, const Tensor& gradient) {
  return with_gil([&] {
    const nb::object other = hook(object_or_none(gradient));
    return other.is_none() ? Tensor() : tensor_of(other, "what a hook returns");
  });
}

void add_hooks(TensorClass& tensor) {
  tensor.def(
      "_register_hook",
      [](const Tensor& self, nb::callable hook) {
        const auto held = shared(hook);
        return autograd::register_hook(
            self, [held](const Tensor& gradient) { return call_hook(*held, gradient); });
      },
      nb::arg("hook"));
  tensor.def(
      "_register_post_accumulate_grad_hook",
      [](const Tensor& self, nb::callable hook) {
        if (!is_leaf(self))
          throw nb::value_error(
              "register_post_accumulate_grad_hook: the tensor is not a leaf, and accumulates "
              "nothing; use register_hook");
        const auto held = shared(hook);
        // The leaf holds the hook, so that the hook must not hold the leaf.
        TensorImpl* const leaf = self.impl();
        return autograd::register_node_hook(
            self, [held, leaf](std::span<const Tensor>, std::span<const Tensor>) {
              with_gil([&] {
                (*held)(object_or_none(Tensor::share(leaf)));
                return true;
              });
              return std::vector<Tensor>();
            });
      },
      nb::arg("hook"));
  tensor.def(
      "_remove_hook", [](const Tensor& self, std::uint64_t id) { autograd::remove_hook(self, id); },
      nb::arg("id"));
}

// SavedTensorHooks is a scope of a thread; Python's `with` keeps one open.
class SavedTensorsHooks {
 public:
  SavedTensorsHooks(nb::callable pack, nb::callable unpack)
      : pack_(shared(pack)), unpack_(shared(unpack)) {}
  SavedTensorsHooks(const SavedTensorsHooks&) = delete;
  SavedTensorsHooks& operator=(const SavedTensorsHooks&) = delete;

  void enter() {
    const auto pack = pack_, unpack = unpack_;
    open_.push_back(std::make_unique<autograd::SavedTensorHooks>(
        [pack](const Tensor& tensor) -> std::any {
          return with_gil([&] { return shared((*pack)(object_or_none(tensor))); });
        },
        [unpack](const std::any& packed) {
          return with_gil([&] {
            const auto& held = std::any_cast<const std::shared_ptr<nb::object>&>(packed);
            return Tensor(tensor_of((*unpack)(*held), "what unpack returns"));
          });
        }));
  }
  void leave() {
    if (!open_.empty()) open_.pop_back();
  }

 private:
  std::shared_ptr<nb::object> pack_, unpack_;
  std::vector<std::unique_ptr<autograd::SavedTensorHooks>> open_;
};

void add_scopes(nb::module_& module) {
  nb::class_<SavedTensorsHooks>(
      module, "saved_tensors_hooks",
      "In a with statement: this thread's recorded calls keep what `pack_hook` makes of a tensor, "
      "and `unpack_hook` makes that a tensor again when backward needs it.")
      .def(nb::init<nb::callable, nb::callable>(), nb::arg("pack_hook"), nb::arg("unpack_hook"))
      .def("__enter__",
           [](nb::object self) {
             nb::cast<SavedTensorsHooks&>(self).enter();
             return self;
           })
      .def("__exit__", [](SavedTensorsHooks& self, nb::args) { self.leave(); });
  module.def(
      "_begin_detect_anomaly", [] { return new autograd::DetectAnomaly; },
      nb::rv_policy::take_ownership);
  nb::class_<autograd::DetectAnomaly>(module, "_DetectAnomaly");
  module.def("is_grad_enabled", &is_grad_enabled);
  module.def("is_inference_mode_enabled",
             [] { return (thread_state().new_tensor_keys & key_of(Layer::inference)) != 0; });
  // Both return what was there before, for who puts it back.
  module.def("exclude_layers", [](bool autograd_too, bool inference) {
    ThreadState& state = thread_state();
    const std::uint64_t before = state.excluded_layers, marks = state.new_tensor_keys;
    const std::uint64_t keys = key_of(Layer::autograd);
    state.excluded_layers = autograd_too ? before | keys : before & ~keys;
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
  module.def(
      "checkpoint",
      [](nb::callable function, nb::args args) {
        const auto held = shared(function), held_args = shared(args);
        std::vector<Tensor> inputs;
        std::vector<std::size_t> places;
        for (std::size_t i = 0; i < args.size(); ++i)
          if (const Tensor* tensor = tensor_in(nb::object(args[i]).ptr())) {
            inputs.push_back(*tensor);
            places.push_back(i);
          }
        const auto is_tuple = std::make_shared<bool>(false);
        const auto region = [held, held_args, places, is_tuple](std::span<const Tensor> seen) {
          return with_gil([&] {
            nb::list shown(*held_args);
            for (std::size_t i = 0; i < seen.size(); ++i) shown[places[i]] = nb::cast(seen[i]);
            const nb::object result = (*held)(*nb::tuple(shown));
            *is_tuple = !tensor_in(result.ptr());
            return tensors_of(result, "checkpoint: what the function returns");
          });
        };
        const std::vector<Tensor> results =
            without_gil([&] { return autograd::checkpoint(region, inputs); });
        return *is_tuple ? nb::object(tuple_of(results)) : object_or_none(results[0]);
      },
      nb::arg("function"), nb::arg("args"));
}

void add_backward(nb::module_& module, TensorClass& tensor) {
  tensor.def(
      "backward",
      [](const Tensor& self, nb::handle gradient, std::optional<bool> retain_graph,
         bool create_graph, nb::handle inputs) {
        const std::vector<Tensor> weights = tensors_of(gradient, "gradient"),
                                  leaves = tensors_of(inputs, "inputs");
        without_gil(
            [&] { go_back({self}, weights, options_of(retain_graph, create_graph), leaves); });
      },
      nb::arg("gradient") = nb::none(), nb::arg("retain_graph") = nb::none(),
      nb::arg("create_graph") = false, nb::arg("inputs") = nb::none(),
      "Adds the derivatives of this tensor to the leaves that it was made of, or to those in "
      "`inputs` alone.");
  module.def(
      "backward",
      [](nb::handle tensors, nb::handle gradients, std::optional<bool> retain_graph,
         bool create_graph, nb::handle inputs) {
        const std::vector<Tensor> all = tensors_of(tensors, "tensors"),
                                  weights = tensors_of(gradients, "grad_tensors"),
                                  leaves = tensors_of(inputs, "inputs");
        without_gil([&] { go_back(all, weights, options_of(retain_graph, create_graph), leaves); });
      },
      nb::arg("tensors"), nb::arg("grad_tensors") = nb::none(),
      nb::arg("retain_graph") = nb::none(), nb::arg("create_graph") = false,
      nb::arg("inputs") = nb::none(),
      "Adds the derivatives of the tensors, each weighted by its entry of `grad_tensors`, to the "
      "leaves that they were made of.");
  module.def(
      "grad",
      [](nb::handle outputs, nb::handle inputs, nb::handle gradients,
         std::optional<bool> retain_graph, bool create_graph, bool allow_unused) {
        const std::vector<Tensor> of = tensors_of(outputs, "outputs"),
                                  by = tensors_of(inputs, "inputs"),
                                  weights = tensors_of(gradients, "grad_outputs");
        return tuple_of(without_gil([&] {
          return autograd::grad(of, by, weights, options_of(retain_graph, create_graph),
                                allow_unused);
        }));
      },
      nb::arg("outputs"), nb::arg("inputs"), nb::arg("grad_outputs") = nb::none(),
      nb::arg("retain_graph") = nb::none(), nb::arg("create_graph") = false,
      nb::arg("allow_unused") = false,
      "The derivatives of `outputs` by `inputs`, returned and not accumulated.");
}

}  // namespace

std::shared_ptr<nb::object> shared(nb::handle object) {
  return {new nb::object(nb::borrow(object)), [](nb::object* held) {
            if (!Py_IsInitialized()) return;  // the interpreter is gone, and its objects with it
            with_gil([&] {
              delete held;
              return true;
            });
          }};
}

void add_autograd(nb::module_& module, TensorClass& tensor) {
  tensor.def(
      "requires_grad_",
      [](nb::object self, bool wanted) {
        set_requires_grad(self_of(self.ptr()), wanted);
        if (!wanted) drop_gradient_object(self.ptr());
        return self;
      },
      nb::arg("requires_grad") = true);
  tensor.def(
      "detach", [](const Tensor& self) { return detach(self); },
      "The same values in the same memory, outside of every record.");
  tensor.def(
      "detach_",
      [](nb::object self) {
        detach_(self_of(self.ptr()));
        drop_gradient_object(self.ptr());
        return self;
      },
      "Takes the tensor itself out of every record, and returns it.");
  tensor.def(
      "retain_grad", [](const Tensor& self) { retain_grad(self); },
      "From now on backward keeps the derivative of this tensor, which is not a leaf.");
  add_hooks(tensor);
  add_backward(module, tensor);
  add_scopes(module);
  add_functions(module);
}

}  // namespace bp::python

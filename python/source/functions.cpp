// Functions of Python's that the core calls: autograd.Function, whose derivative is written in Python, and vmap's.
#include <utility>
#include <vector>

#include <backplane/functional/vmap.hpp>

#include "objects.hpp"

namespace bp::python {
namespace {

// What Function.forward and backward are given as ctx.
struct Context {
  autograd::FunctionContext* inner = nullptr;  // while one of them runs
  std::vector<std::size_t> places;             // of the tensors among the arguments
  std::size_t num_args = 0;
  std::vector<bool> is_saved;   // of what was given to save_for_backward: None is not
  bool fills_gradients = true;  // with zeros where nothing came back
};

// Which derivatives did not come back to the call whose backward this thread runs next: the core has zeros there by then.
struct Absent {
  const Context* context = nullptr;
  std::vector<bool> is_absent;
};
thread_local Absent absent_next;

bool is_absent(const Context& context, std::size_t result) {
  return absent_next.context == &context && result < absent_next.is_absent.size() &&
         absent_next.is_absent[result];
}

// Of a call whose function has said set_materialize_grads(False).
void watch_absent(const Context* context, const std::vector<Tensor>& results) {
  for (const Tensor& result : results) {
    if (!requires_grad(result)) continue;
    autograd::register_node_pre_hook(result, [context](std::span<const Tensor> gradients) {
      absent_next = {context, {}};
      for (const Tensor& each : gradients) absent_next.is_absent.push_back(!each.defined());
      return std::vector<Tensor>();
    });
    return;  // one hook sees all results of the call
  }
}

// Shows `inner` in a context while it lives.
class Running {
 public:
  Running(Context& context, autograd::FunctionContext& inner)
      : context_(context), before_(std::exchange(context.inner, &inner)) {}
  ~Running() { context_.inner = before_; }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  Context& context_;
  autograd::FunctionContext* before_;
};

autograd::FunctionContext& running(const Context& context) {
  if (!context.inner) throw nb::value_error("ctx can only be used while forward or backward runs");
  return *context.inner;
}

// What forward returned: tensors take part in the record, the rest is handed to the caller as it is.
struct Results {
  nb::object given;  // a tuple
  bool is_tuple = false;
  std::vector<std::size_t> places;  // of tensors

  explicit Results(nb::object returned) {
    is_tuple = PyTuple_Check(returned.ptr()) || PyList_Check(returned.ptr());
    given = is_tuple ? nb::object(nb::tuple(returned)) : nb::object(nb::make_tuple(returned));
    for (std::size_t i = 0; i < nb::len(given); ++i)
      if (tensor_in(nb::object(given[i]).ptr())) places.push_back(i);
  }
  std::vector<Tensor> tensors() const {
    std::vector<Tensor> list;
    for (const std::size_t place : places)
      list.push_back(*tensor_in(nb::object(given[place]).ptr()));
    return list;
  }
  // Of a tensor that forward wrote in place, the caller's object.
  nb::object with(const std::vector<Tensor>& made) const {
    nb::list list(given);
    for (std::size_t i = 0; i < places.size(); ++i)
      if (!tensor_in(nb::object(given[places[i]]).ptr())->is_same(made[i]))
        list[places[i]] = object_or_none(made[i]);
    return is_tuple ? nb::object(nb::tuple(list)) : nb::object(list[0]);
  }
};

// forward(ctx, *args), or forward(*args) and then setup_context(ctx, args, result).
nb::object call_forward(nb::handle function, nb::handle context, const nb::tuple& args) {
  const nb::object forward = function.attr("forward"), setup = function.attr("setup_context");
  if (setup.is_none()) return forward(context, *args);
  nb::object result = forward(*args);
  setup(context, args, result);
  return result;
}

// The derivatives by the tensors, of what backward returned for all arguments.
std::vector<Tensor> derivatives_in(const nb::object& returned, const Context& context,
                                   const std::string& name) {
  const bool is_list = PyTuple_Check(returned.ptr()) || PyList_Check(returned.ptr());
  const nb::tuple given = is_list ? nb::tuple(returned) : nb::make_tuple(returned);
  if (given.size() < context.num_args || given.size() > context.num_args) {
    // Nones behind the last argument mean nothing.
    bool is_rest_none = given.size() > context.num_args;
    for (std::size_t i = context.num_args; i < given.size(); ++i)
      is_rest_none = is_rest_none && nb::object(given[i]).is_none();
    if (!is_rest_none)
      throw nb::value_error((name + ".backward returned " + std::to_string(given.size()) +
                             " derivatives, and forward has " + std::to_string(context.num_args) +
                             " arguments; return None for those without one")
                                .c_str());
  }
  std::vector<Tensor> wanted;
  const std::string what = name + ".backward: a derivative";
  for (const std::size_t place : context.places) {
    const nb::object each = given[place];
    wanted.push_back(each.is_none() ? Tensor() : tensor_of(each, what.c_str()));
  }
  return wanted;
}

// Function.apply: tensors take part, other arguments are passed on, and get no derivative.
nb::object apply(nb::handle function, nb::args args) {
  Context empty;
  empty.num_args = args.size();
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < args.size(); ++i)
    if (const Tensor* tensor = tensor_in(nb::object(args[i]).ptr())) {
      inputs.push_back(*tensor);
      empty.places.push_back(i);
    }
  const std::string name = nb::cast<std::string>(function.attr("__name__"));
  const auto held_function = shared(function);
  const auto context = shared(nb::cast(std::move(empty)));
  std::optional<Results> results;
  autograd::Function description;
  description.name = name;
  description.forward = [&](autograd::FunctionContext& inner, std::span<const Tensor> seen) {
    return with_gil([&] {
      Context& ctx = nb::cast<Context&>(*context);
      const Running while_it_runs(ctx, inner);
      nb::list shown(args);
      for (std::size_t i = 0; i < seen.size(); ++i)
        // The caller's own objects, unless another tensor stands for them here.
        if (!seen[i].is_same(inputs[i])) shown[ctx.places[i]] = nb::cast(seen[i]);
      results.emplace(call_forward(*held_function, *context, nb::tuple(shown)));
      if (results->places.empty())
        throw nb::type_error((name + ".forward: return a Tensor, or a tuple with one").c_str());
      return results->tensors();
    });
  };
  // Not from `results`, which are gone then.
  const auto num_results = std::make_shared<std::size_t>(0);
  const auto result_places = std::make_shared<std::vector<std::size_t>>();
  description.backward = [held_function, context, name, num_results, result_places](
                             autograd::FunctionContext& inner, std::span<const Tensor> gradients) {
    return with_gil([&] {
      Context& ctx = nb::cast<Context&>(*context);
      const Running while_it_runs(ctx, inner);
      nb::list arguments;
      arguments.append(*context);
      for (std::size_t i = 0; i < *num_results; ++i) arguments.append(nb::none());
      for (std::size_t i = 0; i < gradients.size(); ++i)
        if (ctx.fills_gradients || !is_absent(ctx, i))
          arguments[1 + (*result_places)[i]] = object_or_none(gradients[i]);
      const nb::object returned = held_function->attr("backward")(*nb::tuple(arguments));
      return derivatives_in(returned, ctx, name);
    });
  };
  const std::vector<Tensor> made =
      without_gil([&] { return autograd::apply(description, inputs); });
  *num_results = nb::len(results->given);
  *result_places = results->places;
  const Context& ctx = nb::cast<const Context&>(*context);
  if (!ctx.fills_gradients) watch_absent(&ctx, made);
  return results->with(made);
}

// `function` is called with the tensors at `places` of the arguments as those of one element; a tuple of its results.
nb::tuple vmapped(nb::handle function, const nb::tuple& args,
                  const std::vector<std::optional<std::int64_t>>& in_dims) {
  const auto held = shared(function), held_args = shared(args);
  if (in_dims.size() != args.size())
    throw nb::value_error("vmap: give one of in_dims for each argument");
  std::vector<Tensor> inputs;
  std::vector<std::optional<std::int64_t>> dims;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const Tensor* tensor = tensor_in(nb::object(args[i]).ptr());
    if (!tensor) continue;
    inputs.push_back(*tensor);
    dims.push_back(in_dims[i]);
    places.push_back(i);
  }
  const auto call = [held, held_args, places](std::span<const Tensor> seen) {
    return with_gil([&] {
      nb::list shown(*held_args);
      for (std::size_t i = 0; i < seen.size(); ++i) shown[places[i]] = nb::cast(seen[i]);
      return tensors_of((*held)(*nb::tuple(shown)), "vmap: what the function returns");
    });
  };
  nb::list results;
  for (const Tensor& each : without_gil([&] { return vmap(call, inputs, dims); }))
    results.append(object_or_none(each));
  return nb::tuple(results);
}

nb::tuple needs_input_grad(const Context& self) {
  nb::list list;
  for (std::size_t i = 0; i < self.num_args; ++i) list.append(nb::bool_(false));
  for (std::size_t i = 0; i < self.places.size(); ++i)
    list[self.places[i]] = nb::bool_(running(self).needs_gradient(i));
  return nb::tuple(list);
}

}  // namespace

void add_functions(nb::module_& module) {
  nb::class_<Context>(module, "FunctionContext", nb::dynamic_attr(), nb::is_weak_referenceable(),
                      "What one call of a Function keeps from forward to backward.")
      .def(
          "save_for_backward",
          [](Context& self, nb::args tensors) {
            std::vector<Tensor> saved;
            std::vector<bool> is_saved;
            for (const Tensor& each : tensors_of(tensors, "save_for_backward: each")) {
              is_saved.push_back(each.defined());
              if (each.defined()) saved.push_back(each);
            }
            running(self).save(std::move(saved));
            self.is_saved = std::move(is_saved);
          },
          "Keeps tensors, which backward finds in saved_tensors; a write in between is noticed.")
      .def_prop_ro("saved_tensors",
                   [](const Context& self) {
                     const std::vector<Tensor> saved = running(self).saved();
                     nb::list list;
                     std::size_t next = 0;
                     for (const bool is_saved : self.is_saved)
                       list.append(is_saved && next < saved.size() ? object_or_none(saved[next++])
                                                                   : nb::none());
                     return nb::tuple(list);
                   })
      .def(
          "mark_dirty",
          [](Context& self, nb::args tensors) {
            for (nb::handle each : tensors)
              running(self).mark_dirty(tensor_of(each, "mark_dirty: each"));
          },
          "In forward: these inputs are written in place, and returned.")
      .def("mark_non_differentiable",
           [](Context& self, nb::args tensors) {
             for (nb::handle each : tensors)
               running(self).mark_non_differentiable(
                   tensor_of(each, "mark_non_differentiable: each"));
           })
      .def(
          "set_materialize_grads", [](Context& self, bool value) { self.fills_gradients = value; },
          nb::arg("value"),
          "In forward: with False, backward gets None, and not zeros, where no derivative came "
          "back.")
      .def_prop_ro("needs_input_grad", &needs_input_grad,
                   "For each argument, whether its derivative is needed.");
  module.def("apply_function", &apply);
  module.def("_vmap", &vmapped, nb::arg("function"), nb::arg("args"), nb::arg("in_dims"));
}

}  // namespace bp::python

// What an optimizer asks of all parameters at once: a loop of C's in place of one of Python's.
#include "objects.hpp"
#include "same_object.hpp"

namespace bp::python {
namespace {

// What decides which parameters one call can step: gathered() gives 4 bytes for each.
struct Mark {
  std::uint16_t device;
  std::uint8_t dtype;
  std::uint8_t flags;  // 1: there is a gradient; 2: the parameter is dense
};
static_assert(sizeof(Mark) == 4);

const Tensor& parameter_at(const nb::list& parameters, std::size_t place) {
  return tensor_of(nb::handle(PyList_GET_ITEM(parameters.ptr(), static_cast<Py_ssize_t>(place))),
                   "a parameter");
}

nb::tuple gathered(const nb::list& parameters) {
  nb::list gradients;
  std::vector<Mark> marks;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Tensor& parameter = parameter_at(parameters, i);
    const bool is_dense = parameter.is_contiguous();
    Tensor gradient = grad(parameter);
    if (gradient.defined() && is_dense && !gradient.is_contiguous())
      gradient = without_gil([&] { return contiguous(gradient); });
    marks.push_back({static_cast<std::uint16_t>(parameter.device().number),
                     static_cast<std::uint8_t>(index(parameter.dtype())),
                     static_cast<std::uint8_t>((gradient.defined() ? 1 : 0) | (is_dense ? 2 : 0))});
    gradients.append(nb::steal(wrap(std::move(gradient))));
  }
  return nb::make_tuple(gradients, nb::bytes(marks.data(), marks.size() * sizeof(Mark)));
}

void forget_gradients(const nb::list& parameters) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    set_grad(parameter_at(parameters, i), Tensor());
    drop_gradient_object(PyList_GET_ITEM(parameters.ptr(), static_cast<Py_ssize_t>(i)));
  }
}

}  // namespace

void add_steps(nb::module_& module) {
  module.def("_gathered", &gathered,
             "The gradients of a list of tensors, None among them, and what their calls have in "
             "common, as bytes.");
  module.def("_forget_gradients", &forget_gradients);
}

}  // namespace bp::python

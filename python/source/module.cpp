// backplane._core: the part of the package that is written in C++.
#include "bit_view.hpp"
#include "gil.hpp"
#include "objects.hpp"

NB_MODULE(_core, module) {
  namespace python = bp::python;
  nanobind::set_leak_warnings(false);  // dtypes and operators live as long as the process
  module.doc() =
      "Tensors, operators, devices and derivatives of Backplane; use the package backplane.";
  module.attr("__version__") = BP_VERSION;
  module.attr("max_rank") = bp::max_rank;  // the most dimensions that a tensor has
  python::end_with_the_interpreter();
  python::add_errors(module);
  python::add_dtypes(module);
  python::add_devices(module);
  python::add_streams(module);
  python::add_tensor(module);
  python::add_creation(module);
  python::add_operators(module);
  python::add_bit_view(module);
  python::add_forms(module);
  python::add_size(module);
  python::add_steps(module);
  python::add_serialize(module);
  python::add_amp(module);
}

// Python's objects for tensors, dtypes and devices.
#pragma once

#include <memory>
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <optional>
#include <string>
#include <string_view>

#include <backplane/tensors.hpp>

#include "gil.hpp"
#include "limited.hpp"

namespace bp::python {

namespace nb = nanobind;

// What backplane.float32 is; there is one object for each dtype.
struct DtypeObject {
  Dtype dtype;
};
// backplane.device("acme:0").
struct DeviceObject {
  Device device;
};

// What an object of the class Tensor has beside the tensor. The garbage collector sees the reference.
struct Notes {
  PyObject* gradient;  // that x.grad gave last; null: none, or another since
  bool is_remembered;  // with the GIL: see same_object.hpp
};
struct TensorWithNotes : Tensor {
  Notes notes;
};
using TensorClass = nb::class_<Tensor, TensorWithNotes>;
Notes& notes_of(PyObject* object);

// Make the classes; each adds its own part to the module.
void add_errors(nb::module_& module);
void add_dtypes(nb::module_& module);
void add_devices(nb::module_& module);
void add_streams(nb::module_& module);
void add_tensor(nb::module_& module);
void add_creation(nb::module_& module);
void add_operators(nb::module_& module);
void add_serialize(nb::module_& module);
void add_amp(nb::module_& module);
void add_steps(nb::module_& module);
void add_numbers(nb::module_& module, TensorClass& tensor);
void add_iteration(TensorClass& tensor);
void add_moves(TensorClass& tensor);
void add_host_memory(TensorClass& tensor);
void add_forms(nb::module_& module);
void add_size(nb::module_& module);  // x.size
// Parts of the class Tensor; each ends with a zero.
extern PyType_Slot indexing_slots[];    // x[...] and x[...] = y
extern PyType_Slot arithmetic_slots[];  // x + y
extern PyType_Slot number_slots[];      // float(x)
extern PyGetSetDef attributes[];        // x.shape
extern PyMethodDef exchange_methods[];  // x.__dlpack__()
extern PyMethodDef fact_methods[];      // x.stride()
extern PyMethodDef number_methods[];    // x.item()
extern PyMethodDef move_methods[];      // x.to()
void add_exchange(nb::module_& module);
void add_autograd(nb::module_& module, TensorClass& tensor);
void add_functions(nb::module_& module);

// Holds an object of Python's where C++ copies and drops it on any thread.
std::shared_ptr<nb::object> shared(nb::handle object);

// Null: the object is not a tensor.
Tensor* tensor_in(PyObject* object);
// A new object of the class Tensor, which has one reference; null with Python's error set if there is no memory.
PyObject* wrap(Tensor&& tensor);
// Of a method's self, whose class Python has checked; throws TypeError if its __init__ has not run.
Tensor& self_of(PyObject* object);
// The tensor that an argument of a method is; throws TypeError otherwise.
const Tensor& tensor_of(nb::handle object, const char* what);
// One tensor, or a list of them in which None stands for an undefined one; throws TypeError otherwise.
std::vector<Tensor> tensors_of(nb::handle given, const char* what);

nb::object dtype_object(Dtype dtype);
extern PyObject* dtype_objects[num_dtypes];
// One object for each device, as long as the process.
nb::object device_object(Device device);
extern PyObject* device_objects[max_devices];  // null: nobody has asked for it yet
nb::object number_object(const Scalar& value);
// The only element; waits for the device.
Scalar item_of(const Tensor& tensor);
// None for an undefined one.
nb::object object_or_none(const Tensor& tensor);
// Also Python's own float, int, bool and complex, NumPy's dtypes, and names.
bool find_dtype(PyObject* object, Dtype& out);
// A device, or its name, whose plugin is loaded if need be. False: the object is neither.
bool find_device(PyObject* object, Device& out);
// None is the default device; throws TypeError for what is not a device.
Device device_argument(nb::handle object);
// By name; one that the core does not know may be of a plugin that pip installed. Throws as bp::device.
Device device_named(const std::string& name);
// Those that may offer a device of this name, or all, by None. Was there one that could be loaded?
bool load_installed_plugins(nb::handle name);

// The name of an object's type, for messages; until this thread's next call.
const char* type_name(nb::handle object);

// Sets Python's error from the C++ exception that is being handled.
void set_python_error();

// Calls `call`, whose exceptions become Python's; the rest of a slot of C's.
template <class F> auto guarded(F&& call, decltype(call()) failed = {}) noexcept {
  try {
    return staying(call);
  } catch (...) {
    set_python_error();
    return failed;
  }
}

// A tuple of ints; null with Python's error set if there is no memory.
PyObject* tuple_of(IntList list);
// A memory format by PyTorch's name; preserve_format is nothing: as it is. Throws ValueError for another.
std::optional<MemoryFormat> format_named(std::string_view name);

// Can the host read the elements at once, without waiting for a device?
bool is_ready(const Tensor& tensor);

}  // namespace bp::python

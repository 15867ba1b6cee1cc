// Files of tensors and of programs' states.
#include <filesystem>

#include <backplane/serialize/checkpoint.hpp>
#include <backplane/serialize/pytorch.hpp>
#include <backplane/serialize/safetensors.hpp>

#include "objects.hpp"
#include "values.hpp"

namespace bp::python {
namespace {

namespace files = bp::serialize;

constexpr int deepest = 200;  // as files have it

// By os.fsencode, since a name need not be UTF-8.
std::filesystem::path path_of(nb::handle object) {
  const nb::object name = nb::module_::import_("os").attr("fsencode")(object);
  return std::string(PyBytes_AS_STRING(name.ptr()),
                     static_cast<std::size_t>(PyBytes_GET_SIZE(name.ptr())));
}

std::string text_of(nb::handle object, const char* what) {
  if (!PyUnicode_Check(object.ptr())) {
    PyErr_Format(PyExc_TypeError, "%s must be a str, not %s", what, type_name(object.ptr()));
    throw nb::python_error();
  }
  Py_ssize_t size = 0;
  const char* const text = PyUnicode_AsUTF8AndSize(object.ptr(), &size);
  if (!text) throw nb::python_error();
  return {text, static_cast<std::size_t>(size)};
}

State state_of(nb::handle object, int depth);

State dict_state(nb::handle object, int depth) {
  State dict = State::dict();
  for (const auto [key, value] : nb::borrow<nb::dict>(object))
    dict.set(text_of(key, "save: a key"), state_of(value, depth + 1));
  return dict;
}

State list_state(nb::handle object, int depth) {
  State::List list;
  for (nb::handle each : nb::borrow(object)) list.push_back(state_of(each, depth + 1));
  return list;
}

State number_state(nb::handle object) {
  if (PyBool_Check(object.ptr())) return object.ptr() == Py_True;
  if (PyFloat_Check(object.ptr())) return PyFloat_AS_DOUBLE(object.ptr());
  if (std::int64_t integer = 0; find_integer(object.ptr(), integer)) return integer;
  PyErr_Format(PyExc_TypeError,
               "save: a file keeps tensors, numbers, text, None, lists and dicts of them, not %s",
               type_name(object.ptr()));
  throw nb::python_error();
}

State state_of(nb::handle object, int depth) {
  if (depth > deepest)
    throw nb::value_error("save: lists and dicts lie more than 200 deep in one another");
  if (object.is_none()) return {};
  if (const Tensor* tensor = tensor_in(object.ptr())) return detach(*tensor);
  if (PyUnicode_Check(object.ptr())) return text_of(object, "save: a text");
  if (PyDict_Check(object.ptr())) return dict_state(object, depth);
  if (PyList_Check(object.ptr())) return list_state(object, depth);
  return number_state(object);
}

nb::object object_of(const State& state) {
  if (state.is_tensor()) return nb::steal(wrap(Tensor(state.as_tensor())));
  if (state.is_bool()) return nb::bool_(state.as_bool());
  if (state.is_int()) return nb::int_(state.as_int());
  if (state.is_double()) return nb::float_(state.as_double());
  if (state.is_text()) return nb::str(state.as_text().data(), state.as_text().size());
  if (state.is_list()) {
    nb::list list;
    for (const State& each : state.as_list()) list.append(object_of(each));
    return list;
  }
  if (!state.is_dict()) return nb::none();
  nb::dict dict;
  for (const auto& [key, value] : state.entries())
    dict[nb::str(key.data(), key.size())] = object_of(value);
  return dict;
}

nb::dict dict_of(const nn::StateDict& tensors) {
  nb::dict dict;
  for (const auto& [name, tensor] : tensors)
    dict[nb::str(name.data(), name.size())] = nb::steal(wrap(Tensor(tensor)));
  return dict;
}

nb::dict dict_of(const files::Metadata& metadata) {
  nb::dict dict;
  for (const auto& [name, value] : metadata)
    dict[nb::str(name.data(), name.size())] = nb::str(value.data(), value.size());
  return dict;
}

void save_file(nb::handle tensors, nb::handle path, nb::handle metadata) {
  if (!PyDict_Check(tensors.ptr()))
    throw nb::type_error("save_file: give a dict of names and tensors");
  nn::StateDict dict;
  for (const auto [name, tensor] : nb::borrow<nb::dict>(tensors))
    dict.set(text_of(name, "save_file: a name"),
             detach(tensor_of(tensor, "save_file: what a name stands for")));
  files::Metadata texts;
  if (!metadata.is_none()) {
    if (!PyDict_Check(metadata.ptr()))
      throw nb::type_error("save_file: metadata must be a dict of texts");
    for (const auto [name, text] : nb::borrow<nb::dict>(metadata))
      texts[text_of(name, "save_file: a name of metadata")] =
          text_of(text, "save_file: a text of metadata");
  }
  const std::filesystem::path target = path_of(path);
  without_gil([&] { files::save_file(dict, target, texts); });
}

void add_safetensors(nb::module_& module) {
  nb::class_<files::SafetensorsFile>(
      module, "SafetensorsFile",
      "An open .safetensors file, checked as a whole; tensors are read when they are asked for.\n\n"
      "With `mapped`, tensors lie in the file itself, and the system reads a page when it is first "
      "touched: for files that are replaced by renaming and never written in place, since one that "
      "shrinks under its tensors ends the process.\n\n"
      "Raises:\n    ValueError: the file breaks the format; the message names it.")
      .def(
          "__init__",
          [](files::SafetensorsFile* self, nb::handle path, bool mapped) {
            const std::filesystem::path source = path_of(path);
            without_gil([&] { new (self) files::SafetensorsFile(source, {.mapped = mapped}); });
          },
          nb::arg("path"), nb::kw_only(), nb::arg("mapped") = false)
      .def("keys", &files::SafetensorsFile::keys, "In the order in which they lie in the file.")
      .def("__len__", [](const files::SafetensorsFile& self) { return self.keys().size(); })
      .def(
          "__contains__",
          [](const files::SafetensorsFile& self, const std::string& name) {
            return self.contains(name);
          },
          nb::arg("name"))
      .def("__iter__",
           [](const files::SafetensorsFile& self) {
             return nb::module_::import_("builtins").attr("iter")(nb::cast(self.keys()));
           })
      .def("metadata", [](const files::SafetensorsFile& self) { return dict_of(self.metadata()); })
      .def(
          "info",
          [](const files::SafetensorsFile& self, const std::string& name) {
            const files::TensorInfo info = self.info(name);
            return nb::make_tuple(dtype_object(info.dtype), nb::tuple(nb::cast(info.shape)));
          },
          nb::arg("name"), "The dtype and the shape.")
      .def(
          "get_tensor",
          [](const files::SafetensorsFile& self, const std::string& name) {
            return without_gil([&] { return self.get_tensor(name); });
          },
          nb::arg("name"))
      .def("get_tensors",
           [](const files::SafetensorsFile& self) {
             return dict_of(without_gil([&] { return self.get_tensors(); }));
           })
      .def("__enter__", [](nb::object self) { return self; })
      .def("__exit__", [](nb::handle, nb::args) {});
  module.def("_save_file", &save_file, nb::arg("tensors").none(), nb::arg("path").none(),
             nb::arg("metadata").none());
  module.def("_load_file", [](nb::handle path, bool mapped) {
    const std::filesystem::path source = path_of(path);
    return dict_of(without_gil([&] { return files::load_file(source, {.mapped = mapped}); }));
  });
}

}  // namespace

void add_serialize(nb::module_& module) {
  add_safetensors(module);
  // Of dicts with texts as keys, and lists.
  module.def(
      "_save_state",
      [](nb::handle tree, nb::handle path) {
        const std::filesystem::path target = path_of(path);
        const State state = state_of(tree, 0);
        without_gil([&] { files::save(target, state); });
      },
      nb::arg("tree").none(), nb::arg("path").none());
  module.def("_load_state", [](nb::handle path) {
    const std::filesystem::path source = path_of(path);
    return object_of(without_gil([&] { return files::load(source); }));
  });
  module.def("_load_pytorch", [](nb::handle path) {
    const std::filesystem::path source = path_of(path);
    return object_of(without_gil([&] { return files::load_pytorch(source); }));
  });
}

}  // namespace bp::python

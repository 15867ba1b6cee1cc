#include "operators.hpp"

#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <structmember.h>
#include <unordered_set>
#include <vector>

#include <backplane/core_ops/generated/rows.hpp>

#include "values.hpp"

namespace bp::python {
namespace {

enum class Form { functional, in_place };

// What a callable object calls.
struct Function {
  bp::Operator* op = nullptr;
  Form form = Form::functional;
  std::string name;
  std::string doc;
  std::vector<PyObject*> keywords;  // interned names of the arguments
  std::size_t num_positional = 0;
  // The argument whose integers may be given one by one, as in x.reshape(2, 3); -1: there is none.
  int spread = -1;
  bool takes_out = false;
  bool makes_leaves = false;            // takes requires_grad=
  bool is_second_name = false;          // of an operator, which its errors do not name
  PyTypeObject* result_type = nullptr;  // named results
};

struct FunctionObject {
  PyObject_HEAD vectorcallfunc call;
  const Function* function;
};

std::deque<Function>& functions() {
  static auto* all = new std::deque<Function>;  // as long as the process
  return *all;
}

struct Names {
  PyObject *out, *requires_grad, *axis, *keepdims, *dim, *keepdim;
};
Names names{};

// PyTorch takes NumPy's names of some arguments as well.
PyObject* usual_name(PyObject* keyword) {
  if (PyUnicode_Compare(keyword, names.axis) == 0) return names.dim;
  if (PyUnicode_Compare(keyword, names.keepdims) == 0) return names.keepdim;
  return keyword;
}

// The arguments of one call, sorted by the schema.
class Bound {
 public:
  Bound(const Function& function, PyObject* const* args, std::size_t num_args, PyObject* keywords)
      : function_(function), arguments_(function.op->schema->arguments) {
    std::memset(objects_, 0, arguments_.size() * sizeof *objects_);
    take_positional(args, num_args);
    const Py_ssize_t count = keywords ? PyTuple_GET_SIZE(keywords) : 0;
    for (Py_ssize_t i = 0; i < count; ++i)
      take_keyword(PyTuple_GET_ITEM(keywords, i), args[num_args + static_cast<std::size_t>(i)]);
  }

  void fill(Values& values) const {
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      if (num_spread_ != 0 && static_cast<int>(i) == function_.spread)
        values.set_integers(i, *function_.op, spread_, num_spread_);
      else if (objects_[i])
        values.set(i, *function_.op, objects_[i]);
      else if (arguments_[i].has_default)
        values.set(i, arguments_[i].default_value);
      else
        fail("%s() is missing the argument '%s'; its schema is %s", function_.name.c_str(),
             arguments_[i].name.c_str(), function_.op->schema->text.c_str());
    }
  }
  PyObject* first() const { return objects_[0]; }
  PyObject* out() const { return out_; }
  bool requires_grad() const { return requires_grad_; }

 private:
  template <class... A> [[noreturn]] static void fail(const char* format, A... values) {
    PyErr_Format(PyExc_TypeError, format, values...);
    throw nb::python_error();
  }

  void take_positional(PyObject* const* args, std::size_t num_args) {
    const auto spread = static_cast<std::size_t>(function_.spread);
    if (function_.spread >= 0 && num_args > spread + 1 && takes_all_from(spread, args, num_args)) {
      spread_ = args + spread;
      num_spread_ = num_args - spread;
      num_args = spread;
    }
    if (num_args > function_.num_positional)
      fail("%s() takes %zu positional arguments, not %zu; its schema is %s", function_.name.c_str(),
           function_.num_positional, num_args, function_.op->schema->text.c_str());
    for (std::size_t i = 0; i < num_args; ++i) objects_[i] = args[i];
  }
  // Are all the rest integers, more of them than the schema could mean otherwise?
  bool takes_all_from(std::size_t begin, PyObject* const* args, std::size_t num_args) const {
    for (std::size_t i = begin; i < num_args; ++i)
      if (PyBool_Check(args[i]) || !(PyLong_Check(args[i]) || PyIndex_Check(args[i]))) return false;
    if (begin + 1 >= function_.num_positional) return true;
    const ArgumentType next = arguments_[begin + 1].type;
    return next != ArgumentType::integer && next != ArgumentType::integer_list &&
           next != ArgumentType::scalar;
  }

  void take_keyword(PyObject* keyword, PyObject* value) {
    if (take_named(keyword, value)) return;
    PyObject* usual = usual_name(keyword);
    if (usual != keyword && take_named(usual, value)) return;
    if (function_.takes_out && PyUnicode_Compare(keyword, names.out) == 0) {
      if (value != Py_None) out_ = value;
      return;
    }
    if (function_.makes_leaves && PyUnicode_Compare(keyword, names.requires_grad) == 0) {
      requires_grad_ = PyObject_IsTrue(value) == 1;
      return;
    }
    fail("%s() has no argument '%U'; its schema is %s", function_.name.c_str(), keyword,
         function_.op->schema->text.c_str());
  }
  bool take_named(PyObject* keyword, PyObject* value) {
    for (std::size_t i = 0; i < arguments_.size(); ++i)
      if (function_.keywords[i] == keyword) return put(i, value);
    for (std::size_t i = 0; i < arguments_.size(); ++i)
      if (PyUnicode_Compare(function_.keywords[i], keyword) == 0) return put(i, value);
    return false;
  }
  bool put(std::size_t at, PyObject* value) {
    if (objects_[at] || (num_spread_ != 0 && static_cast<int>(at) == function_.spread))
      fail("%s() was given '%s' twice", function_.name.c_str(), arguments_[at].name.c_str());
    objects_[at] = value;
    return true;
  }

  const Function& function_;
  const std::vector<SchemaArgument>& arguments_;
  PyObject* objects_[Values::most];
  PyObject* const* spread_ = nullptr;
  std::size_t num_spread_ = 0;
  PyObject* out_ = nullptr;
  bool requires_grad_ = false;
};

Tensor tensor_at(const bp_value& value) {
  return Tensor::share(TensorImpl::of(value.u.tensor));
}

Tensor call_for_one(bp::Operator& op, bp_value* values, std::uint32_t count) {
  if (&op == &ops::matmul)  // the row takes no vectors
    return matmul(tensor_at(values[0]), tensor_at(values[1]));
  if (op.kind == BP_KIND_POINTWISE) return call_pointwise(op, values, count);
  if (op.view) return call_view(op, values, count);
  return call_one(op, values, count);
}

PyObject* tuple_of(const Function& function, std::vector<Tensor>&& results) {
  const bool is_named =
      function.result_type && results.size() == function.op->schema->returns.size();
  const auto size = static_cast<Py_ssize_t>(results.size());
  nb::object tuple =
      nb::steal(is_named ? PyStructSequence_New(function.result_type) : PyTuple_New(size));
  if (!tuple.is_valid()) return nullptr;
  for (Py_ssize_t i = 0; i < size; ++i) {
    PyObject* item = wrap(std::move(results[static_cast<std::size_t>(i)]));
    if (!item) return nullptr;
    if (is_named)
      PyStructSequence_SetItem(tuple.ptr(), i, item);
    else
      PyTuple_SET_ITEM(tuple.ptr(), i, item);
  }
  return tuple.release().ptr();
}

PyObject* call_into(const Function& function, const Bound& bound, bp_value* values,
                    std::uint32_t count) {
  bp::Operator& op = *function.op;
  PyObject* const target = function.form == Form::in_place ? bound.first() : bound.out();
  if (op.schema->returns.size() == 1) {
    const Tensor& out = tensor_of(target, "out");
    without_gil([&] {
      if (op.kind == BP_KIND_POINTWISE)
        call_pointwise_into(op, values, count, out);
      else
        call_one_into(op, values, count, out);
    });
    return nb::handle(target).inc_ref().ptr();
  }
  std::vector<Tensor> results;
  for (nb::handle each : nb::borrow(target)) results.push_back(tensor_of(each, "out"));
  if (results.size() != op.schema->returns.size()) {
    PyErr_Format(PyExc_TypeError, "%s: out has %zu tensors, and the operator gives %zu", op.name(),
                 results.size(), op.schema->returns.size());
    throw nb::python_error();
  }
  without_gil([&] {
    call_many_into(op, values, count, results.data(), static_cast<std::uint32_t>(results.size()));
  });
  return nb::handle(target).inc_ref().ptr();
}

PyObject* call_bound(const Function& function, const Bound& bound) {
  bp::Operator& op = *function.op;
  Values values;
  bound.fill(values);
  const auto count = static_cast<std::uint32_t>(op.schema->arguments.size());
  if (function.form == Form::in_place || bound.out())
    return call_into(function, bound, values.data(), count);
  const std::size_t num_results = op.schema->returns.size();
  if (num_results == 1 && !op.schema->returns_list()) {
    Tensor result = without_gil([&] {
      Tensor made = call_for_one(op, values.data(), count);
      if (bound.requires_grad()) set_requires_grad(made);
      return made;
    });
    return wrap(std::move(result));
  }
  std::vector<Tensor> results;
  without_gil([&] {
    if (num_results == 0)
      dispatch(Call{op, values.data(), count, nullptr, 0});
    else
      results = call_all(op, values.data(), count);
  });
  if (num_results == 0) Py_RETURN_NONE;
  return tuple_of(function, std::move(results));
}

// Of the exception that Python is to raise.
void rename_error(const std::string& name) {
  nb::python_error error;
  try {
    nb::module_::import_("backplane._named").attr("rename")(error.value(), name);
  } catch (
      const nb::python_error&) {  // as the interpreter ends: the other name is better than none
  }
  error.restore();
}

PyObject* call_function(PyObject* self, PyObject* const* args, std::size_t num_args,
                        PyObject* keywords) noexcept {
  const Function& function = *reinterpret_cast<FunctionObject*>(self)->function;
  try {
    return call_bound(
        function,
        Bound(function, args, static_cast<std::size_t>(PyVectorcall_NARGS(num_args)), keywords));
  } catch (...) {
    set_python_error();
    rename_error(function.name);
    return nullptr;
  }
}

// --- The type of these objects -------------------------------------------------------------------------------------------

PyObject* bind_method(PyObject* self, PyObject* object, PyObject*) {
  if (!object) return nb::handle(self).inc_ref().ptr();
  return PyMethod_New(self, object);
}
PyObject* get_name(PyObject* self, void*) {
  return PyUnicode_FromString(reinterpret_cast<FunctionObject*>(self)->function->name.c_str());
}
PyObject* get_module(PyObject*, void*) {
  return PyUnicode_FromString("backplane");
}
PyObject* get_doc(PyObject* self, void*) {
  return PyUnicode_FromString(reinterpret_cast<FunctionObject*>(self)->function->doc.c_str());
}
PyObject* get_schema(PyObject* self, void*) {
  return PyUnicode_FromString(
      reinterpret_cast<FunctionObject*>(self)->function->op->schema->text.c_str());
}
PyObject* show(PyObject* self) {
  return PyUnicode_FromFormat("<operator %s>",
                              reinterpret_cast<FunctionObject*>(self)->function->name.c_str());
}
PyObject* reduce(PyObject* self, PyObject*) {
  return get_name(self, nullptr);  // found by its name in the module, as functions are
}

PyObject* make_object(PyTypeObject* type, const Function& function) {
  auto* object = PyObject_New(FunctionObject, type);
  if (!object) return nullptr;
  object->call = call_function;
  object->function = &function;
  return reinterpret_cast<PyObject*>(object);
}

PyObject* under(PyObject* self, PyObject* name) {
  const char* text = PyUnicode_AsUTF8AndSize(name, nullptr);
  if (!text) return nullptr;
  Function& function = functions().emplace_back(*reinterpret_cast<FunctionObject*>(self)->function);
  function.name = text;
  function.is_second_name = true;
  return make_object(Py_TYPE(self), function);
}

PyTypeObject* make_function_type() {
  static PyGetSetDef attributes[] = {
      {"__name__", get_name, nullptr, nullptr, nullptr},
      {"__qualname__", get_name, nullptr, nullptr, nullptr},
      {"__module__", get_module, nullptr, nullptr, nullptr},
      {"__doc__", get_doc, nullptr, nullptr, nullptr},
      {"schema", get_schema, nullptr, "The operator's schema, one line of text.", nullptr},
      {}};
  static PyMethodDef methods[] = {
      {"__reduce__", reduce, METH_NOARGS, nullptr},
      {"under", under, METH_O, "The operator under another name, which its errors begin with."},
      {}};
  static PyMemberDef members[] = {
      {"__vectorcalloffset__", T_PYSSIZET, offsetof(FunctionObject, call), READONLY, nullptr}, {}};
  static PyType_Slot slots[] = {{Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                                {Py_tp_descr_get, reinterpret_cast<void*>(bind_method)},
                                {Py_tp_getset, attributes},
                                {Py_tp_members, members},
                                {Py_tp_methods, methods},
                                {Py_tp_repr, reinterpret_cast<void*>(show)},
                                {0, nullptr}};
  static PyType_Spec spec{"backplane.Operator", sizeof(FunctionObject), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL |
                              Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                          slots};
  return reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
}

PyTypeObject* make_result_type(const Schema& schema) {
  static auto* kept = new std::deque<std::vector<PyStructSequence_Field>>;
  std::vector<PyStructSequence_Field>& fields = kept->emplace_back();
  for (const SchemaReturn& result : schema.returns)
    fields.push_back({result.name.c_str(), nullptr});
  fields.push_back({nullptr, nullptr});
  static auto* texts = new std::deque<std::string>;
  const std::string& name = texts->emplace_back("backplane.return_types." + schema.name);
  PyStructSequence_Desc description{name.c_str(), nullptr, fields.data(),
                                    static_cast<int>(schema.returns.size())};
  return PyStructSequence_NewType(&description);
}

bool has_names(const Schema& schema) {
  if (schema.returns.size() < 2 || schema.returns_list()) return false;
  for (const SchemaReturn& result : schema.returns)
    if (result.name.empty()) return false;
  return true;
}

Function& describe(bp::Operator& op, Form form) {
  const Schema& schema = *op.schema;
  Function& function = functions().emplace_back();
  function.op = &op;
  function.form = form;
  function.name = schema.name + (form == Form::in_place ? "_" : "");
  function.doc = schema.text + "\n\n" + op.doc +
                 (form == Form::in_place ? "\n\nWritten into `input` itself." : "");
  for (const SchemaArgument& argument : schema.arguments) {
    function.keywords.push_back(PyUnicode_InternFromString(argument.name.c_str()));
    if (!argument.keyword_only) ++function.num_positional;
  }
  for (std::size_t i = 0; i < std::min<std::size_t>(2, function.num_positional); ++i)
    if (schema.arguments[i].type == ArgumentType::integer_list && function.spread < 0)
      function.spread = static_cast<int>(i);
  const bool is_new =
      op.kind == BP_KIND_FACTORY || op.kind == BP_KIND_RANDOM || schema.find("device") >= 0;
  function.makes_leaves = form == Form::functional && is_new && schema.returns.size() == 1;
  function.takes_out = form == Form::functional && !is_new && !op.is_view() &&
                       op.kind != BP_KIND_COPY && !schema.returns.empty() && !schema.returns_list();
  if (has_names(schema)) function.result_type = make_result_type(schema);
  return function;
}

bool has_in_place_form(const bp::Operator& op) {
  return op.kind == BP_KIND_POINTWISE && op.promotion != Promotion::compare &&
         op.schema->arguments[0].name == "input";
}

}  // namespace

PyObject* call_operator(bp::Operator& op, PyObject* const* args, std::size_t num_args) {
  static auto* known =
      new std::unordered_map<const bp::Operator*, const Function*>;  // under the GIL
  const Function*& function = (*known)[&op];
  if (!function) function = &describe(op, Form::functional);
  return call_bound(*function, Bound(*function, args, num_args, nullptr));
}

void add_operators(nb::module_& module) {
  names = {PyUnicode_InternFromString("out"),  PyUnicode_InternFromString("requires_grad"),
           PyUnicode_InternFromString("axis"), PyUnicode_InternFromString("keepdims"),
           PyUnicode_InternFromString("dim"),  PyUnicode_InternFromString("keepdim")};
  PyTypeObject* const type = make_function_type();
  if (!type) throw nb::python_error();
  module.attr("Operator") = nb::borrow(reinterpret_cast<PyObject*>(type));
  const nb::object tensor = module.attr("Tensor");
  nb::dict operators;
  const auto add = [&](bp::Operator& op, Form form) {
    const Function& function = describe(op, form);
    const nb::object held = nb::steal(make_object(type, function));
    if (!held.is_valid()) throw nb::python_error();
    operators[function.name.c_str()] = held;
    const std::vector<SchemaArgument>& arguments = op.schema->arguments;
    const bool is_method = !arguments.empty() && arguments[0].type == ArgumentType::tensor &&
                           arguments[0].name == "input";
    if (is_method && !nb::hasattr(tensor, function.name.c_str()))
      tensor.attr(function.name.c_str()) = held;
  };
  for (bp::Operator* op : registered_operators()) {
    if (op->schema->arguments.size() > Values::most) continue;
    add(*op, Form::functional);
    if (has_in_place_form(*op)) add(*op, Form::in_place);
  }
  module.attr("operators") = operators;
}

}  // namespace bp::python

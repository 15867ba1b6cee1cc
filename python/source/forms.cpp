// Functions of C++ that no row describes, by PyTorch's names: backplane._core.forms, which backplane._functions shows.
#include <optional>
#include <vector>

#include <backplane/core_ops/forms.hpp>

#include "objects.hpp"
#include "values.hpp"

namespace bp::python {
namespace {

std::optional<Dtype> dtype_argument(const char* what, nb::handle given) {
  if (given.is_none()) return std::nullopt;
  Dtype dtype = f32;
  if (find_dtype(given.ptr(), dtype)) return dtype;
  PyErr_Format(PyExc_TypeError, "%s: dtype must be a dtype, not %s", what, type_name(given.ptr()));
  throw nb::python_error();
}

std::optional<Device> device_argument(const char* what, nb::handle given) {
  if (given.is_none()) return std::nullopt;
  Device device;
  if (find_device(given.ptr(), device)) return device;
  PyErr_Format(PyExc_TypeError, "%s: device must be a device or its name, not %s", what,
               type_name(given.ptr()));
  throw nb::python_error();
}

double real_argument(const char* what, const char* name, nb::handle given) {
  Scalar number;
  if (const Tensor* tensor = tensor_in(given.ptr()); tensor && tensor->numel() == 1)
    number = without_gil([&] { return item<Scalar>(*tensor); });
  else if (!find_number(given.ptr(), number))
    number = Scalar(std::complex<double>());
  if (!number.is_complex()) return number.to_double();
  PyErr_Format(PyExc_TypeError, "%s: %s must be a real number, not %s", what, name,
               type_name(given.ptr()));
  throw nb::python_error();
}

// One int, a list of them, or None, which means all.
struct DimsArgument {
  DimsArgument(const char* what, nb::handle given) {
    std::int64_t one = 0;
    if (given.is_none()) return;
    if (find_integer(given.ptr(), one))
      list = {one};
    else if (std::vector<std::int64_t> many; nb::try_cast(given, many))
      list = many;
    else
      throw nb::type_error((std::string(what) + ": dim must be an int or a list of ints").c_str());
  }
  DimList get() const { return list ? DimList(*list) : DimList(); }

  std::optional<std::vector<std::int64_t>> list;
};

// Returns the object itself.
template <class F> nb::object in_place(nb::object self, F&& write) {
  const Tensor& target = tensor_of(self, "input");
  without_gil([&] { write(target); });
  return self;
}

void add_factories(nb::module_& forms) {
  forms.def(
      "eye",
      [](std::int64_t n, std::optional<std::int64_t> m, nb::handle dtype, nb::handle device) {
        const auto type = dtype_argument("eye", dtype);
        const auto where = device_argument("eye", device);
        return without_gil([&] { return eye(n, m, type, where); });
      },
      nb::arg("n"), nb::arg("m") = nb::none(), nb::arg("dtype") = nb::none(),
      nb::arg("device") = nb::none());
  forms.def(
      "linspace",
      [](nb::handle start, nb::handle end, std::int64_t steps, nb::handle dtype,
         nb::handle device) {
        const auto type = dtype_argument("linspace", dtype);
        const auto where = device_argument("linspace", device);
        const double from = real_argument("linspace", "start", start),
                     to = real_argument("linspace", "end", end);
        return without_gil([&] { return linspace(from, to, steps, type, where); });
      },
      nb::arg("start"), nb::arg("end"), nb::arg("steps"), nb::arg("dtype") = nb::none(),
      nb::arg("device") = nb::none());
  forms.def(
      "window",
      [](const std::string& kind, std::int64_t length, bool periodic, double alpha, double beta,
         nb::handle dtype, nb::handle device) {
        const auto type = dtype_argument("window", dtype);
        const auto where = device_argument("window", device);
        return without_gil([&] {
          if (kind == "hann") return hann_window(length, periodic, type, where);
          if (kind == "blackman") return blackman_window(length, periodic, type, where);
          if (kind == "bartlett") return bartlett_window(length, periodic, {type, where});
          if (kind == "kaiser") return kaiser_window(length, periodic, beta, {type, where});
          return hamming_window(length, periodic, alpha, beta, type, where);
        });
      },
      nb::arg("kind"), nb::arg("window_length"), nb::arg("periodic"), nb::arg("alpha"),
      nb::arg("beta"), nb::arg("dtype").none(), nb::arg("device").none());
  forms.def(
      "frequencies",
      [](bool of_real, std::int64_t n, double d, nb::handle dtype, nb::handle device) {
        const auto type = dtype_argument("fftfreq", dtype);
        const auto where = device_argument("fftfreq", device);
        return without_gil(
            [&] { return of_real ? rfftfreq(n, d, type, where) : fftfreq(n, d, type, where); });
      },
      nb::arg("of_real"), nb::arg("n"), nb::arg("d"), nb::arg("dtype").none(),
      nb::arg("device").none());
  forms.def(
      "mel_weight_matrix",
      [](std::int64_t num_mel_bins, std::int64_t dft_length, std::int64_t sample_rate, double lower,
         double upper, nb::handle dtype, nb::handle device) {
        const auto type = dtype_argument("mel_weight_matrix", dtype);
        const auto where = device_argument("mel_weight_matrix", device);
        return without_gil([&] {
          return mel_weight_matrix(num_mel_bins, dft_length, sample_rate, lower, upper, type,
                                   where);
        });
      },
      nb::arg("num_mel_bins"), nb::arg("dft_length"), nb::arg("sample_rate"),
      nb::arg("lower_edge_hertz"), nb::arg("upper_edge_hertz"), nb::arg("dtype") = nb::none(),
      nb::arg("device") = nb::none());
  forms.def(
      "normal",
      [](double mean, double std, const std::vector<std::int64_t>& size, nb::handle dtype,
         nb::handle device, Generator* generator) {
        const auto type = dtype_argument("normal", dtype);
        const auto where = device_argument("normal", device);
        return without_gil([&] { return normal(mean, std, size, type, where, generator); });
      },
      nb::arg("mean"), nb::arg("std"), nb::arg("size"), nb::arg("dtype").none(),
      nb::arg("device").none(), nb::arg("generator").none());
}

void add_comparisons(nb::module_& forms) {
  forms.def(
      "equal",
      [](const Tensor& input, const Tensor& other) {
        return without_gil([&] { return equal(input, other); });
      },
      nb::arg("input"), nb::arg("other"));
  forms.def(
      "allclose",
      [](const Tensor& input, const Tensor& other, double rtol, double atol, bool equal_nan) {
        return without_gil([&] { return allclose(input, other, rtol, atol, equal_nan); });
      },
      nb::arg("input"), nb::arg("other"), nb::arg("rtol") = 1e-5, nb::arg("atol") = 1e-8,
      nb::arg("equal_nan") = false);
  forms.def(
      "argsort",
      [](const Tensor& input, std::int64_t dim, bool descending) {
        return without_gil([&] { return argsort(input, dim, descending); });
      },
      nb::arg("input"), nb::arg("dim") = -1, nb::arg("descending") = false);
  forms.def(
      "median", [](const Tensor& input) { return without_gil([&] { return median(input); }); },
      nb::arg("input"));
  forms.def(
      "quantile",
      [](const Tensor& input, const Tensor& q, std::optional<std::int64_t> dim, bool keepdim,
         const std::string& interpolation) {
        return without_gil([&] { return quantile(input, q, dim, keepdim, interpolation); });
      },
      nb::arg("input"), nb::arg("q"), nb::arg("dim"), nb::arg("keepdim"), nb::arg("interpolation"));
}

void add_arranging(nb::module_& forms) {
  const std::pair<const char*, Tensor (*)(const Tensor&)> at_least[] = {
      {"atleast_1d", &atleast_1d}, {"atleast_2d", &atleast_2d}, {"atleast_3d", &atleast_3d}};
  for (const auto& [name, function] : at_least)
    forms.def(
        name,
        [function = function](const Tensor& input) {
          return without_gil([&] { return function(input); });
        },
        nb::arg("input"));
  const std::pair<const char*, Tensor (*)(TensorList)> stacks[] = {
      {"vstack", &vstack}, {"hstack", &hstack}, {"dstack", &dstack}};
  for (const auto& [name, function] : stacks)
    forms.def(
        name,
        [name = name, function = function](nb::handle tensors) {
          const std::vector<Tensor> list = tensors_of(tensors, name);
          return without_gil([&] { return function(list); });
        },
        nb::arg("tensors"));
  const std::pair<const char*, Tensor (*)(const Tensor&, DimList)> shifts[] = {
      {"fftshift", &fftshift}, {"ifftshift", &ifftshift}};
  for (const auto& [name, function] : shifts)
    forms.def(
        name,
        [name = name, function = function](const Tensor& input, nb::handle dim) {
          const DimsArgument dims(name, dim);
          return without_gil([&] { return function(input, dims.get()); });
        },
        nb::arg("input"), nb::arg("dim") = nb::none());
  forms.def(
      "tensordot",
      [](const Tensor& input, const Tensor& other, std::int64_t dims) {
        return without_gil([&] { return tensordot(input, other, dims); });
      },
      nb::arg("input"), nb::arg("other"), nb::arg("dims") = 2);
  forms.def(
      "masked_fill",
      [](const Tensor& input, const Tensor& mask, const Tensor& value) {
        return without_gil([&] { return masked_fill(input, mask, value); });
      },
      nb::arg("input"), nb::arg("mask"), nb::arg("value"));
  forms.def(
      "index_fill",
      [](const Tensor& input, std::int64_t dim, const Tensor& index, const Tensor& value) {
        return without_gil([&] { return index_fill(input, dim, index, value); });
      },
      nb::arg("input"), nb::arg("dim"), nb::arg("index"), nb::arg("value"));
  forms.def(
      "scatter",
      [](const Tensor& input, std::int64_t dim, const Tensor& index, nb::handle value) {
        Scalar number;
        if (!find_number(value.ptr(), number))
          throw nb::type_error("scatter: value must be a number");
        return without_gil([&] { return scatter(input, dim, index, number); });
      },
      nb::arg("input"), nb::arg("dim"), nb::arg("index"), nb::arg("value"));
}

void add_writing(nb::module_& forms) {
  forms.def(
      "index_put_",
      [](nb::object self, nb::handle indices, const Tensor& values, bool accumulate) {
        const std::vector<Tensor> list = tensors_of(indices, "index_put_: indices");
        return in_place(self, [&](const Tensor& target) {
          index_put_(target, list, to(values, target.device()), accumulate);
        });
      },
      nb::arg("input"), nb::arg("indices"), nb::arg("values"), nb::arg("accumulate") = false);
  forms.def(
      "uniform_",
      [](nb::object self, double low, double high, Generator* generator) {
        return in_place(self,
                        [&](const Tensor& target) { uniform_(target, low, high, generator); });
      },
      nb::arg("input"), nb::arg("low"), nb::arg("high"), nb::arg("generator").none());
  forms.def(
      "normal_",
      [](nb::object self, double mean, double std, Generator* generator) {
        return in_place(self, [&](const Tensor& target) { normal_(target, mean, std, generator); });
      },
      nb::arg("input"), nb::arg("mean"), nb::arg("std"), nb::arg("generator").none());
  forms.def(
      "bernoulli_",
      [](nb::object self, double p, Generator* generator) {
        return in_place(self, [&](const Tensor& target) { bernoulli_(target, p, generator); });
      },
      nb::arg("input"), nb::arg("p"), nb::arg("generator").none());
  forms.def(
      "exponential_",
      [](nb::object self, double lambd, Generator* generator) {
        return in_place(self,
                        [&](const Tensor& target) { exponential_(target, lambd, generator); });
      },
      nb::arg("input"), nb::arg("lambd"), nb::arg("generator").none());
}

}  // namespace

void add_forms(nb::module_& module) {
  nb::module_ forms = module.def_submodule("forms");
  add_factories(forms);
  add_comparisons(forms);
  add_arranging(forms);
  add_writing(forms);
}

}  // namespace bp::python

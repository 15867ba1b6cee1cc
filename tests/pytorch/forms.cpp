#include "pytorch/forms.hpp"

namespace bp::test {
namespace {

using Results = std::vector<Tensor>;

constexpr Form all_forms[] = {
    {"matmul(Tensor input, Tensor other) -> Tensor",
     [](const Given& given) -> Results { return {matmul(given.tensor(0), given.tensor(1))}; }},
    {"form::median(Tensor input) -> Tensor",
     [](const Given& given) -> Results { return {median(given.tensor(0))}; }},
    {"form::quantile(Tensor input, Tensor q, int? dim=None, bool keepdim=False, *, str "
     "interpolation='linear') -> Tensor",
     [](const Given& given) -> Results {
       return {quantile(given.tensor(0), given.tensor(1), given.integer(2), given.flag(3),
                        given.text(4))};
     }},
    {"form::masked_fill(Tensor input, Tensor mask, Tensor value) -> Tensor",
     [](const Given& given) -> Results {
       return {masked_fill(given.tensor(0), given.tensor(1), given.tensor(2))};
     }},
    {"form::index_fill(Tensor input, int dim, Tensor index, Tensor value) -> Tensor",
     [](const Given& given) -> Results {
       return {index_fill(given.tensor(0), *given.integer(1), given.tensor(2), given.tensor(3))};
     }},
    {"form::scatter(Tensor input, int dim, Tensor index, float value) -> Tensor",
     [](const Given& given) -> Results {
       return {scatter(given.tensor(0), *given.integer(1), given.tensor(2), given.real(3))};
     }},
    {"form::tensordot(Tensor input, Tensor other, int dims=2) -> Tensor",
     [](const Given& given) -> Results {
       return {tensordot(given.tensor(0), given.tensor(1), *given.integer(2))};
     }},
    {"eye(int n, int? m=None, *, Dtype? dtype=None) -> Tensor",
     [](const Given& given) -> Results {
       return {eye(*given.integer(0), given.integer(1), given.dtype(2))};
     }},
    {"linspace(float start, float end, int steps, *, Dtype? dtype=None) -> Tensor",
     [](const Given& given) -> Results {
       return {linspace(given.real(0), given.real(1), *given.integer(2), given.dtype(3))};
     }},
    {"hann_window(int window_length, bool periodic=True, *, Dtype? dtype=None) -> Tensor",
     [](const Given& given) -> Results {
       return {hann_window(*given.integer(0), given.flag(1), given.dtype(2))};
     }},
    {"hamming_window(int window_length, bool periodic=True, float alpha=0.54, float beta=0.46, *, "
     "Dtype? dtype=None) -> Tensor",
     [](const Given& given) -> Results {
       return {hamming_window(*given.integer(0), given.flag(1), given.real(2), given.real(3),
                              given.dtype(4))};
     }},
    {"blackman_window(int window_length, bool periodic=True, *, Dtype? dtype=None) -> Tensor",
     [](const Given& given) -> Results {
       return {blackman_window(*given.integer(0), given.flag(1), given.dtype(2))};
     }},
    {"argsort(Tensor input, int dim=-1, bool descending=False) -> Tensor",
     [](const Given& given) -> Results {
       return {argsort(given.tensor(0), *given.integer(1), given.flag(2))};
     }},
    {"equal(Tensor input, Tensor other) -> Tensor",
     [](const Given& given) -> Results {
       return {tensor(equal(given.tensor(0), given.tensor(1)))};
     }},
    {"allclose(Tensor input, Tensor other, float rtol=1e-05, float atol=1e-08, bool "
     "equal_nan=False) -> Tensor",
     [](const Given& given) -> Results {
       return {tensor(allclose(given.tensor(0), given.tensor(1), given.real(2), given.real(3),
                               given.flag(4)))};
     }},
    {"atleast_1d(Tensor input) -> Tensor",
     [](const Given& given) -> Results { return {atleast_1d(given.tensor(0))}; }},
    {"atleast_2d(Tensor input) -> Tensor",
     [](const Given& given) -> Results { return {atleast_2d(given.tensor(0))}; }},
    {"atleast_3d(Tensor input) -> Tensor",
     [](const Given& given) -> Results { return {atleast_3d(given.tensor(0))}; }},
    {"vstack(Tensor[] tensors) -> Tensor",
     [](const Given& given) -> Results { return {vstack(given.tensors(0))}; }},
    {"hstack(Tensor[] tensors) -> Tensor",
     [](const Given& given) -> Results { return {hstack(given.tensors(0))}; }},
    {"dstack(Tensor[] tensors) -> Tensor",
     [](const Given& given) -> Results { return {dstack(given.tensors(0))}; }},
    {"fft_fftshift(Tensor input, int[]? dim=None) -> Tensor",
     [](const Given& given) -> Results {
       return {given.has(1) ? fftshift(given.tensor(0), given.integers(1))
                            : fftshift(given.tensor(0))};
     }},
    {"fft_ifftshift(Tensor input, int[]? dim=None) -> Tensor",
     [](const Given& given) -> Results {
       return {given.has(1) ? ifftshift(given.tensor(0), given.integers(1))
                            : ifftshift(given.tensor(0))};
     }},
};

}  // namespace

Tensor Given::tensor(std::size_t at) const {
  const bp_value& value = values_[at];
  if (value.tag == BP_TENSOR) return Tensor::share(TensorImpl::of(value.u.tensor));
  if (value.tag == BP_NONE) return {};
  throw std::runtime_error("a number where the function takes a tensor");
}

std::vector<Tensor> Given::tensors(std::size_t at) const {
  const auto* elements = static_cast<const bp_tensor* const*>(values_[at].u.ptr);
  std::vector<Tensor> list;
  for (std::uint32_t i = 0; i < values_[at].aux; ++i)
    list.push_back(Tensor::share(TensorImpl::of(elements[i])));
  return list;
}

std::optional<std::int64_t> Given::integer(std::size_t at) const {
  if (!has(at)) return std::nullopt;
  return values_[at].u.i;
}

double Given::real(std::size_t at) const {
  const bp_value& value = values_[at];
  return value.tag == BP_DOUBLE ? value.u.f : static_cast<double>(value.u.i);
}

IntList Given::integers(std::size_t at) const {
  return {static_cast<const std::int64_t*>(values_[at].u.ptr), values_[at].aux};
}

std::string_view Given::text(std::size_t at) const {
  return {static_cast<const char*>(values_[at].u.ptr), values_[at].aux};
}

std::optional<Dtype> Given::dtype(std::size_t at) const {
  if (!has(at)) return std::nullopt;
  return static_cast<Dtype>(values_[at].u.i);
}

std::span<const Form> forms() {
  return all_forms;
}

const Form* find_form(std::string_view name) {
  for (const Form& form : all_forms)
    if (Schema::name_in(form.schema) == name) return &form;
  return nullptr;
}

}  // namespace bp::test

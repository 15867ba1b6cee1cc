#include "values.hpp"

#include <cstring>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <backplane/dispatcher/transfer.hpp>
#include <backplane/tensor/views.hpp>

namespace bp::test {
namespace {

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
constexpr double infinity = std::numeric_limits<double>::infinity();

// What no machine has memory for is huge, and what it might have is left out: the test is to fail, not to fill it.
const std::vector<std::int64_t> integers_to_try = {0,
                                                   1,
                                                   2,
                                                   3,
                                                   4,
                                                   5,
                                                   7,
                                                   -1,
                                                   -2,
                                                   -3,
                                                   -4,
                                                   16,
                                                   17,
                                                   100,
                                                   255,
                                                   256,
                                                   -128,
                                                   -129,
                                                   65536,
                                                   std::int64_t{1} << 40,
                                                   std::int64_t{1} << 62,
                                                   -(std::int64_t{1} << 62),
                                                   most,
                                                   most - 1,
                                                   least,
                                                   least + 1};

const std::vector<std::vector<std::int64_t>> shapes_to_try = {
    {},
    {0},
    {1},
    {2},
    {3},
    {4},
    {2, 3},
    {3, 2},
    {2, 2},
    {2, 0},
    {0, 3},
    {1, 1},
    {2, 3, 4},
    {3, 4, 2},
    {2, 0, 4},
    {1, 3, 4, 4},
    {2, 4, 8, 8},
    {4, 4, 3, 3},
    {2, 4, 0, 8},
    {0, 2, 3, 4},
    {1, 2, 4, 4, 4},
    {1, 1, 1, 1, 1, 1},
    std::vector<std::int64_t>(max_rank, 1),
    // Not 2 throughout: a sanitizer's build on one primitive after another takes 20 s for 65,536 values of gammainc.
    {2, 2, 2, 2, 2, 1, 1, 2, 1, 1, 1, 2, 2, 2, 2, 2}};
static_assert(max_rank == 16);
const std::vector<std::vector<std::int64_t>> huge_shapes = {
    {std::int64_t{1} << 58},
    {std::int64_t{1} << 29, std::int64_t{1} << 29},
    {most >> 4},
    {0, most, 4}};

const std::vector<std::string_view> strings_to_try = {"",
                                                      {},
                                                      "mean",
                                                      "sum",
                                                      "none",
                                                      "batchmean",
                                                      "constant",
                                                      "reflect",
                                                      "replicate",
                                                      "circular",
                                                      "tanh",
                                                      "nonsense",
                                                      "ij,jk->ik",
                                                      "ij,jk",
                                                      "...i,i->...",
                                                      "ii->i",
                                                      "ij->",
                                                      "->",
                                                      ",",
                                                      ",,,,",
                                                      "i j",
                                                      "ijklmnopqrstuvwxyz",
                                                      "i->ii",
                                                      "i->z",
                                                      "...",
                                                      "....",
                                                      "i...j...->",
                                                      "\xff\xfe",
                                                      "ij,jk->ik->ik"};

std::string number_text(const Scalar& number) {
  if (number.is_complex())
    return fmt::format("complex({}, {})", number.to_complex().real(), number.to_complex().imag());
  if (number.is_floating()) return fmt::format("real {}", number.to_double());
  return number.is_bool() ? fmt::format("{}", number.to_bool())
                          : fmt::format("{}", number.to_int());
}

}  // namespace

Tensor Values::tensor() {
  if (once_in(10)) {
    say("Tensor()");
    return {};
  }
  const bool is_meta = devices_.empty() || once_in(8);
  const bool is_huge = is_meta && once_in(12);
  const Dtype type = once_in(3) ? f32 : once_in(3) ? i64 : static_cast<Dtype>(below(num_dtypes));
  const Device where = is_meta ? meta_device : one_of(devices_);
  const IntList shape = one_of(is_huge ? huge_shapes : shapes_to_try);
  say(fmt::format("{}{}@{}", name(type), to_string(shape), where.number));
  Tensor made = empty(shape, type, where);
  fill(made);
  if (made.ndim() >= 2 && once_in(8)) {
    text += " transposed";
    made = views::transpose(made, 0, -1);
  } else if (once_in(12) && made.ndim() < max_rank && !is_huge) {
    text += " expanded";
    Dims wide(made.shape());
    wide.insert(0, 2);
    made = views::expand(made, wide);
  }
  return made;
}

// Zeros, ones, bytes that make NaN or -1, or any. A bool has but two values.
void Values::fill(const Tensor& tensor) {
  if (tensor.device() == meta_device || tensor.numel() == 0) return;
  std::vector<unsigned char> bytes(tensor.nbytes());
  const std::uint32_t kind = below(4);
  for (unsigned char& byte : bytes) {
    byte = kind == 0   ? 0
           : kind == 1 ? 1
           : kind == 2 ? 0xff
                       : static_cast<unsigned char>(below(256));
    if (tensor.dtype() == Dtype::boolean) byte &= 1;
  }
  copy_from_host_memory(tensor, bytes.data());
}

std::vector<Tensor> Values::tensors() {
  const std::uint32_t count = below(4);
  say(fmt::format("{} tensors:", count));
  std::vector<Tensor> made;
  for (std::uint32_t i = 0; i < count; ++i) made.push_back(tensor());
  return made;
}

Scalar Values::scalar() {
  const std::uint32_t kind = below(8);
  if (kind == 0) return boolean();
  if (kind == 1) {
    const std::complex<double> number(once_in(2) ? 1 : -infinity, 2);
    say(number_text(number));
    return number;
  }
  return kind < 5 ? Scalar(integer()) : Scalar(real());
}

std::int64_t Values::integer() {
  // Most small, as dimensions and sizes are.
  const std::int64_t number = once_in(3) ? one_of(integers_to_try) : integers_to_try[below(11)];
  say(fmt::format("{}", number));
  return number;
}

double Values::real() {
  static const std::vector<double> all = {
      0,    0.5,    1,     2,      -1,  -0.0,       infinity, -infinity, std::nan(""),
      1e30, -1e300, 1e308, 1e-320, 0.1, 3.4e38 * 2, 65520};
  const double number = one_of(all);
  say(fmt::format("real {}", number));
  return number;
}

bool Values::boolean() {
  const bool yes = once_in(2);
  say(yes ? "true" : "false");
  return yes;
}

std::string_view Values::string() {
  const std::string_view drawn = one_of(strings_to_try);
  say(drawn.data() ? fmt::format("'{}'", drawn) : "no string");
  return drawn;
}

Dtype Values::dtype() {
  const auto drawn = static_cast<Dtype>(once_in(4) ? 17 + below(239) : below(num_dtypes));
  say(index(drawn) < num_dtypes ? std::string(name(drawn)) : fmt::format("dtype {}", index(drawn)));
  return drawn;
}

Device Values::device() {
  const bool is_wrong = once_in(6);
  const Device drawn = is_wrong ? Device{once_in(2) ? 12345u : 31u + below(3)}
                       : devices_.empty() || once_in(2) ? meta_device
                                                        : one_of(devices_);
  say(fmt::format("device {}", drawn.number));
  return drawn;
}

Generator* Values::generator() {
  if (once_in(2)) return nullptr;
  const Device drawn = device();
  try {
    return &kept_generators_.emplace_back(drawn, 7);
  } catch (const Error& error) {  // there is no such device
    EXPECT_STREQ(error.what(),
                 fmt::format("Generator: there is no device number {}", drawn.number).c_str());
    return nullptr;
  }
}

const std::vector<std::int64_t>& Values::integers() {
  const std::uint32_t count = once_in(20) ? 60 : below(6);
  auto& list = kept_integers_.emplace_back();
  text += text.empty() ? "[" : ", [";
  for (std::uint32_t i = 0; i < count; ++i) {
    list.push_back(once_in(10) ? one_of(integers_to_try) : integers_to_try[below(11)]);
    text += fmt::format("{}{}", i ? " " : "", list.back());
  }
  text += "]";
  return list;
}

bp_value Values::near(const Tensor& good) {
  Dims shape(good.shape());
  Dtype type = good.dtype();
  Device where = good.device();
  const std::uint32_t kind = below(8);
  if (kind == 0) type = static_cast<Dtype>(below(num_dtypes));
  const bool is_huge = good.numel() > 1 << 20;
  if (kind == 1 && !is_huge)
    where = where == meta_device && !devices_.empty() ? devices_.front() : meta_device;
  if (kind == 2 && !shape.empty()) shape.erase(below(static_cast<std::uint32_t>(shape.size())));
  if (kind >= 3 && !shape.empty()) {
    std::int64_t& size = shape[below(static_cast<std::uint32_t>(shape.size()))];
    size = kind < 6 ? 0 : kind == 6 ? 1 : size + 1;
  }
  say(fmt::format("{}{}@{}", name(type), to_string(shape), where.number));
  Tensor& made = kept_.emplace_back(empty(shape, type, where));
  fill(made);
  return value_of(made);
}

void Values::record(std::vector<bp_value>& args) {
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (args[i].tag != BP_TENSOR || !once_in(2)) continue;
    const Tensor tensor = Tensor::share(TensorImpl::of(args[i].u.tensor));
    if (!is_floating(tensor.dtype()) && !is_complex(tensor.dtype())) continue;
    text += fmt::format(", {} recorded", i);
    args[i] = value_of(kept_.emplace_back(set_requires_grad(detach(tensor))));
  }
}

void Values::resize(std::vector<bp_value>& args) {
  std::vector<std::int64_t> sizes;
  for (const bp_value& arg : args)
    if (arg.tag == BP_TENSOR)
      sizes.insert(sizes.end(), arg.u.tensor->dl.shape,
                   arg.u.tensor->dl.shape + arg.u.tensor->dl.ndim);
  if (sizes.empty()) return;
  const std::int64_t from = one_of(sizes), to = once_in(4) ? from + 1 : below(3) / 2;
  say(fmt::format("size {} as {}", from, to));
  for (bp_value& arg : args) {
    if (arg.tag != BP_TENSOR) continue;
    const Tensor good = Tensor::share(TensorImpl::of(arg.u.tensor));
    Dims shape(good.shape());
    std::replace(shape.begin(), shape.end(), from, to);
    arg = resized(good, shape);
  }
}

bp_value Values::resized(const Tensor& good, IntList shape) {
  Tensor& made = kept_.emplace_back(empty(shape, good.dtype(), good.device()));
  fill(made);
  return value_of(made);
}

bp_value Values::value(ArgumentType type) {
  if (!once_in(12)) return value_of_type(type);
  if (once_in(3)) {
    say("None");
    return {};
  }
  return value_of_type(static_cast<ArgumentType>(below(12)));
}

bp_value Values::value_of_type(ArgumentType type) {
  switch (type) {
    case ArgumentType::tensor: return value_of(kept_.emplace_back(tensor()));
    case ArgumentType::tensor_list:
      return kept_lists_.emplace_back(kept_tensors_.emplace_back(tensors())).value();
    case ArgumentType::scalar: return kept_scalars_.emplace_back(scalar()).value();
    case ArgumentType::integer: return value_of(integer());
    case ArgumentType::integer_list: {
      bp_value list = value_of(IntList(integers()));
      if (once_in(12)) {
        list.u.ptr = nullptr;
        text += " at NULL";
      }
      return list;
    }
    case ArgumentType::real: return value_of(real());
    case ArgumentType::real_list: {
      bp_value list{};
      list.tag = BP_DOUBLE_LIST;
      say("float[]");
      return list;
    }
    case ArgumentType::boolean: return value_of(boolean());
    case ArgumentType::string: return value_of(string());
    case ArgumentType::dtype: {
      bp_value number = value_of(dtype());
      if (once_in(6)) number.u.i = integer();
      return number;
    }
    case ArgumentType::device: return value_of(device());
    case ArgumentType::generator: return value_of(generator());
  }
  return {};
}

}  // namespace bp::test

// The layout of PyTorch's _tensor_str.py: nested brackets, summaries, line breaks, suffixes.
#include <algorithm>
#include <mutex>
#include <vector>

#include <backplane/tensor/check.hpp>
#include <backplane/tensor/printing.hpp>
#include <backplane/tensor/promotion.hpp>

#include "element_text.hpp"

namespace bp {
namespace {

constexpr std::string_view prefix = "tensor(";

struct GlobalOptions {
  std::mutex mutex;
  PrintOptions options;
};
GlobalOptions& global_options() {
  static constinit GlobalOptions global;
  return global;
}

void check_options(const PrintOptions& options) {
  BP_CHECK(options.precision >= 0 && options.precision <= 100,
           "print options: precision {} is not from 0 to 100", options.precision);
  BP_CHECK(options.threshold >= 0 && options.edgeitems >= 0 && options.linewidth >= 0,
           "print options: threshold {}, edgeitems {} and linewidth {} must not be negative",
           options.threshold, options.edgeitems, options.linewidth);
}

// Writes the elements of one tensor.
class Body {
 public:
  Body(const Tensor& tensor, const PrintOptions& options)
      : tensor_(tensor), options_(options), base_(static_cast<const std::byte*>(tensor.data_ptr())),
        summarize_(tensor.numel() > options.threshold), real_(options), imag_(options) {
    is_complex_ = is_complex(tensor.dtype());
    is_floating_ = is_complex_ || is_floating(tensor.dtype()) || is_storage_only(tensor.dtype());
    if (is_floating_)
      prepare_floating();
    else
      prepare_integral();
  }

  std::string text() const { return text(0, 0, static_cast<std::int64_t>(prefix.size())); }

 private:
  bool is_cut(std::int64_t dim) const {
    return summarize_ && tensor_.shape()[dim] > options_.edgeitems &&
           tensor_.shape()[dim] - options_.edgeitems > options_.edgeitems;
  }

  // Calls `use(index)` for the shown indices of `dim`, and `gap()` where others are left out.
  template <class Use, class Gap> void for_shown(std::int64_t dim, Use use, Gap gap) const {
    const std::int64_t size = tensor_.shape()[dim];
    const std::int64_t head = is_cut(dim) ? options_.edgeitems : size;
    for (std::int64_t i = 0; i < head; ++i) use(i);
    if (!is_cut(dim)) return;
    gap();
    for (std::int64_t i = size - options_.edgeitems; i < size; ++i) use(i);
  }

  template <class Use>
  void for_shown_elements(Use use, std::int64_t dim = 0, std::int64_t offset = 0) const {
    if (dim == tensor_.ndim()) return use(element(offset));
    for_shown(
        dim,
        [&](std::int64_t i) {
          for_shown_elements(use, dim + 1, offset + i * tensor_.strides()[dim]);
        },
        [] {});
  }

  const std::byte* element(std::int64_t offset) const {
    return base_ + offset * static_cast<std::int64_t>(tensor_.itemsize());
  }

  void prepare_floating() {
    for_shown_elements([&](const std::byte* at) {
      const std::complex<double> value = read_floating(tensor_.dtype(), at);
      real_.see(value.real());
      imag_.see(value.imag());
    });
    real_.choose_notation();
    imag_.choose_notation();
    for_shown_elements([&](const std::byte* at) {
      const std::complex<double> value = read_floating(tensor_.dtype(), at);
      real_.measure(value.real());
      imag_.measure(value.imag());
    });
    width_ = real_.width() + (is_complex_ ? imag_.width() + 1 : 0);
  }

  void prepare_integral() {
    for_shown_elements([&](const std::byte* at) {
      width_ = std::max(width_, integer_text(tensor_.dtype(), at).size());
    });
  }

  std::string element_text(std::int64_t offset) const {
    if (!is_floating_)
      return fmt::format("{:>{}}", integer_text(tensor_.dtype(), element(offset)), width_);
    const std::complex<double> value = read_floating(tensor_.dtype(), element(offset));
    std::string real = real_.write(value.real());
    if (!is_complex_) return real;
    std::string imag = imag_.write(value.imag());
    imag.erase(0, imag.find_first_not_of(' '));
    return real + (imag[0] == '-' ? "" : "+") + imag + "j";
  }

  std::string text(std::int64_t dim, std::int64_t offset, std::int64_t indent) const {
    if (dim == tensor_.ndim()) return element_text(offset);
    if (dim + 1 == tensor_.ndim()) return row_text(dim, offset, indent);
    std::vector<std::string> parts;
    for_shown(
        dim,
        [&](std::int64_t i) {
          parts.push_back(text(dim + 1, offset + i * tensor_.strides()[dim], indent + 1));
        },
        [&] { parts.emplace_back("..."); });
    std::string separator = ",";
    separator.append(tensor_.ndim() - dim - 1, '\n').append(indent + 1, ' ');
    return fmt::format("[{}]", fmt::join(parts, separator));
  }

  std::string row_text(std::int64_t dim, std::int64_t offset, std::int64_t indent) const {
    std::vector<std::string> parts;
    for_shown(
        dim,
        [&](std::int64_t i) { parts.push_back(element_text(offset + i * tensor_.strides()[dim])); },
        [&] { parts.emplace_back(options_.edgeitems > 0 ? " ..." : "..."); });
    const auto each = static_cast<std::int64_t>(width_) + 2;
    const std::int64_t per_line = std::max<std::int64_t>(1, (options_.linewidth - indent) / each);
    std::string result = "[";
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (i > 0 && static_cast<std::int64_t>(i) % per_line == 0)
        result.append(",\n").append(indent + 1, ' ');
      else if (i > 0)
        result += ", ";
      result += parts[i];
    }
    return result + "]";
  }

  const Tensor& tensor_;
  const PrintOptions& options_;
  const std::byte* base_;
  bool summarize_;
  bool is_complex_ = false;
  bool is_floating_ = false;
  FloatingText real_;
  FloatingText imag_;
  std::size_t width_ = 1;
};

// As Python writes a tuple.
std::string size_text(IntList shape) {
  return fmt::format("size=({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

std::vector<std::string> suffixes_of(const Tensor& tensor, const PrintOptions& options,
                                     std::string_view device, Dtype default_dtype) {
  const bool is_meta = tensor.impl()->storage == nullptr;
  const bool is_empty = tensor.numel() == 0;
  const Dtype dtype = tensor.dtype();
  std::vector<std::string> result;
  if (!device.empty()) result.push_back(fmt::format("device='{}'", device));
  if (is_meta || (is_empty ? tensor.ndim() != 1 : options.edgeitems == 0))
    result.push_back(size_text(tensor.shape()));
  // Elements tell integers, bools and complex numbers by their looks.
  const bool is_told = !is_meta && !is_empty &&
                       (dtype == i64 || dtype == boolean || dtype == to_complex(default_dtype));
  if (dtype != default_dtype && !is_told) result.push_back(fmt::format("dtype={}", name(dtype)));
  return result;
}

void add_suffixes(std::string& text, const std::vector<std::string>& suffixes,
                  std::int64_t linewidth) {
  const std::size_t newline = text.rfind('\n');
  std::size_t last_line =
      newline == std::string::npos ? text.size() + 2 : text.size() - newline + 1;
  for (const std::string& suffix : suffixes) {
    if (last_line + suffix.size() + 2 > static_cast<std::size_t>(linewidth)) {
      text.append(",\n").append(prefix.size(), ' ').append(suffix);
      last_line = prefix.size() + suffix.size();
    } else {
      text += ", " + suffix;
      last_line += suffix.size() + 2;
    }
  }
}

}  // namespace

PrintOptions print_options() {
  GlobalOptions& global = global_options();
  const std::lock_guard lock(global.mutex);
  return global.options;
}

void set_print_options(const PrintOptions& options) {
  check_options(options);
  GlobalOptions& global = global_options();
  const std::lock_guard lock(global.mutex);
  global.options = options;
}

std::string format(const Tensor& tensor, const PrintOptions& options, std::string_view device,
                   Dtype default_dtype) {
  check_options(options);
  if (!tensor.defined()) return "tensor(undefined)";
  std::string text(prefix);
  if (!tensor.impl()->storage)
    text += "...";
  else if (tensor.numel() == 0)
    text += "[]";
  else
    text += Body(tensor, options).text();
  add_suffixes(text, suffixes_of(tensor, options, device, default_dtype), options.linewidth);
  return text + ")";
}

}  // namespace bp

#include <complex>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <backplane/tensor/error.hpp>
#include <backplane/tensor/float_formats.hpp>
#include <backplane/tensor/printing.hpp>
#include <backplane/tensor/views.hpp>

#include "test_storage.hpp"

namespace bp {
namespace {

using test::make_meta_tensor;
using test::make_range;
using test::make_tensor;
using test::make_tensor_of;

// A case of tests/text/printing/*.txt: what printing.py says of it, and PyTorch's text.
struct Case {
  std::string heading, contents, expected;
};

std::vector<Case> read_cases(const std::string& name) {
  std::ifstream file(BP_SOURCE_DIR "/tests/text/printing/" + name + ".txt");
  std::vector<Case> cases;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("# ", 0) == 0) continue;
    if (line.rfind("== ", 0) == 0) {
      cases.push_back({line.substr(3), "", ""});
      std::getline(file, cases.back().contents);
    } else {
      cases.back().expected += (cases.back().expected.empty() ? "" : "\n") + line;
    }
  }
  return cases;
}

Dims parse_shape(const std::string& text) {
  Dims shape;
  std::istringstream stream(text == "scalar" ? "" : text);
  for (std::string size; std::getline(stream, size, ',');) shape.push_back(std::stoll(size));
  return shape;
}

PrintOptions parse_options(std::istream& stream) {
  PrintOptions options;
  for (std::string item; stream >> item;) {
    const std::string key = item.substr(0, item.find('='));
    const std::string value = item.substr(item.find('=') + 1);
    if (key == "precision")
      options.precision = std::stoi(value);
    else if (key == "threshold")
      options.threshold = std::stoll(value);
    else if (key == "edgeitems")
      options.edgeitems = std::stoll(value);
    else if (key == "linewidth")
      options.linewidth = std::stoll(value);
    else if (key == "sci_mode")
      options.sci_mode = value == "True";
    else
      ADD_FAILURE() << "unknown option " << item;
  }
  return options;
}

template <class T> void store(const Tensor& tensor, std::int64_t i, T value) {
  std::memcpy(static_cast<std::byte*>(tensor.data_ptr()) + i * sizeof value, &value, sizeof value);
}

void fill_with_indices(const Tensor& tensor) {
  for (std::int64_t i = 0; i < tensor.numel(); ++i) switch (tensor.dtype()) {
      case f16: store(tensor, i, float_to_f16(float(i))); break;
      case f32: store(tensor, i, float(i)); break;
      case f64: store(tensor, i, double(i)); break;
      case i32: store(tensor, i, std::int32_t(i)); break;
      case i64: store(tensor, i, std::int64_t(i)); break;
      case complex64: store(tensor, i, std::complex<float>(float(i))); break;
      default: FAIL() << "no indices as " << name(tensor.dtype());
    }
}

void fill_with_bytes(const Tensor& tensor, const std::string& digits) {
  ASSERT_EQ(digits.size(), 2 * tensor.nbytes());
  for (std::size_t i = 0; i < tensor.nbytes(); ++i)
    static_cast<std::uint8_t*>(tensor.data_ptr())[i] =
        static_cast<std::uint8_t>(std::stoi(digits.substr(2 * i, 2), nullptr, 16));
}

class printing_golden : public testing::TestWithParam<const char*> {};

TEST_P(printing_golden, is_pytorchs_text) {
  const std::vector<Case> cases = read_cases(GetParam());
  EXPECT_GE(cases.size(), 3u);
  for (const Case& c : cases) {
    std::istringstream heading(c.heading);
    std::string dtype, shape;
    heading >> dtype >> shape;
    const PrintOptions options = parse_options(heading);
    const bool is_meta = std::string(GetParam()) == "meta";
    const Tensor tensor = is_meta ? make_meta_tensor(parse_shape(shape), dtype_from_name(dtype))
                                  : make_tensor(parse_shape(shape), dtype_from_name(dtype));
    if (c.contents == "arange")
      fill_with_indices(tensor);
    else if (c.contents != "none")
      fill_with_bytes(tensor, c.contents);
    EXPECT_EQ(format(tensor, options, is_meta ? "meta" : ""), c.expected) << c.heading;
  }
}

INSTANTIATE_TEST_SUITE_P(files, printing_golden,
                         testing::Values("floating", "integral", "complex_numbers", "empty",
                                         "summarized", "meta", "suffixes"),
                         [](const auto& instance) { return std::string(instance.param); });

TEST(printing, shows_strided_tensors_in_logical_order) {
  const Tensor tensor = make_range({3, 4});
  EXPECT_EQ(format(views::transpose(tensor, 0, 1), {}),
            "tensor([[ 0,  4,  8],\n        [ 1,  5,  9],\n        [ 2,  6, 10],\n"
            "        [ 3,  7, 11]])");
  EXPECT_EQ(format(views::slice(tensor, 1, 1, 4, 2), {}),
            "tensor([[ 1,  3],\n        [ 5,  7],\n        [ 9, 11]])");
  EXPECT_EQ(format(views::expand(views::select(tensor, 0, 2), {2, 4}), {}),
            "tensor([[ 8,  9, 10, 11],\n        [ 8,  9, 10, 11]])");
}

TEST(printing, names_the_device_and_the_dtypes_that_are_not_default) {
  const Tensor tensor = make_tensor_of<float>({1, 2}, {2});
  EXPECT_EQ(format(tensor, {}, "acme:0"), "tensor([1., 2.], device='acme:0')");
  EXPECT_EQ(format(tensor, {}, "", f64), "tensor([1., 2.], dtype=float32)");
  EXPECT_EQ(format(make_tensor({1}, complex128), {}, "", f64), "tensor([0.+0.j])");
  EXPECT_EQ(format(Tensor(), {}), "tensor(undefined)");
}

TEST(printing, reads_only_what_it_shows) {
  // 2^50 elements over the memory of one.
  const Tensor huge = views::expand(make_range({1, 1}), {1 << 25, 1 << 25});
  const std::string row = "[0, 0, 0,  ..., 0, 0, 0]";
  EXPECT_EQ(format(huge, {}), "tensor([" + row + ",\n        " + row + ",\n        " + row +
                                  ",\n        ...,\n        " + row + ",\n        " + row +
                                  ",\n        " + row + "])");
}

TEST(printing, refuses_options_that_mean_nothing) {
  PrintOptions options;
  options.precision = 101;
  EXPECT_THROW(set_print_options(options), Error);
  options.precision = 4;
  options.edgeitems = -1;
  EXPECT_THROW(format(make_range({2}), options), Error);
  EXPECT_EQ(print_options().edgeitems, 3);
}

TEST(printing, options_may_be_set_from_several_threads) {
  const PrintOptions before = print_options();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([t] {
      for (int i = 0; i < 200; ++i) {
        PrintOptions options;
        options.precision = t;
        options.linewidth = 100 + t;
        set_print_options(options);
        const PrintOptions read = print_options();
        EXPECT_EQ(read.linewidth, 100 + read.precision);
      }
    });
  for (std::thread& thread : threads) thread.join();
  set_print_options(before);
}

}  // namespace
}  // namespace bp

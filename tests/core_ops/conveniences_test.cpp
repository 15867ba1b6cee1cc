// needs: cpu reference
// What people expect of C++: everything prints itself, creation takes its options by name, one include is enough.
#include <complex>
#include <gmock/gmock.h>
#include <sstream>
#include <unordered_map>

#include <backplane/backplane.hpp>

namespace {

using testing::HasSubstr;

template <class T> std::string printed(const T& value) {
  std::ostringstream stream;
  stream << value;
  return stream.str();
}

std::string message(const std::function<void()>& call) {
  try {
    call();
  } catch (const bp::Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Conveniences, everything_prints_itself) {
  const bp::Tensor a = bp::ones({2, 3}, {.dtype = bp::f16, .device = bp::device("cpu")});
  EXPECT_EQ(printed(a.device()), "cpu:0");
  EXPECT_EQ(printed(bp::meta_device), "meta");
  EXPECT_EQ(printed(bp::Device{200}), "device 200 (not registered)");
  EXPECT_EQ(printed(a.dtype()), "float16");
  EXPECT_EQ(printed(a.shape()), "[2, 3]");
  EXPECT_EQ(printed(bp::Dims{4, 5}), "[4, 5]");
  EXPECT_EQ(printed(bp::ErrorClass::out_of_memory), "out_of_memory");
  EXPECT_EQ(printed(static_cast<bp::ErrorClass>(99)), "no error class");
  EXPECT_EQ(printed(bp::Rung::decomposed), "decomposed");
  EXPECT_EQ(printed(bp::Policy::warn_once), "warn_once");
  EXPECT_EQ(printed(bp::MemoryFormat::channels_last), "channels_last");
  EXPECT_EQ(bp::to_string(a.device()) + " " + bp::to_string(a.dtype()), "cpu:0 float16");
  EXPECT_EQ(printed(bp::item<bp::Scalar>(bp::tensor(0.5))), "0.5");
  EXPECT_EQ(printed(bp::item<bp::Scalar>(bp::tensor(3))), "3");
  EXPECT_EQ(printed(bp::item<bp::Scalar>(bp::tensor(true))), "true");
}

TEST(Conveniences, creation_takes_its_options_by_name) {
  const bp::Device other = bp::device("reference");
  const bp::TensorOptions options{.dtype = bp::f64, .device = other};
  const bp::Tensor like = bp::ones({3});
  const std::vector<bp::Tensor> all{bp::tensor({1, 2}, options),
                                    bp::empty({2}, options),
                                    bp::zeros({2}, options),
                                    bp::ones({2}, options),
                                    bp::full({2}, 1, options),
                                    bp::arange(0, 4, options),
                                    bp::arange(0, 4, 2, options),
                                    bp::rand({2}, options),
                                    bp::randn({2}, options),
                                    bp::rand_like(like, options),
                                    bp::randn_like(like, options),
                                    bp::randint(0, 9, {2}, options),
                                    bp::randint(9, {2}, options),
                                    bp::randperm(4, options),
                                    bp::empty_like(like, options),
                                    bp::zeros_like(like, options),
                                    bp::ones_like(like, options),
                                    bp::full_like(like, 2, options),
                                    bp::normal(0, 1, {2}, options),
                                    bp::eye(2, options),
                                    bp::eye(2, 3, options),
                                    bp::linspace(0, 1, 3, options),
                                    bp::hann_window(4, options),
                                    bp::hamming_window(4, options),
                                    bp::hamming_window(4, false, options),
                                    bp::blackman_window(4, options),
                                    bp::bartlett_window(4, options),
                                    bp::kaiser_window(4, options),
                                    bp::kaiser_window(4, false, options),
                                    bp::logspace(0, 1, 3, options),
                                    bp::randint_like(like, 9, options),
                                    bp::fftfreq(4, options),
                                    bp::fftfreq(4, 1, options),
                                    bp::rfftfreq(4, options),
                                    bp::rfftfreq(4, 1, options),
                                    bp::mel_weight_matrix(4, 16, 8000, 0, 4000, options),
                                    bp::to(like, options)};
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].device(), other) << i;
    EXPECT_EQ(all[i].dtype(), bp::f64) << i;
  }
  EXPECT_EQ(bp::zeros({2}, {.device = other}).dtype(), bp::f32);
  EXPECT_EQ(bp::zeros({2}, {.dtype = bp::i32}).device(), bp::device("cpu"));

  double values[] = {1, 2, 3, 4};
  const bp::Tensor over = bp::from_blob(values, {2, 2}, {.dtype = bp::f64});
  EXPECT_EQ(over.data_ptr(), values);
  EXPECT_EQ(bp::item<double>(over[{1, 0}]), 3);
}

TEST(Conveniences, complex_numbers_are_values_like_others) {
  const bp::Tensor written = bp::tensor({std::complex(1.0, 2.0)});
  EXPECT_EQ(written.dtype(), bp::complex64);  // as 1.0 makes the default dtype
  const std::vector<std::complex<double>> values{{1, 2}, {3, -4}};
  const bp::Tensor pairs = bp::tensor(values);
  EXPECT_EQ(pairs.dtype(), bp::complex128);
  EXPECT_EQ(bp::to_vector<std::complex<double>>(pairs), values);
  EXPECT_EQ(bp::item<std::complex<double>>(bp::tensor(std::complex(0.0F, 1.0F))),
            std::complex(0.0, 1.0));
}

TEST(Conveniences, devices_are_keys) {
  std::unordered_map<bp::Device, int> all{{bp::device("cpu"), 1}, {bp::device("reference:0"), 2}};
  EXPECT_EQ(all.at(bp::device("reference:0")), 2);
}

TEST(Conveniences, a_module_is_called_like_a_function) {
  const bp::nn::Linear layer(3, 2);
  EXPECT_EQ(layer(bp::ones({4, 3})).shape(), (bp::IntList{4, 2}));
}

TEST(Conveniences, errors_name_the_operator_that_was_called) {
  EXPECT_THAT(message([] { bp::randint(0, 9, {-2}); }), testing::StartsWith("randint: "));
  EXPECT_THAT(message([] {
                bp::linear(bp::ones({2, 3}), bp::ones({4, 5}), {});
              }),
              testing::StartsWith("linear: "));
  EXPECT_THAT(message([] {
                bp::einsum("ij,jk->ik", {bp::ones({2, 3}), bp::ones({4, 5})});
              }),
              testing::StartsWith("einsum: "));
  EXPECT_EQ(message([] { bp::to_vector<double>(bp::ones({2})); }),
            "to_vector: the tensor is float32, not float64; cast it or ask for its type");
  EXPECT_EQ(message([] {
              bp::tensor(std::vector<float>{1, 2, 3}, {2, 2});
            }),
            "tensor: 3 values for shape [2, 2], which has 4; make them equal");
}

TEST(Conveniences, unknown_devices_are_refused_at_once) {
  EXPECT_EQ(message([] { bp::Generator(bp::Device{66}); }),
            "Generator: there is no device number 66");
  EXPECT_EQ(message([] { bp::set_policy(bp::Device{66}, bp::Rung::host, bp::Policy::forbid); }),
            "set_policy: there is no device number 66");
}

TEST(Conveniences, errors_name_devices) {
  const bp::Tensor there = bp::ones({2}, {.device = bp::device("reference:0")});
  EXPECT_EQ(message([&] { there.data_ptr(); }),
            "data_ptr: the host cannot read the memory of reference:0; copy the tensor to the cpu");
}

}  // namespace

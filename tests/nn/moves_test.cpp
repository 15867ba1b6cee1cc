// needs: cpu reference
// Modules that go to another device or dtype, and copies of modules.
#include "nn/networks.hpp"

namespace bp::test {
namespace {

const char* elsewhere = "reference:0";

TEST(Moves, take_values_buffers_and_gradients_along) {
  nn::Sequential net(nn::Linear(4, 3), Counting{});
  const Tensor x = ones({2, 4});
  backward(sum(net(x)));
  const Values result = numbers_of(net(x));
  const std::vector<Tensor> parameters = net.parameters(), buffers = net.buffers();
  const Values gradient = numbers_of(grad(parameters[0]));
  net.to(device(elsewhere));
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    EXPECT_TRUE(net.parameters()[i].is_same(parameters[i]));
    EXPECT_EQ(parameters[i].device(), device(elsewhere));
    EXPECT_TRUE(requires_grad(parameters[i]) && is_leaf(parameters[i]));
    EXPECT_EQ(grad(parameters[i]).device(), device(elsewhere));
  }
  for (const Tensor& buffer : buffers) EXPECT_EQ(buffer.device(), device(elsewhere));
  EXPECT_EQ(numbers_of(grad(parameters[0])), gradient);
  const Values after = numbers_of(net(to(x, device(elsewhere))));
  for (std::size_t i = 0; i < result.size(); ++i) EXPECT_NEAR(after[i], result[i], 1e-6);
}

TEST(Moves, cast_floating_point_tensors_alone) {
  Counting net;
  net.to(f64);
  EXPECT_EQ(net.scale.dtype(), f64);
  EXPECT_EQ(net.bounds.dtype(), f64);
  EXPECT_EQ(net.num_seen.dtype(), i64);
  EXPECT_TRUE(requires_grad(net.scale));
  net.to(device(elsewhere), bf16);
  EXPECT_EQ(net.scale.dtype(), bf16);
  EXPECT_EQ(net.num_seen.device(), device(elsewhere));
}

TEST(Moves, refuse_dtypes_that_lose_what_was_there) {
  struct Phase : nn::Module {
    nn::Parameter real{ones({2})}, turn{zeros({2}, complex64)};
    void list_parts(nn::Parts& parts) override {
      parts.parameter("real", real);
      parts.parameter("turn", turn);
    }
  } net;
  EXPECT_THAT(sentence_of([&] { net.to(i32); }), HasSubstr("int32 is not a dtype for parameters"));
  EXPECT_THAT(sentence_of([&] { net.to(f64); }), HasSubstr("'turn' is complex64 and would lose"));
  EXPECT_EQ(net.real.dtype(), f32);
  net.to(complex128);
  EXPECT_EQ(net.real.dtype(), complex128);
}

TEST(Moves, keep_tied_weights_one_parameter) {
  Tied net;
  net.to(device(elsewhere));
  EXPECT_TRUE(net.encoder.weight.is_same(net.decoder.weight));
  EXPECT_EQ(net.parameters().size(), 2u);
  const Tensor x = ones({1, 3}, f32, device(elsewhere));
  backward(sum(net(x)));
  EXPECT_EQ(grad(net.encoder.weight).device(), device(elsewhere));
}

TEST(Moves, are_the_same_in_inference_mode) {
  Net net;
  {
    const InferenceMode inference;
    net.to(f64);
  }
  backward(sum(net(ones({1, 4}, f64))));
  EXPECT_EQ(grad(net.hidden.weight).dtype(), f64);
}

TEST(Moves, lay_images_out_anew_and_keep_their_values) {
  struct Image : nn::Module {
    nn::Parameter kernel{rand({2, 3, 4, 5})}, vector{ones({3})};
    void list_parts(nn::Parts& parts) override {
      parts.parameter("kernel", kernel);
      parts.parameter("vector", vector);
    }
  } net;
  backward(sum(net.kernel * net.kernel));
  const Tensor kernel = net.kernel;
  const Values values = numbers_of(kernel), gradient = numbers_of(grad(kernel));
  net.to(MemoryFormat::channels_last);
  EXPECT_TRUE(net.kernel.is_same(kernel) && requires_grad(kernel) && is_leaf(kernel));
  EXPECT_TRUE(kernel.is_contiguous(MemoryFormat::channels_last) && !kernel.is_contiguous());
  EXPECT_TRUE(grad(kernel).is_contiguous(MemoryFormat::channels_last));
  EXPECT_EQ(numbers_of(kernel), values);
  EXPECT_EQ(numbers_of(grad(kernel)), gradient);
  net.to(MemoryFormat::contiguous);
  EXPECT_TRUE(kernel.is_contiguous());
  EXPECT_EQ(numbers_of(kernel), values);
}

TEST(Copies, share_their_tensors) {
  Net net;
  const Net copy = net;
  EXPECT_TRUE(copy.hidden.weight.is_same(net.hidden.weight));
  net.to(f64);
  EXPECT_EQ(copy.hidden.weight.dtype(), f64);
}

TEST(Clones, share_nothing_and_compute_the_same) {
  nn::Sequential net(nn::Linear(4, 3), Counting{}, nn::Sequential(Relu{}, nn::Linear(3, 2)));
  net.eval();
  const Tensor x = rand({2, 4});
  backward(sum(net(x)));
  nn::Sequential copy = nn::clone(net);
  EXPECT_FALSE(copy.is_training());
  EXPECT_EQ(numbers_of(copy(x)), numbers_of(net(x)));
  const nn::StateDict theirs = net.state_dict();
  for (const auto& [name, tensor] : copy.state_dict())
    EXPECT_FALSE(tensor.shares_storage(theirs.at(name))) << name;
  for (std::size_t i = 0; i < net.parameters().size(); ++i) {
    const Tensor mine = copy.parameters()[i], original = net.parameters()[i];
    EXPECT_TRUE(requires_grad(mine) && is_leaf(mine));
    EXPECT_EQ(numbers_of(grad(mine)), numbers_of(grad(original)));
    EXPECT_FALSE(grad(mine).shares_storage(grad(original)));
  }
  copy.requires_grad_(false);
  EXPECT_TRUE(requires_grad(net.parameters()[0]));
}

TEST(Clones, hold_twice_what_the_original_held_twice) {
  Tied net;
  net.encoder.requires_grad_(false);
  const Tied copy = nn::clone(net);
  EXPECT_TRUE(copy.encoder.weight.is_same(copy.decoder.weight));
  EXPECT_FALSE(copy.encoder.weight.shares_storage(net.encoder.weight));
  EXPECT_FALSE(requires_grad(copy.encoder.weight));
}

TEST(Clones, are_refused_where_copies_share_modules) {
  struct Pointing : nn::Module {
    std::shared_ptr<nn::Linear> part = std::make_shared<nn::Linear>(2, 2);
    void list_parts(nn::Parts& parts) override { parts.module("part", *part); }
  };
  const Pointing net;
  EXPECT_THAT(sentence_of([&] { nn::clone(net); }), HasSubstr("shares 'part' with the original"));
  struct Wider : Net {};
  const Wider wider;
  EXPECT_THAT(sentence_of([&] { nn::clone<Net>(wider); }),
              HasSubstr("a base of the module's type"));
}

}  // namespace
}  // namespace bp::test

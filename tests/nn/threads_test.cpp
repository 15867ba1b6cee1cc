// needs: cpu
// Threads that call one module at once.
#include <thread>

#include <backplane/nn/attention.hpp>
#include <backplane/nn/parametrizations.hpp>
#include <backplane/nn/recurrent.hpp>

#include "nn/networks.hpp"

namespace bp::test {
namespace {

void in_threads(int count, const std::function<void(int)>& work) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
}

TEST(Threads, call_one_module_at_once) {
  nn::Linear normed(4, 4);
  nn::utils::parametrizations::weight_norm(normed);
  nn::utils::parametrizations::spectral_norm(normed, "bias");
  nn::Sequential net(normed, Relu{}, nn::Linear(4, 3), Counting{});
  std::atomic<int> calls = 0;
  net[2].register_forward_hook([&](const nn::Module&, auto, auto) {
    ++calls;
    return std::vector<Tensor>{};
  });
  net.eval();
  const Tensor x = rand({5, 4});
  const Values expected = numbers_of(net(x));
  in_threads(4, [&](int) {
    for (int i = 0; i < 20; ++i) EXPECT_EQ(numbers_of(net(x)), expected);
  });
  EXPECT_EQ(calls, 81);
}

TEST(Threads, go_back_through_one_module_at_once) {
  nn::Linear layer(4, 3, {.dtype = f64});
  std::atomic<int> calls = 0;
  layer.register_full_backward_hook([&](auto, auto) {
    ++calls;
    return std::vector<Tensor>{};
  });
  in_threads(4, [&](int) {
    for (int i = 0; i < 10; ++i) {
      const Tensor x = set_requires_grad(ones({1, 4}, f64));
      backward(sum(layer(x)));
      EXPECT_EQ(grad(x).numel(), 4);
    }
  });
  EXPECT_EQ(calls, 40);
  EXPECT_EQ(values_of(grad(layer.bias)), (Values{40, 40, 40}));
}

TEST(Threads, call_attention_and_recurrent_layers_at_once) {
  const nn::MultiheadAttention attention(4, 2);
  const nn::LSTM lstm(4, 3, {.num_layers = 2, .bidirectional = true});
  const Tensor x = rand({5, 2, 4});
  const Values attended = numbers_of(attention(x, x, x).output);
  const Values run = numbers_of(lstm(x).output);
  in_threads(4, [&](int) {
    for (int i = 0; i < 5; ++i) {
      EXPECT_EQ(numbers_of(attention(x, x, x).output), attended);
      EXPECT_EQ(numbers_of(lstm(x).output), run);
    }
  });
}

TEST(Threads, remove_hooks_while_others_call) {
  nn::Linear layer(4, 3);
  std::vector<nn::HookHandle> handles;
  for (int i = 0; i < 50; ++i)
    handles.push_back(layer.register_forward_hook(
        [](const nn::Module&, auto, auto) { return std::vector<Tensor>{}; }));
  const Tensor x = rand({1, 4});
  const Values expected = numbers_of(layer(x));
  in_threads(3, [&](int thread) {
    if (thread == 0)
      for (nn::HookHandle& handle : handles) handle.remove();
    else
      for (int i = 0; i < 20; ++i) EXPECT_EQ(numbers_of(layer(x)), expected);
  });
}

}  // namespace
}  // namespace bp::test

#include <algorithm>

#include <backplane/nn/recurrent.hpp>

#include "pytorch/modules/families.hpp"

namespace bp::test {
namespace {

namespace rnn = nn::utils::rnn;

// Reads what is padded or packed: input, hidden and cell state, lengths.
template <class M> Tensors read(const M& module, const Tensors& in, bool batch_first) {
  const auto run = [&](const auto& input) {
    if constexpr (std::is_same_v<M, nn::LSTM>)
      return module(input, in[1], in[2]);
    else
      return module(input, in[1]);
  };
  const auto with_states = [](Tensors all, const auto& result) {
    all.push_back(result.hidden);
    if constexpr (requires { result.cell; }) all.push_back(result.cell);
    return all;
  };
  if (!in[3].defined()) {
    const auto result = run(in[0]);
    return with_states({result.output}, result);
  }
  const std::vector<std::int64_t> lengths = to_vector<std::int64_t>(in[3]);
  const bool is_sorted = std::is_sorted(lengths.begin(), lengths.end(), std::greater<>());
  const auto result = run(rnn::pack_padded_sequence(in[0], in[3], batch_first, is_sorted));
  const auto [padded, found] = rnn::pad_packed_sequence(result.output, batch_first, 0.5, 6);
  return with_states({result.output.data, result.output.batch_sizes, padded, found}, result);
}

template <class M> Made recurrent(Args& args) {
  nn::RNNOptions options;
  OPTION(num_layers);
  OPTION(nonlinearity);
  OPTION(bias);
  OPTION(batch_first);
  OPTION(dropout);
  OPTION(bidirectional);
  OPTION(proj_size);
  const bool batch_first = options.batch_first;
  return made(
      M(args.get<std::int64_t>("input_size"), args.get<std::int64_t>("hidden_size"), options),
      [=](const M& module, const Tensors& in) { return read(module, in, batch_first); });
}

template <class M> Made cell(Args& args) {
  nn::RNNCellOptions options;
  OPTION(bias);
  OPTION(nonlinearity);
  return made(
      M(args.get<std::int64_t>("input_size"), args.get<std::int64_t>("hidden_size"), options),
      [](const M& module, const Tensors& in) {
        if constexpr (std::is_same_v<M, nn::LSTMCell>)
          return module(in[0], in[1], in[2]);
        else
          return module(in[0], in[1]);
      });
}

}  // namespace

// PyTorch's RNN takes its arguments as *args and **kwargs.
Makers recurrent_modules() {
  return {{"RNN", recurrent<nn::RNN>},      {"LSTM", recurrent<nn::LSTM>},
          {"GRU", recurrent<nn::GRU>},      {"RNNCell", cell<nn::RNNCell>},
          {"LSTMCell", cell<nn::LSTMCell>}, {"GRUCell", cell<nn::GRUCell>}};
}

}  // namespace bp::test

// Samples in batches: shuffled by a seed, made ahead by threads, the same bits for any number of them.
#include <iostream>
#include <memory>

#include <backplane/backplane.hpp>

namespace data = bp::data;

int main() {
  const bp::Tensor numbers = bp::arange(0, 10), squares = numbers * numbers;
  const auto samples = std::make_shared<data::TensorDataset>(std::vector{numbers, squares});
  data::DataLoader loader(samples, {.batch_size = 4, .shuffle = true, .num_workers = 2, .seed = 7});

  bp::Tensor seen = bp::zeros({}, bp::i64);
  for (const data::Batch& batch : loader) {
    const bp::Tensor x = batch.as_list()[0].as_tensor(), y = batch.as_list()[1].as_tensor();
    std::cout << x.shape() << ' ' << std::boolalpha << bp::equal(x * x, y) << '\n';
    seen += bp::sum(x);
  }
  std::cout << "sum of all: " << bp::item<int>(seen) << '\n';
}

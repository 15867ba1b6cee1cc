#include "training.hpp"

#include <algorithm>
#include <chrono>

#include <backplane/backplane.hpp>
#include <backplane/optim/sgd.hpp>

#include "network.hpp"

namespace digits {
namespace {

using bp::Tensor;

constexpr std::size_t num_first_losses = 20;

struct Batch {
  Tensor images;  // [size, 1, image_size, image_size]
  Tensor labels;  // [size], int64
};

Batch upload(const Images& images, bp::Device device) {
  return {bp::tensor(images.pixels, {images.size(), 1, image_size, image_size},
                     {.dtype = bp::f32, .device = device}),
          bp::tensor(images.labels, {.dtype = bp::i64, .device = device})};
}

Batch pick(const Batch& all, const Tensor& places) {
  return {bp::index_select(all.images, 0, places), bp::index_select(all.labels, 0, places)};
}

Tensor step(const Network& network, bp::optim::Optimizer& optimizer, const Batch& batch) {
  optimizer.zero_grad();
  const Tensor loss = bp::cross_entropy(network(batch.images), batch.labels);
  bp::backward(loss);
  optimizer.step();
  return bp::detach(loss);
}

// One pass in random order; the sum of the losses over the images.
Tensor run_epoch(const Network& network, bp::optim::Optimizer& optimizer, const Batch& training,
                 const Settings& settings, std::vector<Tensor>& first_losses) {
  const std::int64_t size = training.labels.numel();
  const Tensor order = bp::randperm(size, bp::i64, settings.device);
  Tensor total = bp::zeros({}, bp::f32, settings.device);
  for (std::int64_t first = 0; first < size; first += settings.batch_size) {
    const std::int64_t count = std::min(settings.batch_size, size - first);
    const Batch batch = pick(training, bp::narrow(order, 0, first, count));
    const Tensor loss = step(network, optimizer, batch);
    if (first_losses.size() < num_first_losses) first_losses.push_back(loss);
    total = bp::add(total, loss, count);
  }
  return total;
}

double accuracy(const Network& network, const Batch& images) {
  const Tensor right = bp::eq(bp::argmax(network(images.images), 1), images.labels);
  return bp::item<double>(bp::mean(bp::cast(right, bp::f32)));
}

}  // namespace

Outcome train(const DataSet& data, const Settings& settings,
              const std::function<void(int epoch, double loss)>& after_epoch) {
  using Clock = std::chrono::steady_clock;
  bp::manual_seed(settings.seed);
  const Batch training = upload(data.training, settings.device);
  const Batch held_out = upload(data.held_out, settings.device);
  const Network network(settings.device);
  bp::optim::SGD optimizer(network.parameters(),
                           {.lr = settings.learning_rate, .momentum = settings.momentum});

  Outcome outcome;
  std::vector<Tensor> first_losses;
  std::chrono::duration<double, std::milli> time{0};
  for (int epoch = 1; epoch <= settings.epochs; ++epoch) {
    const Clock::time_point start = Clock::now();
    const Tensor total = run_epoch(network, optimizer, training, settings, first_losses);
    const double loss =
        bp::item<double>(total) / static_cast<double>(data.training.size());  // waits
    time += Clock::now() - start;
    after_epoch(epoch, loss);
  }

  const bp::NoGrad no_grad;
  for (const Tensor& loss : first_losses) outcome.first_losses.push_back(bp::item<double>(loss));
  outcome.test_accuracy = accuracy(network, held_out);
  outcome.final_loss =
      bp::item<double>(bp::cross_entropy(network(training.images), training.labels));
  const std::int64_t steps_of_epoch =
      (data.training.size() + settings.batch_size - 1) / settings.batch_size;
  outcome.ms_per_step = time.count() / static_cast<double>(steps_of_epoch * settings.epochs);
  return outcome;
}

}  // namespace digits

#include "training.hpp"

#include <algorithm>
#include <chrono>

#include <backplane/backplane.hpp>

namespace digits {
namespace {

using bp::Tensor;

constexpr double initial_scale = 0.01;

struct Batch {
  Tensor x;  // [size, num_pixels]
  Tensor y;  // [size, num_classes], 1 for the digit and 0 elsewhere
};

struct Parameter {
  Tensor value;
  Tensor velocity;

  void step(const Tensor& gradient, const Settings& settings) {
    velocity = bp::add(gradient, velocity, settings.momentum);
    bp::sub_(value, velocity, settings.learning_rate);
  }
};

Batch upload(const Images& images, bp::Device device) {
  const Tensor pixels =
      bp::tensor(images.pixels, {images.size(), num_pixels}, {.dtype = bp::f32, .device = device});
  const Tensor labels = bp::tensor(images.labels, {.dtype = bp::i64, .device = device});
  return {pixels, bp::cast(bp::one_hot(labels, num_classes), bp::f32)};
}

struct Model {
  Parameter weight;  // [num_pixels, num_classes]
  Parameter bias;    // [num_classes]

  explicit Model(bp::Device device) {
    weight.value = initial_scale * bp::randn({num_pixels, num_classes}, bp::f32, device);
    weight.velocity = bp::zeros_like(weight.value);
    bias.value = bp::zeros({num_classes}, bp::f32, device);
    bias.velocity = bp::zeros_like(bias.value);
  }

  Tensor logits(const Tensor& x) const { return bp::matmul(x, weight.value) + bias.value; }
};

Tensor mean_loss(const Tensor& log_probabilities, const Tensor& y) {
  return -bp::sum(y * log_probabilities) / y.size(0);
}

// One step down the gradient. With p = softmax(logits), the loss's derivative by the logits is p - y.
Tensor step(Model& model, const Batch& batch, const Settings& settings) {
  const Tensor log_probabilities = bp::log_softmax(model.logits(batch.x), 1);
  const Tensor slope = (bp::exp(log_probabilities) - batch.y) / batch.y.size(0);
  model.weight.step(bp::matmul(bp::transpose(batch.x, 0, 1), slope), settings);
  model.bias.step(bp::sum(slope, 0), settings);
  return mean_loss(log_probabilities, batch.y);
}

double accuracy(const Model& model, const Batch& images) {
  const Tensor right = bp::eq(bp::argmax(model.logits(images.x), 1), bp::argmax(images.y, 1));
  return bp::item<double>(bp::mean(bp::cast(right, bp::f32)));
}

}  // namespace

Outcome train(const DataSet& data, const Settings& settings,
              const std::function<void(int epoch, double loss)>& after_epoch) {
  using Clock = std::chrono::steady_clock;
  bp::manual_seed(settings.seed);
  const Batch training = upload(data.training, settings.device);
  const Batch held_out = upload(data.held_out, settings.device);
  const std::int64_t size = data.training.size();
  Model model(settings.device);

  std::chrono::duration<double, std::milli> time{0};
  std::int64_t num_steps = 0;
  for (int epoch = 1; epoch <= settings.epochs; ++epoch) {
    const Clock::time_point start = Clock::now();
    const Tensor order = bp::randperm(size, bp::i64, settings.device);
    Tensor total = bp::zeros({}, bp::f32, settings.device);
    for (std::int64_t first = 0; first < size; first += settings.batch_size, ++num_steps) {
      const std::int64_t count = std::min(settings.batch_size, size - first);
      const Tensor picked = bp::narrow(order, 0, first, count);
      const Batch batch{bp::index_select(training.x, 0, picked),
                        bp::index_select(training.y, 0, picked)};
      total = bp::add(total, step(model, batch, settings), count);
    }
    const double loss = bp::item<double>(total) / static_cast<double>(size);  // waits
    time += Clock::now() - start;
    after_epoch(epoch, loss);
  }

  Outcome outcome;
  outcome.test_accuracy = accuracy(model, held_out);
  const Tensor log_probabilities = bp::log_softmax(model.logits(training.x), 1);
  outcome.final_loss = bp::item<double>(mean_loss(log_probabilities, training.y));
  outcome.ms_per_step = num_steps == 0 ? 0 : time.count() / static_cast<double>(num_steps);
  return outcome;
}

}  // namespace digits

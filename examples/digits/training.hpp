// Trains the network by stochastic gradient descent with momentum.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <backplane/tensor/device.hpp>

#include "data_set.hpp"

namespace digits {

struct Settings {
  bp::Device device;
  std::uint64_t seed = 0;
  int epochs = 12;
  std::int64_t batch_size = 32;
  double learning_rate = 0.05;
  double momentum = 0.9;
};

struct Outcome {
  double test_accuracy = 0;  // from 0 to 1, of the images held out
  double final_loss = 0;     // mean cross entropy over the training images, after the last step
  double ms_per_step = 0;
  std::vector<double> first_losses;  // of the first 20 steps, for comparing devices
};

// Initial weights and batches depend on the seed alone, not on the device. Calls `after_epoch` with
// the epoch, from 1, and its mean loss.
Outcome train(const DataSet& data, const Settings& settings,
              const std::function<void(int epoch, double loss)>& after_epoch);

}  // namespace digits

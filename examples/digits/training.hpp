// Trains the network by AdamW with a learning rate that rises and falls, on images that are shifted at random.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include <backplane/tensor/device.hpp>
#include <backplane/tensor/dtype.hpp>

#include "data_set.hpp"

namespace digits {

struct Settings {
  bp::Device device;
  std::uint64_t seed = 0;
  int epochs = 25;
  std::int64_t batch_size = 32;
  double learning_rate = 0.005;  // the largest
  double weight_decay = 0.05;
  double label_smoothing = 0.1;
  int num_workers = 0;                     // threads that make batches ahead
  std::optional<bp::Dtype> autocast = {};  // what forward computes in, if not in f32
  std::filesystem::path checkpoints =
      {};  // a folder to go on from, if there is one, and to keep each epoch in
};

struct Outcome {
  double test_accuracy = 0;  // from 0 to 1, of the images held out
  double final_loss = 0;     // mean cross entropy over the training images, after the last step
  double ms_per_step = 0;
  std::vector<double> losses;             // of each step
  std::vector<std::int64_t> predictions;  // what each image held out was read as
};

// Initial weights and batches depend on the seed alone, not on the device or the number of workers. Calls `after_epoch` with
// the epoch, from 1, and its mean loss.
Outcome train(const DataSet& data, const Settings& settings,
              const std::function<void(int epoch, double loss)>& after_epoch);

}  // namespace digits

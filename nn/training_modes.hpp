// Which modules of a model were training, kept while all of them do the same.
#pragma once

#include <utility>
#include <vector>

#include <backplane/nn/lazy.hpp>

namespace bp::nn {

// Every module of the model trains, or none does, until this is destroyed: then each is as it was. The model outlives it.
class TrainingModes {
 public:
  TrainingModes(Module& model, bool mode) {
    for (const auto& [path, module] : model.named_modules())
      before_.emplace_back(module, module->is_training());
    model.train(mode);
  }
  TrainingModes(const TrainingModes&) = delete;
  TrainingModes& operator=(const TrainingModes&) = delete;
  ~TrainingModes() {
    for (const auto& [module, mode] : before_) detail::Materializing::set_training(*module, mode);
  }

 private:
  std::vector<std::pair<Module*, bool>> before_;
};

}  // namespace bp::nn

// How far the training is: a bar on a terminal, a few lines elsewhere.
#pragma once

#include <string>

namespace digits {

class Progress {
 public:
  Progress(std::string title, int num_epochs);
  void show(int epoch, double loss);

 private:
  std::string title_;
  int num_epochs_;
  bool on_terminal_;
};

}  // namespace digits

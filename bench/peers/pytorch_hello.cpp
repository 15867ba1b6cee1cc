// The least application of PyTorch: what an application's source file costs to compile there.
#include <iostream>
#include <torch/torch.h>

int main() {
  std::cout << torch::ones({1}) << "\n";
}

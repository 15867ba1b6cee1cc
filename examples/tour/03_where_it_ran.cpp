// Which device served each call, how, and why not better. `backplane fallbacks PROGRAM` prints the same for any program.
#include <iostream>

#include <backplane/backplane.hpp>

int main() {
  const bp::Device device = bp::device("reference:0");  // has memory, and no kernel
  const bp::Tensor a = bp::to(bp::ones({64, 64}), device);
  bp::softmax(bp::matmul(a, a), -1);

  for (const bp::CallReason& each : bp::call_reasons())
    std::cout << each.op << " on " << each.backend << " by the " << bp::name(each.rung) << ": "
              << each.why << '\n';
  for (const bp::CopyCount& each : bp::copy_counts())
    std::cout << each.from << " -> " << each.to << ": " << each.copies << " copies, " << each.bytes
              << " bytes\n";

  bp::set_policy(device, bp::Rung::host, bp::Policy::forbid);  // rather an error than a slow call
  try {
    bp::relu(a);
  } catch (const bp::Error& error) {
    std::cout << error.what() << '\n';
  }
}

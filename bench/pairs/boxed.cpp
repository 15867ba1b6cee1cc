// Boxed calls, and what they cost beyond the kernel.
#include "boxed.hpp"

#include <algorithm>
#include <stdexcept>

#include <backplane/dispatcher/call.hpp>
#include <backplane/dispatcher/registry.hpp>
#include <backplane/runtime/stream.hpp>

#include "../peers/measure.hpp"

BoxedAdd::BoxedAdd() : a_(bp::ones({1})), b_(bp::ones({1})), out_(bp::empty({1})) {
  if (bp_get_client_v1(BP_CLIENT_LEVEL, &client_) != BP_OK ||
      client_->find_operator("add", &op_) != BP_OK)
    throw std::runtime_error(client_->error_message());
  args_[0] = bp::value_of(a_);
  args_[1] = bp::value_of(b_);
  args_[2] = bp::value_of(std::int64_t{1});
  outputs_[0] = &out_.impl()->abi;
  const bp::DeviceRecord& record = bp::device_record(a_.device());
  kernel_ =
      bp::find_operator("add")->tables[record.backend_number].load()->entries[bp::index(bp::f32)];
  raw_.h = {sizeof raw_, BP_TYPE_CALL, nullptr};
  raw_.op = op_;
  raw_.num_args = 3;
  raw_.num_outputs = 1;
  raw_.device = record.handle;
  raw_.stream = record.default_stream->raw;
}

void BoxedAdd::call() {
  bp_tensor* result = outputs_[0];
  if (client_->call(op_, args_, 2, &result, 1) != BP_OK)
    throw std::runtime_error(client_->error_message());
}

void BoxedAdd::run_kernel() {
  raw_.args = args_;
  raw_.outputs = outputs_;
  if (kernel_.run(kernel_.self, &raw_) != BP_OK) throw std::runtime_error("the kernel fails");
}

void measure_boxed() {
  BoxedAdd boxed;
  // In turns, so that a slower moment of the machine is one of both.
  std::vector<double> calls, kernels, differences;
  for (int turn = 0; turn < 3; ++turn) {
    calls.push_back(bench::median_ns([&] { boxed.call(); }));
    kernels.push_back(bench::median_ns([&] { boxed.run_kernel(); }));
    differences.push_back(calls.back() - kernels.back());
  }
  const auto report = [](const char* name, std::vector<double>& values) {
    std::sort(values.begin(), values.end());
    bench::report(name, values[values.size() / 2], "ns");
  };
  report("boxed_add_out_1_element", calls);
  report("kernel_add_1_element", kernels);
  report("boxed_add_out_beyond_kernel", differences);
}

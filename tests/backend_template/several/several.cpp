// Devices of several makers in one process: several [--missing NAME] DEVICE... loads them in that order, moves tensors between
// every two of them, trains on each alone and then on all at once, a thread each, and compares the bits. A device that is
// missing is asked for first, and looked for in every plugin that there is.
#include <cmath>
#include <cstring>
#include <iostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <backplane/backplane.hpp>
#include <backplane/runtime/interop.hpp>

namespace {

using bp::Device;
using bp::Tensor;
using Floats = std::vector<float>;

void expect(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error(what);
}

// Numbers that no generator has to be asked for, in [-0.5, 0.5].
Tensor numbers(std::vector<std::int64_t> shape, float phase, Device device) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  Floats values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = 0.5F * std::sin(phase + 1.7F * static_cast<float>(i));
  return bp::tensor(values, {shape.data(), shape.size()}, {.dtype = bp::f32, .device = device});
}

Floats values_of(const Tensor& tensor) {
  const Tensor here = bp::contiguous(bp::to(tensor, bp::device("cpu:0")));
  const float* first = here.data<float>();
  return {first, first + here.numel()};
}

// ---- Tensors move --------------------------------------------------------------------------------------

void move_between(Device from, Device to) {
  const std::string way = bp::device_name(from) + " to " + bp::device_name(to);
  const Tensor sent = numbers({5, 7}, 0.1F, from);
  const Tensor got = bp::to(sent, to);
  expect(got.device() == to, way + ": the tensor did not arrive");
  expect(values_of(got) == values_of(sent), way + ": the values changed");
  expect(values_of(bp::to(bp::transpose(sent, 0, 1), to)) == values_of(bp::transpose(got, 0, 1)),
         way + ": a view changed on its way");
  expect(bp::to(bp::narrow(sent, 0, 2, 0), to).numel() == 0, way + ": nothing became something");
  expect(values_of(bp::to(bp::add(got, got), from)) == values_of(bp::add(sent, sent)),
         way + ": a sum came back wrong");
  if (from == to) return;
  try {
    bp::add(sent, got);
  } catch (const bp::Error& error) {
    const std::string text = error.what();
    return expect(text.find(bp::device_name(from)) != std::string::npos &&
                      text.find(bp::device_name(to)) != std::string::npos,
                  way + ": the error does not name both devices: " + text);
  }
  expect(false, way + ": a call with tensors of both went through");
}

// ---- Training ------------------------------------------------------------------------------------------

struct Layer {
  Tensor weight, bias;
  Tensor forward(const Tensor& x) const { return bp::add(bp::matmul(x, weight), bias); }
};

Layer make_layer(std::int64_t num_in, std::int64_t num_out, Device device) {
  const Tensor weight = numbers({num_in, num_out}, 0.3F, device);
  const Tensor bias = numbers({num_out}, 0.9F, device);
  return {bp::set_requires_grad(weight), bp::set_requires_grad(bias)};
}

void step(const Tensor& parameter) {
  const bp::NoGrad guard;
  bp::add_(parameter, bp::grad(parameter), -0.1);
  bp::set_grad(parameter, {});
}

// The losses and, at the end, the parameters.
Floats train(Device device) {
  const Tensor x = numbers({32, 8}, 0.5F, device), wanted = numbers({32, 4}, 0.7F, device);
  const Layer hidden = make_layer(8, 16, device), scores = make_layer(16, 4, device);
  Floats result;
  for (int i = 0; i < 20; ++i) {
    const Tensor error = bp::sub(scores.forward(bp::relu(hidden.forward(x))), wanted);
    const Tensor loss = bp::mean(bp::mul(error, error));
    bp::backward(loss);
    for (const Layer* layer : {&hidden, &scores}) {
      step(layer->weight);
      step(layer->bias);
    }
    result.push_back(bp::item<float>(loss));
  }
  expect(result.back() < result.front(), bp::device_name(device) + ": nothing was learned");
  for (const Layer* layer : {&hidden, &scores})
    for (const Tensor& each : {layer->weight, layer->bias})
      for (const float value : values_of(bp::detach(each))) result.push_back(value);
  return result;
}

bool same_bits(const Floats& a, const Floats& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

void train_at_once(const std::vector<Device>& devices) {
  std::vector<Floats> alone;
  for (const Device device : devices) alone.push_back(train(device));
  std::vector<Floats> together(devices.size());
  std::vector<std::string> errors(devices.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < devices.size(); ++i)
    threads.emplace_back([&, i] {
      try {
        for (int round = 0; round < 3; ++round) {
          together[i] = train(devices[i]);
          expect(same_bits(together[i], alone[i]), "it learns otherwise beside the others");
        }
      } catch (const std::exception& error) {
        errors[i] = error.what();
      }
    });
  for (std::thread& each : threads) each.join();
  for (std::size_t i = 0; i < devices.size(); ++i)
    expect(errors[i].empty(), bp::device_name(devices[i]) + ": " + errors[i]);
}

// ---- The application's memory --------------------------------------------------------------------------

// On every device that takes addresses; cpu does, and what `backplane new-backend` writes.
void lend_memory(Device device) {
  const bp::NativeKinds kinds = bp::native_kinds(device);
  if (kinds.memory.empty() || kinds.memory.front() != BP_NATIVE_ADDRESS) return;
  alignas(64) float memory[4] = {1, 2, 3, 4};
  int deleted = 0;
  {
    const Tensor tensor = bp::tensor_from_blob(
        memory, {4}, {1}, bp::f32, device, [](void* count) { ++*static_cast<int*>(count); },
        &deleted);
    bp::add_(tensor, 1);
    bp::synchronize(device);
    expect(deleted == 0, bp::device_name(device) + ": the memory was given back too early");
  }
  bp::synchronize(device);
  expect(deleted == 1 && memory[3] == 5,
         bp::device_name(device) + ": the application's memory was not used, or not given back");
}

// What `backplane new-backend` writes takes any queue but none.
void share_queue(Device device) {
  const bp::NativeKinds kinds = bp::native_kinds(device);
  const std::string name = bp::device_name(device);
  const std::string own_kind = name.substr(0, name.find(':')) + ".queue";
  if (kinds.stream.empty() || kinds.stream.front() != own_kind || own_kind == "reference.queue")
    return;
  char queue = 0;
  const bp::NativeHandle native{kinds.stream.front(), reinterpret_cast<std::uint64_t>(&queue)};
  const bp::Stream stream = bp::adopt_stream(device, native);
  expect(bp::native_handle(stream).value == native.value,
         name + ": the queue that came in does not come out");
  const bp::StreamGuard guard(stream);
  expect(values_of(bp::add(numbers({2}, 0, device), 1)).front() == 1,
         name + ": a queue of the application's does no work");
  try {
    bp::adopt_stream(device, {native.kind, 0});
  } catch (const bp::Error& error) {
    return expect(std::string(error.what()).find("the queue is null") != std::string::npos,
                  name + ": it says of no queue: " + error.what());
  }
  expect(false, name + ": no queue was taken for one");
}

void expect_missing(const std::string& name) {
  try {
    bp::device(name);
  } catch (const bp::Error& error) {
    return expect(std::string(error.what()).find(name) != std::string::npos,
                  "the error does not name the device: " + std::string(error.what()));
  }
  expect(false, "there is a device " + name);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    std::vector<Device> devices;
    int first = 1;
    if (argc > 2 && std::string(argv[1]) == "--missing") {
      expect_missing(argv[2]);
      first = 3;
    }
    for (int i = first; i < argc; ++i) devices.push_back(bp::device(argv[i]));
    for (const Device from : devices)
      for (const Device to : devices) move_between(from, to);
    for (const Device device : devices) {
      lend_memory(device);
      share_queue(device);
    }
    train_at_once(devices);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}

// Which nodes are taken, and what becomes of them.
#include "provider.hpp"

#include <deque>
#include <memory>
#include <mutex>

#include "program.hpp"

namespace bp::onnx {
namespace {

struct DeviceProvider : OrtEp {
  Device device;
};
struct Computation : OrtNodeComputeInfo {
  std::unique_ptr<Program> program;
};

struct Unserved {
  std::mutex mutex;
  std::deque<std::string> sentences;
};
Unserved& unserved() {
  static Unserved once;
  return once;
}

void note_unserved(const GraphNode& node, const std::string& why) {
  Unserved& list = unserved();
  const std::lock_guard lock(list.mutex);
  if (list.sentences.size() == 1000) list.sentences.pop_front();
  list.sentences.push_back(name_of(node) + ": " + why);
}

// Runs of known nodes in the graph's order, which is such that no way from one to another leaves the run.
void claim(const DeviceProvider& provider, const OrtGraph* graph, OrtEpGraphSupportInfo* support) {
  const ort::FusionOptions options{interface_version, true};
  std::vector<const OrtNode*> run;
  const auto end_run = [&] {
    if (!run.empty()) check(ort::add_nodes_to_fuse(support, run.data(), run.size(), &options));
    run.clear();
  };
  for (const GraphNode& node : read_nodes(graph)) {
    std::string why;
    if (!node.is_taken && Step::make(node, provider.device, why)) {
      run.push_back(node.handle);
      continue;
    }
    if (!node.is_taken) note_unserved(node, why);
    end_run();
  }
  end_run();
}

OrtStatus* compute(OrtNodeComputeInfo* self, void*, OrtKernelContext* context) {
  return guarded([&] { static_cast<Computation*>(self)->program->run(context); });
}

OrtStatus* compile(OrtEp* self, const OrtGraph** graphs, const OrtNode** fused, std::size_t count,
                   OrtNodeComputeInfo** infos, OrtNode**) {
  return guarded([&] {
    const Device device = static_cast<DeviceProvider*>(self)->device;
    for (std::size_t i = 0; i < count; ++i) {
      const GraphNode whole = read_node(fused[i]);
      auto computation = std::make_unique<Computation>();
      computation->program =
          std::make_unique<Program>(read_nodes(graphs[i]), whole.inputs, whole.outputs, device);
      computation->create_state = [](OrtNodeComputeInfo*, OrtNodeComputeContext*,
                                     void** state) -> OrtStatus* {
        return *state = nullptr, nullptr;
      };
      computation->compute = compute;
      computation->release_state = [](OrtNodeComputeInfo*, void*) {};
      infos[i] = computation.release();
    }
  });
}

}  // namespace

OrtEp* make_provider(Device device) {
  auto provider = std::make_unique<DeviceProvider>();
  provider->device = device;
  provider->name = [](const OrtEp*) { return provider_name; };
  provider->capability = [](OrtEp* self, const OrtGraph* graph, OrtEpGraphSupportInfo* support) {
    return guarded([&] { claim(*static_cast<DeviceProvider*>(self), graph, support); });
  };
  provider->compile = compile;
  provider->release_compute = [](OrtEp*, OrtNodeComputeInfo** infos, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) delete static_cast<Computation*>(infos[i]);
  };
  return provider.release();
}

void release_provider(OrtEp* provider) {
  delete static_cast<DeviceProvider*>(provider);
}

std::string take_unserved() {
  Unserved& list = unserved();
  const std::lock_guard lock(list.mutex);
  std::string text;
  for (const std::string& sentence : list.sentences) text += sentence + "\n";
  list.sentences.clear();
  return text;
}

}  // namespace bp::onnx

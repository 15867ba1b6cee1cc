// Our side of bench/peers/loader.py: samples a second of one epoch with two workers, threads and processes.
#include <chrono>
#include <cstdio>
#include <exception>
#include <string>

#include <backplane/data/data.hpp>
#include <backplane/runtime/settings.hpp>
#include <backplane/tensors.hpp>

namespace {

using namespace bp;
using namespace bp::data;

void measure(const std::string& name, const DatasetPtr& dataset) {
  for (const WorkerKind kind : {WorkerKind::thread, WorkerKind::process}) {
    DataLoader loader(dataset,
                      {.batch_size = 64, .shuffle = true, .num_workers = 2, .worker_kind = kind});
    const auto start = std::chrono::steady_clock::now();
    std::int64_t count = 0;
    for (const Batch& batch : loader) count += batch.as_list()[0].as_tensor().size(0);
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    const char* workers = kind == WorkerKind::thread ? "threads" : "processes";
    std::printf("{\"name\": \"%s, %s\", \"value\": %.6g}\n", name.c_str(), workers,
                static_cast<double>(count) / elapsed.count());
  }
}

void measure_all() {
  set_num_threads(1);  // as the peer's side
  const Tensor rows = rand({60000, 64});
  measure("tensors", std::make_shared<TensorDataset>(std::vector{rows, arange(0, 60000)}));
  measure("function",
          std::make_shared<FunctionDataset>(60000, [rows](std::int64_t index) -> Sample {
            return State::List{select(rows, 0, index), index};
          }));
  const Tensor images = to(randint(0, 256, {20000, 1, 28, 28}), u8);
  measure("images",
          std::make_shared<FunctionDataset>(20000, [images](std::int64_t index) -> Sample {
            const Tensor image = to(select(images, 0, index), f32);
            return State::List{(image / 255.0 - 0.5) / 0.25, index % 10};
          }));
}

}  // namespace

int main() {
  try {
    measure_all();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "backplane_bench_loader: %s\n", error.what());
    return 1;
  }
}

// The cpu plugin's kernels called directly through the C ABI: small ones by the nanosecond, large ones as a share
// of the copy bandwidth, the best memcpy of the same size with all cores measured in turn with the kernel. On a busy
// machine BACKPLANE_BENCH_ONE_THREAD=1 is steadier: one thread each, by its own processor time.
#include <algorithm>
#include <benchmark/benchmark.h>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <backplane/abi.h>

#include "backends/cpu/expressions.hpp"
#include "sdk/fake_host.hpp"

namespace {

using Sizes = std::vector<int64_t>;

bool uses_one_thread() {
  static const bool one = std::getenv("BACKPLANE_BENCH_ONE_THREAD") != nullptr;
  return one;
}
unsigned num_threads() {
  return uses_one_thread() ? 1 : std::max(1u, std::thread::hardware_concurrency());
}

// The plugin beside the bench's libraries, or the one that BACKPLANE_CPU_PLUGIN names.
std::string plugin_path() {
  if (const char* path = std::getenv("BACKPLANE_CPU_PLUGIN")) return path;
  const auto program = std::filesystem::read_symlink("/proc/self/exe");
  return program.parent_path().parent_path() / "lib/backplane/libbackplane_cpu.so";
}

class Cpu {
 public:
  static Cpu& get() {
    static auto& one = *new Cpu;
    return one;
  }
  const bp_kernel& kernel(const std::string& name) const {
    for (uint32_t i = 0; i < (*plugin_)->num_kernels; ++i) {
      if ((*plugin_)->kernels[i]->op == name) return *(*plugin_)->kernels[i];
    }
    throw std::runtime_error("no kernel " + name);
  }

 private:
  Cpu() {
    self_ = this;
    for (const char* name :
         {"copy", "cast", "sum", "mean", "max", "min", "argmax", "softmax", "log_softmax"}) {
      bp_operator& op = others_[name];
      op.h = {sizeof op, BP_TYPE_OPERATOR, nullptr};
      op.name = others_.find(name)->first.c_str();
    }
    host_.table.operator_at = [](const bp_host*, uint32_t index) -> const bp_operator* {
      const auto& all = self_->expressions_.all();
      return index < all.size() ? &all[index] : nullptr;
    };
    host_.table.find_operator = [](const bp_host*, const char* name) -> const bp_operator* {
      const auto found = self_->others_.find(name);
      return found == self_->others_.end() ? nullptr : &found->second;
    };
    host_.table.num_threads = [](const bp_host*) { return uint32_t{num_threads()}; };
    plugin_ = std::make_unique<fake::Plugin>(host_, plugin_path());
  }

  static inline Cpu* self_ = nullptr;
  fake::Host host_;
  bp_test::ExpressionOperators expressions_;
  std::map<std::string, bp_operator> others_;
  std::unique_ptr<fake::Plugin> plugin_;
};

// Memory that was touched, from the plugin's own allocator's alignment on: huge pages if the system has them.
class Block {
 public:
  explicit Block(size_t bytes)
      : memory_(static_cast<char*>(std::aligned_alloc(2 << 20, (bytes + (2 << 20)) >> 21 << 21))) {
    for (size_t i = 0; i < bytes / 4; ++i)
      reinterpret_cast<float*>(memory_)[i] = static_cast<float>(i % 1021) / 512 - 1;
  }
  ~Block() { std::free(memory_); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  char* get() const { return memory_; }

 private:
  char* memory_;
};

struct Tensor {
  Tensor(char* data, uint32_t dtype, Sizes sizes, Sizes steps = {})
      : shape(std::move(sizes)), strides(std::move(steps)) {
    const bool contiguous = strides.empty();
    if (contiguous) {
      strides.resize(shape.size());
      int64_t next = 1;
      for (size_t i = shape.size(); i-- > 0; next *= shape[i]) strides[i] = next;
    }
    value.size = sizeof value;
    value.flags = BP_LAYOUT_STRIDED | (contiguous ? BP_LAYOUT_CONTIGUOUS : 0u);
    value.numel = 1;
    for (int64_t size : shape) value.numel *= size;
    value.dtype = dtype;
    value.itemsize = dtype == BP_BOOL                     ? 1
                     : dtype == BP_F64 || dtype == BP_I64 ? 8
                     : dtype == BP_F32                    ? 4
                                                          : 2;
    value.dl.data = data;
    value.dl.ndim = static_cast<int32_t>(shape.size());
    value.dl.shape = shape.data();
    value.dl.strides = strides.data();
  }
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;

  Sizes shape, strides;
  bp_tensor value{};
};

bp_value of(const Tensor& tensor) {
  bp_value value{};
  value.tag = BP_TENSOR;
  value.u.tensor = &tensor.value;
  return value;
}
bp_value of(int64_t number) {
  bp_value value{};
  value.tag = BP_INT;
  value.u.i = number;
  return value;
}

class Call {
 public:
  Call(const std::string& name, std::vector<bp_value> args, Tensor& out)
      : kernel_(Cpu::get().kernel(name)), args_(std::move(args)), out_(&out.value) {
    call_.h = {sizeof call_, BP_TYPE_CALL, nullptr};
    call_.args = args_.data();
    call_.num_args = static_cast<uint32_t>(args_.size());
    call_.outputs = &out_;
    call_.num_outputs = 1;
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  void operator()() const {
    if (kernel_.run(kernel_.self, &call_) != BP_OK)
      throw std::runtime_error(fake::Host::last_message());
  }

 private:
  const bp_kernel& kernel_;
  std::vector<bp_value> args_;
  bp_tensor* out_;
  bp_call call_{};
};

constexpr int64_t large = 16 << 20;  // elements of f32: 64 MiB
constexpr size_t large_bytes = size_t{64} << 20;

struct Large {
  static Large& get() {
    static auto& one = *new Large;
    return one;
  }
  Block a{large_bytes}, b{large_bytes}, out{large_bytes};
};

double now() {
  timespec time{};
  clock_gettime(uses_one_thread() ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

template <class F> double seconds(F&& f) {
  const double start = now();
  f();
  return now() - start;
}

// The copy that others are compared with: with all cores, each its own part.
void copy_with_all_cores(char* to, const char* from, size_t bytes) {
  const size_t cores = num_threads();
  std::vector<std::thread> others;
  for (size_t core = 1; core < cores; ++core) {
    others.emplace_back([=] {
      std::memcpy(to + bytes * core / cores, from + bytes * core / cores, bytes / cores);
    });
  }
  std::memcpy(to, from, bytes / cores);
  for (std::thread& other : others) other.join();
}

// Reports `of_copy`: the kernel's bytes per second over those of the copy, best of all rounds. Each runs twice and is
// timed once, since what the other left in the cache has to be written to memory first.
void compare_with_copy(benchmark::State& state, const Call& call, double bytes) {
  Large& memory = Large::get();
  double best = 1e9, best_copy = 1e9;
  const auto copy = [&] { copy_with_all_cores(memory.out.get(), memory.b.get(), large_bytes); };
  for (auto _ : state) {
    call();
    const double time = seconds(call);
    copy();
    best_copy = std::min(best_copy, seconds(copy));
    best = std::min(best, time);
    state.SetIterationTime(time);
  }
  state.counters["GB/s"] = bytes / best * 1e-9;
  state.counters["copy GB/s"] = 2.0 * large_bytes / best_copy * 1e-9;
  state.counters["of_copy"] = bytes / best / (2.0 * large_bytes / best_copy);
}

void large_unary(benchmark::State& state, const std::string& name) {
  Large& memory = Large::get();
  Tensor a(memory.a.get(), BP_F32, {large}), out(memory.out.get(), BP_F32, {large});
  compare_with_copy(state, Call(name, {of(a)}, out), 2.0 * large_bytes);
}
BENCHMARK_CAPTURE(large_unary, copy, "copy")->UseManualTime()->Iterations(15);
BENCHMARK_CAPTURE(large_unary, neg, "neg")->UseManualTime()->Iterations(15);
BENCHMARK_CAPTURE(large_unary, tanh, "tanh")->UseManualTime()->Iterations(15);
BENCHMARK_CAPTURE(large_unary, exp, "exp")->UseManualTime()->Iterations(15);
BENCHMARK_CAPTURE(large_unary, silu, "silu")->UseManualTime()->Iterations(15);
BENCHMARK_CAPTURE(large_unary, log, "log")->UseManualTime()->Iterations(15);
BENCHMARK_CAPTURE(large_unary, sin, "sin")->UseManualTime()->Iterations(15);

void large_add(benchmark::State& state) {
  Large& memory = Large::get();
  Tensor a(memory.a.get(), BP_F32, {large}), b(memory.b.get(), BP_F32, {large}),
      out(memory.out.get(), BP_F32, {large});
  compare_with_copy(state, Call("add", {of(a), of(b), of(1)}, out), 3.0 * large_bytes);
}
BENCHMARK(large_add)->UseManualTime()->Iterations(15);

void large_add_row(benchmark::State& state) {
  Large& memory = Large::get();
  Tensor a(memory.a.get(), BP_F32, {4096, 4096}), b(memory.b.get(), BP_F32, {4096, 4096}, {0, 1});
  Tensor out(memory.out.get(), BP_F32, {4096, 4096});
  compare_with_copy(state, Call("add", {of(a), of(b), of(1)}, out), 2.0 * large_bytes);
}
BENCHMARK(large_add_row)->UseManualTime()->Iterations(15);

void large_softmax(benchmark::State& state, const std::string& name, int64_t row) {
  Large& memory = Large::get();
  Tensor a(memory.a.get(), BP_F32, {large / row, row}),
      out(memory.out.get(), BP_F32, {large / row, row});
  compare_with_copy(state, Call(name, {of(a), of(1), bp_value{}}, out), 2.0 * large_bytes);
}
BENCHMARK_CAPTURE(large_softmax, rows_of_4096, "softmax", 4096)->UseManualTime()->Iterations(15);
BENCHMARK_CAPTURE(large_softmax, rows_of_64, "softmax", 64)->UseManualTime()->Iterations(15);
BENCHMARK_CAPTURE(large_softmax, log_of_4096, "log_softmax", 4096)->UseManualTime()->Iterations(15);

void large_transpose(benchmark::State& state, uint32_t dtype, int64_t side) {
  Large& memory = Large::get();
  Tensor a(memory.a.get(), dtype, {side, side}, {1, side}),
      out(memory.out.get(), dtype, {side, side});
  compare_with_copy(state, Call("copy", {of(a)}, out),
                    2.0 * static_cast<double>(side * side * a.value.itemsize));
}
BENCHMARK_CAPTURE(large_transpose, f32, BP_F32, 4096)->UseManualTime()->Iterations(15);
BENCHMARK_CAPTURE(large_transpose, f32_odd, BP_F32, 4000)->UseManualTime()->Iterations(15);
BENCHMARK_CAPTURE(large_transpose, f64, BP_F64, 2816)->UseManualTime()->Iterations(15);
BENCHMARK_CAPTURE(large_transpose, f16, BP_F16, 5632)->UseManualTime()->Iterations(15);

void large_cast(benchmark::State& state, uint32_t from, uint32_t to) {
  Large& memory = Large::get();
  Tensor a(memory.a.get(), from, {large / 2}), out(memory.out.get(), to, {large / 2});
  compare_with_copy(state, Call("cast", {of(a), of(to)}, out),
                    static_cast<double>(large / 2 * (a.value.itemsize + out.value.itemsize)));
}
BENCHMARK_CAPTURE(large_cast, f32_to_bf16, BP_F32, BP_BF16)->UseManualTime()->Iterations(15);
BENCHMARK_CAPTURE(large_cast, f16_to_f32, BP_F16, BP_F32)->UseManualTime()->Iterations(15);
BENCHMARK_CAPTURE(large_cast, i64_to_f32, BP_I64, BP_F32)->UseManualTime()->Iterations(15);

// Reading alone is compared with a read of the same memory by all cores.
void large_reduction(benchmark::State& state, const std::string& name, int dims) {
  Large& memory = Large::get();
  const int64_t all[] = {0, 1};
  bp_value axes{};
  axes.tag = BP_INT_LIST;
  axes.aux = dims == 2 ? 2 : 1;
  axes.u.ptr = dims == 1 ? all + 1 : all;
  Tensor a(memory.a.get(), BP_F32, {4096, 4096}),
      out(memory.out.get(), BP_F32, dims == 2 ? Sizes{} : Sizes{4096});
  compare_with_copy(state, Call(name, {of(a), axes, of(0), bp_value{}}, out), 1.0 * large_bytes);
}
BENCHMARK_CAPTURE(large_reduction, sum_all, "sum", 2)->UseManualTime()->Iterations(15);
BENCHMARK_CAPTURE(large_reduction, sum_rows, "sum", 1)->UseManualTime()->Iterations(15);
BENCHMARK_CAPTURE(large_reduction, sum_columns, "sum", 0)->UseManualTime()->Iterations(15);
BENCHMARK_CAPTURE(large_reduction, max_all, "max", 2)->UseManualTime()->Iterations(15);

void small_binary(benchmark::State& state, const std::string& name, bool with_alpha) {
  alignas(64) static char memory[3][1 << 16];
  Tensor a(memory[0], BP_F32, {state.range(0)}), b(memory[1], BP_F32, {state.range(0)});
  Tensor out(memory[2], BP_F32, {state.range(0)});
  std::vector<bp_value> args = {of(a), of(b)};
  if (with_alpha) args.push_back(of(1));
  const Call call(name, args, out);
  for (auto _ : state) call();
}
BENCHMARK_CAPTURE(small_binary, add, "add", true)->Arg(1)->Arg(16)->Arg(512)->Arg(4096);
BENCHMARK_CAPTURE(small_binary, mul, "mul", false)->Arg(1)->Arg(16)->Arg(512);
BENCHMARK_CAPTURE(small_binary, div, "div", false)->Arg(1);

void small_with_number(benchmark::State& state) {
  alignas(64) static char memory[2][1 << 16];
  Tensor a(memory[0], BP_F32, {state.range(0)}), out(memory[1], BP_F32, {state.range(0)});
  const Call call("add", {of(a), of(2), of(1)}, out);
  for (auto _ : state) call();
}
BENCHMARK(small_with_number)->Arg(1)->Arg(512);

void small_unary(benchmark::State& state, const std::string& name) {
  alignas(64) static char memory[2][1 << 16];
  Tensor a(memory[0], BP_F32, {state.range(0)}), out(memory[1], BP_F32, {state.range(0)});
  const Call call(name, {of(a)}, out);
  for (auto _ : state) call();
}
BENCHMARK_CAPTURE(small_unary, neg, "neg")->Arg(1);
BENCHMARK_CAPTURE(small_unary, relu, "relu")->Arg(1)->Arg(512);
BENCHMARK_CAPTURE(small_unary, exp, "exp")->Arg(1)->Arg(17)->Arg(512);
BENCHMARK_CAPTURE(small_unary, tanh, "tanh")->Arg(1)->Arg(512);
BENCHMARK_CAPTURE(small_unary, silu, "silu")->Arg(1)->Arg(512);
BENCHMARK_CAPTURE(small_unary, copy, "copy")->Arg(1)->Arg(512);

void small_broadcast(benchmark::State& state) {
  alignas(64) static char memory[3][1 << 16];
  const int64_t columns = state.range(0);
  Tensor a(memory[0], BP_F32, {32, columns}), b(memory[1], BP_F32, {32, columns}, {0, 1});
  Tensor out(memory[2], BP_F32, {32, columns});
  const Call call("add", {of(a), of(b), of(1)}, out);
  for (auto _ : state) call();
}
BENCHMARK(small_broadcast)->Arg(10)->Arg(64);

void small_reduction(benchmark::State& state, const std::string& name, int64_t rows,
                     int64_t columns, int64_t dim) {
  alignas(64) static char memory[2][1 << 16];
  bp_value axes{};
  axes.tag = BP_INT_LIST;
  axes.aux = 1;
  axes.u.ptr = &dim;
  Tensor a(memory[0], BP_F32, {rows, columns}), out(memory[1], BP_F32, {dim == 0 ? columns : rows});
  const Call call(name, {of(a), axes, of(0), bp_value{}}, out);
  for (auto _ : state) call();
}
BENCHMARK_CAPTURE(small_reduction, sum_1x1, "sum", 1, 1, 1);
BENCHMARK_CAPTURE(small_reduction, sum_32x10_rows, "sum", 32, 10, 1);
BENCHMARK_CAPTURE(small_reduction, sum_32x10_columns, "sum", 32, 10, 0);

void small_softmax(benchmark::State& state) {
  alignas(64) static char memory[2][1 << 16];
  Tensor a(memory[0], BP_F32, {32, 10}), out(memory[1], BP_F32, {32, 10});
  const Call call("softmax", {of(a), of(1), bp_value{}}, out);
  for (auto _ : state) call();
}
BENCHMARK(small_softmax);

}  // namespace

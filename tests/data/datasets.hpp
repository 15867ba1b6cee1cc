// Datasets, values and folders for the tests of data/.
#pragma once

#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <stdexcept>
#include <unistd.h>

#include <backplane/data/data.hpp>

#include "autograd/tensors.hpp"

namespace bp::test {

using namespace bp::data;
using testing::HasSubstr;

inline std::vector<std::int64_t> whole_of(const Tensor& values) {
  return to_vector<std::int64_t>(to(values, i64));
}

// Sample i is {[i, i + 1/2], i}.
inline DatasetPtr counted_dataset(std::int64_t size) {
  const Tensor number = to(arange(0, size), f32);
  return std::make_shared<TensorDataset>(
      std::vector{stack({number, add(number, 0.5)}, 1), arange(0, size)});
}

// Sample i is {index: i, noise: three numbers of its own generator}, by get alone.
inline DatasetPtr noisy_dataset(std::int64_t size) {
  return std::make_shared<FunctionDataset>(size, [](std::int64_t index) {
    return State::dict(
        {{"index", index}, {"noise", rand({3}, f64, std::nullopt, &sample_generator())}});
  });
}

class Counting : public IterableDataset {
 public:
  explicit Counting(std::int64_t size, std::int64_t first = 0) : size_(size), first_(first) {}
  std::unique_ptr<SampleStream> stream(std::int64_t epoch) const override {
    struct Stream : SampleStream {
      std::int64_t at, end;
      std::optional<Sample> next() override {
        if (at >= end) return std::nullopt;
        return Sample(State::List{at++, rand({2}, f64, std::nullopt, &sample_generator())});
      }
    };
    auto made = std::make_unique<Stream>();
    made->at = first_ + 1000 * epoch;
    made->end = made->at + size_;
    return made;
  }

 private:
  std::int64_t size_, first_;
};

// What a batch says of itself, bit for bit.
inline std::string told(const State& value) {
  if (value.is_tensor()) {
    const Tensor host = contiguous(value.as_tensor());
    std::string text = to_string(host.shape());
    if (host.numel() > 1000) {  // by one number that depends on each and its place
      const Tensor flat = to(reshape(host, {-1}), f64);
      return text + told(sum(mul(flat, add(to(arange(0, host.numel()), f64), 1))));
    }
    for (const double each : to_vector<double>(to(host, f64))) text += fmt::format(" {:a}", each);
    return text;
  }
  std::string text;
  if (value.is_list())
    for (const State& each : value.as_list()) text += told(each) + "; ";
  else if (value.is_dict())
    for (const auto& [key, each] : value.entries()) text += key + ": " + told(each) + "; ";
  else if (value.is_text())
    text = value.as_text();
  else if (value.is_int())
    text = std::to_string(value.as_int());
  else if (value.is_double())
    text = fmt::format("{:a}", value.as_double());
  return text;
}

inline std::vector<std::string> told_epoch(DataLoader& loader) {
  std::vector<std::string> batches;
  for (const Batch& batch : loader) batches.push_back(told(batch));
  return batches;
}

// A folder that goes with the test.
class Folder {
 public:
  Folder() {
    std::string name = std::filesystem::temp_directory_path() / "backplane-data-XXXXXX";
    path_ = mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string file(const std::string& name) const { return path_ / name; }
  std::string written(const std::string& name, std::string_view bytes) const {
    std::ofstream(file(name), std::ios::binary) << bytes;
    return file(name);
  }

 private:
  std::filesystem::path path_;
};

inline std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace bp::test

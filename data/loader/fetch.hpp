// What a worker does, whatever it is: one batch from a dataset.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <backplane/data/loader.hpp>

namespace bp::data {

// Which batch. `generation` tells the epochs of a loader apart, also those with the same number.
struct Task {
  std::uint64_t generation = 0;
  std::int64_t epoch = 0;
  std::int64_t batch = 0;
  std::vector<std::int64_t> indices;  // of a Dataset
};

struct Failure {
  ErrorClass error_class = ErrorClass::internal;
  std::int64_t index = -1;
  bool in_init = false;
  std::string type, text;
};

struct Fetched {
  std::uint64_t generation = 0;
  std::int64_t batch = 0;
  Batch value;
  bool at_end = false;  // the stream had no sample for it
  std::optional<Failure> failure;
};

// What all workers of a loader share.
struct FetchPlan {
  DatasetPtr dataset;
  IterablePtr iterable;
  DataLoaderOptions options;
};

// A worker's own part. It belongs to one thread.
class Fetcher {
 public:
  Fetcher(std::shared_ptr<const FetchPlan> plan, int worker)
      : plan_(std::move(plan)), worker_(worker) {}

  // Throws nothing that code of the application has thrown.
  Fetched run(const Task& task);

 private:
  Batch fetch(const Task& task, Fetched& result);
  Batch fetch_by_index(const Task& task);
  Batch fetch_from_stream(const Task& task, Fetched& result);
  void open_stream(const Task& task);
  bool pass_over(const Task& task, std::int64_t first);
  Batch joined(const Task& task, std::vector<Sample> samples,
               const std::vector<std::int64_t>& indices);
  SampleContext context(const Task& task, std::int64_t index) const;
  void initialize();

  std::shared_ptr<const FetchPlan> plan_;
  int worker_;
  bool initialized_ = false;
  bool in_init_ = false;
  std::int64_t at_index_ = -1;  // of the sample that is being made

  std::unique_ptr<SampleStream> stream_;
  std::uint64_t stream_generation_ = 0;
  std::int64_t stream_position_ = 0;  // samples that were made, jumped over or lost to an error
};

}  // namespace bp::data

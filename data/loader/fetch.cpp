#include "loader/fetch.hpp"

#include <cstdlib>
#include <cxxabi.h>
#include <new>
#include <stdexcept>
#include <typeinfo>

#include <backplane/autograd/autograd.hpp>
#include <backplane/tensor/check.hpp>

namespace bp::data {
namespace {

std::string readable(const std::type_info* type) {
  if (!type) return "an unknown exception";
  int status = 0;
  char* name = abi::__cxa_demangle(type->name(), nullptr, nullptr, &status);
  std::string result = status == 0 && name ? name : type->name();
  std::free(name);
  return result;
}

// What stands for an index where no single sample is made.
constexpr std::int64_t index_of_stream = -1;
constexpr std::int64_t index_of_joining(std::int64_t batch) {
  return -2 - batch;
}

// Of the exception that is being handled.
Failure described_failure() {
  Failure failure;
  failure.type = readable(abi::__cxa_current_exception_type());
  try {
    throw;
  } catch (const Error& error) {
    failure.error_class = error.error_class();
    failure.text = error.what();
  } catch (const std::bad_alloc& error) {
    failure.error_class = ErrorClass::out_of_memory;
    failure.text = error.what();
  } catch (const std::invalid_argument& error) {
    failure.error_class = ErrorClass::bad_argument;
    failure.text = error.what();
  } catch (const std::out_of_range& error) {
    failure.error_class = ErrorClass::bad_argument;
    failure.text = error.what();
  } catch (const std::exception& error) {
    failure.text = error.what();
  } catch (...) {
    failure.text = "it has no text";
  }
  return failure;
}

}  // namespace

Fetched Fetcher::run(const Task& task) {
  const NoGrad not_recorded;
  Fetched result;
  result.generation = task.generation;
  result.batch = task.batch;
  at_index_ = -1;
  try {
    initialize();
    result.value = fetch(task, result);
  } catch (...) {
    result.failure = described_failure();
    result.failure->index = at_index_;
    result.failure->in_init = in_init_;
  }
  return result;
}

void Fetcher::initialize() {
  if (initialized_ || worker_ < 0 || !plan_->options.worker_init_fn) return;
  in_init_ = true;
  plan_->options.worker_init_fn(worker_);
  in_init_ = false;
  initialized_ = true;
}

Batch Fetcher::fetch(const Task& task, Fetched& result) {
  return plan_->dataset ? fetch_by_index(task) : fetch_from_stream(task, result);
}

SampleContext Fetcher::context(const Task& task, std::int64_t index) const {
  return {plan_->options.seed, task.epoch, index, worker_, plan_->options.num_workers};
}

Batch Fetcher::fetch_by_index(const Task& task) {
  const DataLoaderOptions& options = plan_->options;
  if (options.batch_size && !options.collate_fn) {
    const SampleScope scope(context(task, index_of_joining(task.batch)));
    if (std::optional<Batch> batch = plan_->dataset->get_batch(task.indices)) return *batch;
  }
  std::vector<Sample> samples;
  samples.reserve(task.indices.size());
  for (const std::int64_t index : task.indices) {
    const SampleScope scope(context(task, index));
    at_index_ = index;
    samples.push_back(plan_->dataset->get(index));
  }
  at_index_ = -1;
  return joined(task, std::move(samples), task.indices);
}

Batch Fetcher::fetch_from_stream(const Task& task, Fetched& result) {
  const std::int64_t size = plan_->options.batch_size.value_or(1);
  open_stream(task);
  std::int64_t first = 0;
  if (__builtin_mul_overflow(task.batch, size, &first) || !pass_over(task, first)) {
    result.at_end = true;
    return {};
  }
  std::vector<Sample> samples;
  std::vector<std::int64_t> indices;
  while (static_cast<std::int64_t>(samples.size()) < size) {
    const SampleScope scope(context(task, stream_position_));
    at_index_ = stream_position_++;
    std::optional<Sample> sample = stream_->next();
    if (!sample) break;
    samples.push_back(std::move(*sample));
    indices.push_back(at_index_);
  }
  at_index_ = -1;
  const bool is_short = static_cast<std::int64_t>(samples.size()) < size;
  result.at_end = samples.empty() || (is_short && plan_->options.drop_last);
  return result.at_end ? Batch() : joined(task, std::move(samples), indices);
}

void Fetcher::open_stream(const Task& task) {
  if (stream_ && stream_generation_ == task.generation) return;
  stream_.reset();
  const SampleScope scope(context(task, index_of_stream));
  stream_ = plan_->iterable->stream(task.epoch);
  BP_CHECK(stream_, "DataLoader: the dataset's stream is null");
  stream_generation_ = task.generation;
  stream_position_ = 0;
}

// Leaves out the samples before `first`, which others make or have made. Those that can't be jumped over are made with their
// own random numbers, so that what the stream remembers is the same. False: it ends before.
bool Fetcher::pass_over(const Task& task, std::int64_t first) {
  while (stream_position_ < first) {
    const std::int64_t wanted = first - stream_position_;
    const std::int64_t jumped = stream_->jump(wanted);
    BP_CHECK(jumped >= 0 && jumped <= wanted,
             "DataLoader: the dataset's stream jumped over {} samples when it was asked for {}",
             jumped, wanted);
    stream_position_ += jumped;
    if (jumped > 0) continue;
    const SampleScope scope(context(task, stream_position_++));
    try {
      if (!stream_->next()) return false;
    } catch (...) {  // the caller that asks for its batch gets it
    }
  }
  return true;
}

Batch Fetcher::joined(const Task& task, std::vector<Sample> samples,
                      const std::vector<std::int64_t>& indices) {
  const DataLoaderOptions& options = plan_->options;
  const SampleScope scope(context(task, index_of_joining(task.batch)));
  if (!options.batch_size && !options.batch_sampler) {
    Sample only = std::move(samples.at(0));
    return options.collate_fn ? options.collate_fn({std::move(only)}) : only;
  }
  return options.collate_fn ? options.collate_fn(std::move(samples))
                            : default_collate(samples, indices);
}

}  // namespace bp::data

// needs: cpu
// Worker processes: what goes wrong with them, and that nothing is left of them.
#include <csignal>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "data/loaders.hpp"

namespace bp::test {
namespace {

using namespace std::chrono_literals;

// Sample i is {the worker's pid, i}.
DatasetPtr pids(std::int64_t size) {
  return std::make_shared<FunctionDataset>(size, [](std::int64_t index) -> Sample {
    return State::List{static_cast<std::int64_t>(getpid()), index};
  });
}

std::int64_t pid_in(const Batch& batch) {
  return whole_of(batch.as_list()[0].as_tensor())[0];
}

// Is there such a process, a zombie included?
bool exists(std::int64_t pid) {
  return kill(static_cast<pid_t>(pid), 0) == 0;
}

std::size_t num_open_files() {
  std::size_t count = 0;
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
    static_cast<void>(each);
    ++count;
  }
  return count;
}

std::size_t num_shared_mappings() {
  std::ifstream maps("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);)
    count += line.find("backplane-batch") != std::string::npos;
  return count;
}

DataLoaderOptions processes(int count, std::int64_t batch_size = 2) {
  return with({.batch_size = batch_size}, {count, WorkerKind::process});
}

TEST(WorkerProcesses, are_others_and_leave_nothing) {
  const std::size_t files = num_open_files();
  std::set<std::int64_t> seen;
  {
    DataLoader loader(pids(12), processes(3));
    for (const Batch& batch : loader) seen.insert(pid_in(batch));
  }
  EXPECT_EQ(seen.size(), 3u);
  EXPECT_FALSE(seen.contains(getpid()));
  for (const std::int64_t pid : seen) EXPECT_FALSE(exists(pid));
  EXPECT_EQ(num_open_files(), files);
}

TEST(WorkerProcesses, leave_nothing_when_the_loop_is_left) {
  const std::size_t files = num_open_files();
  std::set<std::int64_t> seen;
  DataLoader loader(pids(100), processes(2));
  const auto leave_by_exception = [&] {
    for (const Batch& batch : loader) {
      seen.insert(pid_in(batch));
      if (seen.size() == 2) throw std::runtime_error("enough");
    }
  };
  EXPECT_EQ(sentence_of(leave_by_exception), "enough");
  for (const Batch& batch : loader) {
    seen.insert(pid_in(batch));
    break;
  }
  EXPECT_EQ(seen.size(), 3u);
  for (const std::int64_t pid : seen) EXPECT_FALSE(exists(pid));
  EXPECT_EQ(num_open_files(), files);
}

TEST(WorkerProcesses, persist_and_end_with_the_loader) {
  std::set<std::int64_t> seen;
  {
    DataLoaderOptions options = processes(2);
    options.persistent_workers = true;
    DataLoader loader(pids(8), options);
    for (int epoch = 0; epoch < 3; ++epoch)
      for (const Batch& batch : loader) seen.insert(pid_in(batch));
    EXPECT_EQ(seen.size(), 2u);
    for (const std::int64_t pid : seen) EXPECT_TRUE(exists(pid));
  }
  for (const std::int64_t pid : seen) EXPECT_FALSE(exists(pid));
}

TEST(WorkerProcesses, that_are_stuck_are_killed_at_the_end) {
  const auto stuck = std::make_shared<FunctionDataset>(4, [](std::int64_t index) -> Sample {
    if (index > 0) std::this_thread::sleep_for(1h);
    return static_cast<std::int64_t>(getpid());
  });
  const auto begin = std::chrono::steady_clock::now();
  std::int64_t pid = 0;
  {
    DataLoader loader(stuck, processes(1, 1));
    pid = whole_of(loader.iterate().next()->as_tensor())[0];
  }
  EXPECT_FALSE(exists(pid));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
}

TEST(WorkerProcesses, that_are_killed_are_named_with_their_signal) {
  for (const int signal : {SIGKILL, SIGSEGV}) {
    const auto dying = std::make_shared<FunctionDataset>(8, [signal](std::int64_t index) -> Sample {
      if (index == 3) {
        std::signal(signal, SIG_DFL);  // a sanitizer has a handler of its own
        raise(signal);
      }
      return index;
    });
    DataLoader loader(dying, processes(2, 1));
    LoaderIterator epoch = loader.iterate();
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(epoch.next());
    for (int again = 0; again < 2; ++again) try {
        epoch.next();
        ADD_FAILURE() << "nobody has died";
      } catch (const Error& error) {
        EXPECT_EQ(error.error_class(), ErrorClass::peer_lost);
        EXPECT_THAT(error.what(), HasSubstr("worker 1 (pid "));
        EXPECT_THAT(error.what(), HasSubstr(fmt::format("was killed by signal {}", signal)));
        EXPECT_THAT(error.what(), HasSubstr("batch 3, from sample 3 on"));
      }
  }
}

TEST(WorkerProcesses, that_persist_are_made_anew_after_one_was_killed) {
  DataLoaderOptions options = processes(2, 1);
  options.persistent_workers = true;
  DataLoader loader(pids(60), options);
  LoaderIterator epoch = loader.iterate();
  const std::int64_t first = pid_in(*epoch.next());
  kill(static_cast<pid_t>(first), SIGKILL);
  EXPECT_THAT(sentence_of([&] {
                while (epoch.next()) {
                }
              }),
              HasSubstr("was killed by signal 9"));
  std::set<std::int64_t> seen;
  for (const Batch& batch : loader) seen.insert(pid_in(batch));
  EXPECT_EQ(seen.size(), 2u);
  EXPECT_FALSE(seen.contains(first));
}

TEST(WorkerProcesses, that_exit_are_named_with_their_code) {
  const auto leaving =
      std::make_shared<FunctionDataset>(2, [](std::int64_t) -> Sample { _exit(7); });
  DataLoader loader(leaving, processes(1));
  EXPECT_THAT(sentence_of([&] { loader.iterate().next(); }), HasSubstr("ended with code 7"));
}

TEST(WorkerProcesses, of_a_killed_loader_go_on_by_its_state) {
  std::vector<std::string> expected;
  DataLoader whole(counted_dataset(12), processes(2, 3));
  expected = told_epoch(whole);
  const auto parent = getpid();
  const auto once = std::make_shared<MapDataset>(counted_dataset(12), [parent](Sample sample) {
    const bool is_fifth = whole_of(sample.as_list()[1].as_tensor())[0] == 5;
    if (is_fifth && getpid() != parent) raise(SIGKILL);
    return sample;
  });
  DataLoader loader(once, processes(2, 3));
  std::vector<std::string> found;
  try {
    for (const Batch& batch : loader) found.push_back(told(batch));
  } catch (const Error&) {
  }
  EXPECT_EQ(found.size(), 1u);
  DataLoader resumed(counted_dataset(12), processes(2, 3));
  resumed.load_state_dict(loader.state_dict());
  for (const Batch& batch : resumed) found.push_back(told(batch));
  EXPECT_EQ(found, expected);
}

// Not under the thread sanitizer: it does not let a child of a process with threads start threads.
#ifndef __SANITIZE_THREAD__
TEST(WorkerProcesses, die_with_a_parent_that_is_killed) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t parent = fork();
  if (parent == 0) {
    DataLoader loader(pids(1000), processes(2, 1));
    LoaderIterator epoch = loader.iterate();
    const std::int64_t workers[2] = {pid_in(*epoch.next()), pid_in(*epoch.next())};
    static_cast<void>(!write(ends[1], workers, sizeof workers));
    std::this_thread::sleep_for(1h);
    _exit(1);
  }
  std::int64_t workers[2] = {};
  ASSERT_EQ(read(ends[0], workers, sizeof workers), static_cast<ssize_t>(sizeof workers));
  // Orphans come here, so that they can be counted.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  for (const std::int64_t worker : workers) {
    pid_t ended = 0;
    for (int i = 0; i < 500 && ended == 0; ++i, std::this_thread::sleep_for(10ms))
      ended = waitpid(static_cast<pid_t>(worker), nullptr, WNOHANG);
    EXPECT_EQ(ended, worker);
  }
  prctl(PR_SET_CHILD_SUBREAPER, 0);
  close(ends[0]);
  close(ends[1]);
}

#endif

TEST(WorkerProcesses, work_after_the_parent_has_used_many_threads) {
  const Tensor a = rand({300, 300});
  const Tensor expected = matmul(a, a);  // OpenMP's pool, which a child does not have
  const Tensor total = sum(mul(rand({1000, 1000}), 2));
  static_cast<void>(item<float>(total));
  const auto products =
      std::make_shared<FunctionDataset>(4, [a](std::int64_t) -> Sample { return matmul(a, a); });
  DataLoader loader(products, processes(2, 1));
  for (const Batch& batch : loader)
    EXPECT_TRUE(allclose(batch.as_tensor(), unsqueeze(expected, 0), 1e-4, 1e-4));
}

// Not under the address sanitizer: the child would wait for a lock of its allocator that another thread held at the fork,
// which is its fault and not ours.
#ifndef __SANITIZE_ADDRESS__
TEST(WorkerProcesses, begin_again_and_again_beside_other_threads) {
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop) add(ones({100}), 1);
  });
  for (int i = 0; i < 5; ++i) {
    DataLoader loader(counted_dataset(8), processes(2));
    EXPECT_EQ(told_epoch(loader).size(), 4u);
  }
  stop = true;
  busy.join();
}

#endif

TEST(WorkerProcesses, may_end_in_another_thread_than_they_began) {
  DataLoader loader(pids(40), processes(2, 1));
  LoaderIterator epoch;
  std::thread([&] { epoch = loader.iterate(); }).join();
  std::this_thread::sleep_for(20ms);
  int count = 0;
  while (epoch.next()) ++count;
  EXPECT_EQ(count, 40);
}

TEST(SharedBatches, are_mapped_and_unmapped_with_their_last_tensor) {
  const auto large = std::make_shared<FunctionDataset>(6, [](std::int64_t index) -> Sample {
    return State::List{full({64, 128}, index, f32), "text", full({3}, index, f64), ones({0, 2})};
  });
  Tensor kept;
  {
    DataLoader loader(large, processes(2, 2));
    for (const Batch& batch : loader) {
      EXPECT_EQ(batch.as_list()[3].as_tensor().shape(), IntList({2, 0, 2}));
      if (!kept.defined()) kept = batch.as_list()[0].as_tensor();
    }
    EXPECT_EQ(num_shared_mappings(), 1u);
  }
  EXPECT_EQ(item<float>(sum(kept)), 64 * 128);
  add_(kept, 1.0);  // it is the parent's own
  EXPECT_EQ(item<float>(sum(kept)), 64 * 128 * 3);
  kept = {};
  EXPECT_EQ(num_shared_mappings(), 0u);
}

TEST(SharedBatches, keep_every_dtype_and_kind) {
  const auto mixed = std::make_shared<FunctionDataset>(1, [](std::int64_t) -> Sample {
    State tree = State::dict({{"none", State()}, {"text", "a\0b"}, {"real", 0.1}, {"flag", true}});
    State::List tensors;
    for (unsigned dtype = 0; dtype < num_dtypes; ++dtype)
      tensors.push_back(to(tensor({0.0, 1.0, 2.0}), static_cast<Dtype>(dtype)));
    tree.set("tensors", tensors);
    return tree;
  });
  DataLoader loader(mixed, with({.batch_size = std::nullopt}, {1, WorkerKind::process}));
  const Batch found = *loader.iterate().next();
  EXPECT_TRUE(found.at("none").is_none());
  EXPECT_TRUE(found.at("flag").as_bool());
  EXPECT_EQ(found.at("real").as_double(), 0.1);
  const State::List& tensors = found.at("tensors").as_list();
  ASSERT_EQ(tensors.size(), num_dtypes);
  for (unsigned dtype = 0; dtype < num_dtypes; ++dtype) {
    EXPECT_EQ(tensors[dtype].as_tensor().dtype(), static_cast<Dtype>(dtype));
    EXPECT_EQ(to_vector<double>(to(tensors[dtype].as_tensor(), f64))[1], 1.0);
  }
}

// The parent asks for batches of many indices while the worker waits to be read from.
TEST(SharedBatches, of_many_indices_do_not_block) {
  DataLoaderOptions options = processes(1, 100000);
  options.prefetch_factor = 4;
  options.collate_fn = [](std::vector<Sample> samples) -> Batch {
    return tensor(std::vector<double>(3000, static_cast<double>(samples.size())));
  };
  const auto numbers =
      std::make_shared<FunctionDataset>(800000, [](std::int64_t index) -> Sample { return index; });
  DataLoader loader(numbers, options);
  int count = 0;
  for (const Batch& batch : loader) count += item<double>(select(batch.as_tensor(), 0, 0)) == 1e5;
  EXPECT_EQ(count, 8);
}

}  // namespace
}  // namespace bp::test

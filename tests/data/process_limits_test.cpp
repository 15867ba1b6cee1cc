// needs: cpu
// Worker processes beside the rest of a program: its limits, its streams, its forks and its other workers.
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <iostream>
#include <sys/resource.h>
#include <sys/wait.h>

#include "data/loaders.hpp"

namespace bp::test {
namespace {

using namespace std::chrono_literals;

DataLoaderOptions two_processes(std::int64_t batch_size = 1) {
  DataLoaderOptions options = with({.batch_size = batch_size}, {2, WorkerKind::process});
  options.timeout = 60;
  return options;
}

// Sample i is 12000 numbers i, which go through shared memory.
DatasetPtr large_dataset(std::int64_t size) {
  return std::make_shared<FunctionDataset>(
      size, [](std::int64_t index) -> Sample { return full({12000}, index, f32); });
}

// The number that the next file gets that is opened.
std::size_t next_file() {
  const int fd = open("/dev/null", O_RDONLY);
  close(fd);
  return static_cast<std::size_t>(fd);
}

// Files get numbers below this one.
class FileLimit {
 public:
  explicit FileLimit(std::size_t files) {
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit lower{files, before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &lower);
  }
  ~FileLimit() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

// The host's plugin is open after it; and the undefined-behaviour sanitizer has seen each class, whose first look needs a
// file's number.
void warm_up() {
  const auto throwing = std::make_shared<FunctionDataset>(
      1, [](std::int64_t) -> Sample { throw_error(ErrorClass::out_of_memory, "no sample"); });
  for (const Workers workers : {Workers{}, Workers{2, WorkerKind::process}}) {
    DataLoader loader(large_dataset(2), with({.batch_size = 1}, workers));
    told_epoch(loader);
    DataLoader failing(throwing, with({.batch_size = 1}, workers));
    try {
      told_epoch(failing);
    } catch (const Error& error) {
      EXPECT_EQ(error.error_class(), ErrorClass::out_of_memory);
    }
  }
}

// Batches that came right, and sentences of those that did not come at all.
struct Outcome {
  int num_right = 0;
  std::vector<std::string> sentences;
};
Outcome outcome_of(LoaderIterator& epoch, int num_batches) {
  Outcome outcome;
  for (int batch = 0; batch < num_batches; ++batch) try {
      const std::optional<Batch> found = epoch.next();
      if (!found) break;
      EXPECT_EQ(item<float>(mean(found->as_tensor())), static_cast<float>(batch));
      ++outcome.num_right;
    } catch (const Error& error) {
      outcome.sentences.push_back(error.what());
    }
  return outcome;
}

TEST(FileLimits, of_workers_are_named_and_make_no_wrong_batch) {
  warm_up();
  const std::size_t files = next_file();
  int num_failed = 0, num_whole = 0;
  for (std::size_t more = 0; more < 12; ++more) {
    Outcome outcome;
    {
      const FileLimit limit(files + more);
      DataLoader loader(large_dataset(8), two_processes());
      try {
        LoaderIterator epoch = loader.iterate();
        outcome = outcome_of(epoch, 8);
      } catch (const Error& error) {
        outcome.sentences.push_back(error.what());
      }
    }
    for (const std::string& each : outcome.sentences) EXPECT_THAT(each, HasSubstr("ulimit -n"));
    EXPECT_TRUE(outcome.num_right == 8 || !outcome.sentences.empty()) << more;
    num_failed += outcome.sentences.empty() ? 0 : 1;
    num_whole += outcome.num_right == 8 ? 1 : 0;
    EXPECT_EQ(next_file(), files);
  }
  EXPECT_GT(num_failed, 1);
  EXPECT_GT(num_whole, 1);
}

TEST(FileLimits, of_the_parent_lose_a_batch_and_mix_none_up) {
  int num_lost = 0;
  for (int at = 0; at < 6; ++at) {
    DataLoader loader(large_dataset(12), two_processes());
    LoaderIterator epoch = loader.iterate();
    Outcome first = outcome_of(epoch, at);
    EXPECT_EQ(first.num_right, at);
    int next = at;
    std::vector<std::string> sentences;
    {
      const FileLimit limit(next_file());
      for (; next < at + 4; ++next) try {
          EXPECT_EQ(item<float>(mean(epoch.next()->as_tensor())), static_cast<float>(next));
        } catch (const Error& error) {
          sentences.push_back(error.what());
        }
    }
    for (const std::string& each : sentences) EXPECT_THAT(each, HasSubstr("ulimit -n"));
    num_lost += static_cast<int>(sentences.size());
    // Batches whose memory was lost on its way are behind; the rest is there, each as itself.
    while (next < 12) try {
        const std::optional<Batch> batch = epoch.next();
        ASSERT_TRUE(batch);
        EXPECT_EQ(item<float>(mean(batch->as_tensor())), static_cast<float>(next++));
      } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("did not arrive"));
        ++next;
      }
    EXPECT_FALSE(epoch.next());
  }
  EXPECT_GT(num_lost, 0);
}

// Sample i is {the worker's pid, how many sockets it holds}.
DatasetPtr sockets_dataset() {
  return std::make_shared<FunctionDataset>(64, [](std::int64_t) -> Sample {
    std::int64_t count = 0;
    for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code error;
      const auto target = std::filesystem::read_symlink(each.path(), error);
      count += target.string().starts_with("socket:");
    }
    return State::List{static_cast<std::int64_t>(getpid()), count};
  });
}

TEST(SeveralPools, do_not_hold_each_others_connections) {
  DataLoader first(sockets_dataset(), two_processes());
  LoaderIterator one = first.iterate();
  const std::int64_t least = whole_of(one.next()->as_list()[1].as_tensor())[0];
  DataLoader second(sockets_dataset(), two_processes());
  LoaderIterator two = second.iterate();
  for (int i = 0; i < 4; ++i) EXPECT_EQ(whole_of(two.next()->as_list()[1].as_tensor())[0], least);
  const auto begin = std::chrono::steady_clock::now();
  one = {};
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 150ms);  // before they would be killed
  EXPECT_TRUE(two.next());
}

TEST(SeveralPools, may_be_within_each_other) {
  const auto nested = std::make_shared<FunctionDataset>(4, [](std::int64_t index) -> Sample {
    DataLoader inner(large_dataset(3), two_processes());
    double total = static_cast<double>(index);
    for (const Batch& batch : inner) total += item<float>(mean(batch.as_tensor()));
    return total;
  });
  DataLoader loader(nested, two_processes(2));
  std::vector<std::string> found;
  for (const Batch& batch : loader) found.push_back(told(batch));
  EXPECT_EQ(found, (std::vector{told(tensor({3.0, 4.0})), told(tensor({5.0, 6.0}))}));
}

// Not under the thread sanitizer: it does not let a child of a process with threads start threads.
#ifndef __SANITIZE_THREAD__

// What a child of this process makes of `run`: its text, or how it ended.
std::string told_by_child(const std::function<std::string()>& run) {
  const Folder folder;
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    std::string text;
    try {
      text = run();
    } catch (const std::exception& error) {
      text = error.what();
    }
    folder.written("said", text);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) return fmt::format("it ended with status {:#x}", status);
  return bytes_of(folder.file("said"));
}

std::string joined_epoch(DataLoader& loader) {
  std::string text;
  for (const std::string& batch : told_epoch(loader)) text += batch + "\n";
  return text;
}

TEST(Forks, of_a_program_leave_its_epoch_alone_and_begin_their_own) {
  for (const Workers& workers : all_workers())
    for (const bool persistent : {false, true}) {
      if (workers.count == 0) continue;
      DataLoaderOptions options = with({.batch_size = 3, .shuffle = true}, workers);
      options.persistent_workers = persistent;
      DataLoader loader(noisy_dataset(20), options), same(noisy_dataset(20), options);
      const std::string first = joined_epoch(same), second = joined_epoch(same);
      LoaderIterator epoch = loader.iterate();
      std::string found = told(*epoch.next()) + "\n";
      EXPECT_THAT(told_by_child([&] {
                    epoch.next();
                    return std::string("no error");
                  }),
                  HasSubstr("begin another epoch here"))
          << workers;
      EXPECT_EQ(told_by_child([&] { return joined_epoch(loader); }), second) << workers;
      EXPECT_EQ(told_by_child([&] {
                  epoch = {};
                  loader = DataLoader(counted_dataset(1));
                  return std::string("gone");
                }),
                "gone");
      while (const std::optional<Batch> batch = epoch.next()) found += told(*batch) + "\n";
      EXPECT_EQ(found, first) << workers;
    }
}

// A worker that inherits a loader with persistent workers, and uses it.
TEST(Forks, of_workers_begin_workers_of_their_own) {
  DataLoaderOptions options = two_processes(2);
  options.persistent_workers = true;
  const auto inner = std::make_shared<DataLoader>(counted_dataset(4), options);
  const std::size_t num_batches = told_epoch(*inner).size();
  const auto dataset = std::make_shared<FunctionDataset>(6, [inner](std::int64_t) -> Sample {
    return static_cast<std::int64_t>(told_epoch(*inner).size());
  });
  DataLoader loader(dataset, two_processes(3));
  for (const Batch& batch : loader)
    EXPECT_EQ(whole_of(batch.as_tensor()), std::vector<std::int64_t>(3, num_batches));
  EXPECT_EQ(told_epoch(*inner).size(), num_batches);
}

std::size_t times(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(StandardStreams, print_each_word_once_and_stay_the_parents_to_read) {
  const Folder folder;
  const std::string printed = folder.file("printed"), typed = folder.written("typed", "one\ntwo\n");
  const auto talking = std::make_shared<FunctionDataset>(6, [](std::int64_t index) -> Sample {
    std::printf("sample %d by C\n", static_cast<int>(index));
    std::cout << "sample " << index << " by C++\n";
    std::string line;
    return State::List{std::getchar() == EOF, !std::getline(std::cin, line)};
  });
  for (const bool is_synced : {true, false})
    EXPECT_EQ(told_by_child([&] {
                static_cast<void>(!std::freopen(printed.c_str(), "w", stdout));
                static_cast<void>(!std::freopen(typed.c_str(), "r", stdin));
                std::cin.clear();
                std::ios::sync_with_stdio(is_synced);
                std::string first, second, ends;
                std::getline(std::cin, first);
                std::printf("parent by C\n");
                std::cout << "parent by C++\n";
                DataLoader loader(talking, two_processes(3));
                for (const Batch& batch : loader)
                  for (const State& each : batch.as_list())
                    for (const std::int64_t is_end : whole_of(each.as_tensor()))
                      ends += is_end ? '1' : '0';
                std::getline(std::cin, second);
                std::cout.flush();
                std::fflush(stdout);
                return first + " " + second + " " + ends;
              }),
              "one two 111111111111");
  const std::string text = bytes_of(printed);
  EXPECT_EQ(times(text, "parent by C\n"), 1u) << text;
  EXPECT_EQ(times(text, "parent by C++\n"), 1u) << text;
  for (int index = 0; index < 6; ++index) {
    EXPECT_EQ(times(text, fmt::format("sample {} by C\n", index)), 1u) << text;
    EXPECT_EQ(times(text, fmt::format("sample {} by C++\n", index)), 1u) << text;
  }
}

TEST(StandardStreams, that_are_closed_are_not_taken_for_connections) {
  const auto talking = std::make_shared<FunctionDataset>(6, [](std::int64_t index) -> Sample {
    std::printf("nobody reads this\n");
    std::fflush(stdout);
    return full({12000}, index, f32);
  });
  EXPECT_EQ(told_by_child([&] {
              for (const int fd : {0, 1, 2}) close(fd);
              DataLoader loader(talking, two_processes());
              std::string found;
              for (const Batch& batch : loader) {
                std::printf("nor this\n");
                std::fflush(stdout);
                found += fmt::format("{}", item<float>(mean(batch.as_tensor())));
              }
              return found;
            }),
            "012345");
}

#endif

TEST(DefaultGenerators, of_worker_processes_differ) {
  const auto drawing = std::make_shared<FunctionDataset>(
      8, [](std::int64_t) -> Sample { return item<double>(rand({}, f64)); });
  std::set<double> seen;
  DataLoader loader(drawing, two_processes(2));
  for (int epoch = 0; epoch < 2; ++epoch)
    for (const Batch& batch : loader)
      for (const double each : values_of(batch.as_tensor())) seen.insert(each);
  EXPECT_EQ(seen.size(), 16u);
}

TEST(LongErrors, of_worker_processes_arrive) {
  const auto long_winded = std::make_shared<FunctionDataset>(1, [](std::int64_t) -> Sample {
    throw std::runtime_error(std::string(3 * 1000 * 1000, 'x'));
  });
  DataLoader loader(long_winded, two_processes());
  EXPECT_THAT(sentence_of([&] { loader.iterate().next(); }),
              HasSubstr("sample 0 of batch 0 in worker 0 threw std::runtime_error: xxx"));
}

}  // namespace
}  // namespace bp::test

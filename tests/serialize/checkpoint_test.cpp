// needs: cpu
// A program's state in a file, and folders of those.
#include <atomic>
#include <bit>
#include <chrono>
#include <limits>
#include <thread>

#include "serialize/files.hpp"

namespace bp::test {
namespace {

using serialize::Checkpoint;
using serialize::CheckpointFolder;

// Equal kinds, keys in order, bits of numbers and tensors.
void expect_equal(const State& a, const State& b, const std::string& place = "root") {
  ASSERT_STREQ(a.kind(), b.kind()) << place;
  ASSERT_EQ(a.size(), b.size()) << place;
  if (a.is_tensor()) expect_same(a.as_tensor(), b.as_tensor());
  const auto bits = [](const State& state) {
    if (state.is_double()) return std::bit_cast<std::uint64_t>(state.as_double());
    if (state.is_int()) return std::bit_cast<std::uint64_t>(state.as_int());
    return static_cast<std::uint64_t>(state.is_bool() && state.as_bool());
  };
  EXPECT_EQ(bits(a), bits(b)) << place;
  EXPECT_TRUE(!a.is_text() || a.as_text() == b.as_text()) << place;
  for (std::size_t i = 0; a.is_list() && i < a.size(); ++i)
    expect_equal(a.as_list()[i], b.as_list()[i], place + "." + std::to_string(i));
  for (std::size_t i = 0; a.is_dict() && i < a.size(); ++i) {
    EXPECT_EQ(a.entries()[i].first, b.entries()[i].first) << place;
    expect_equal(a.entries()[i].second, b.entries()[i].second, place + "." + a.entries()[i].first);
  }
}

State round_trip(const State& state) {
  const Folder folder;
  serialize::save(folder / "state", state);
  return serialize::load(folder / "state");
}

State a_bit_of_everything() {
  State::List tensors;
  for (const Dtype dtype : all_dtypes) tensors.push_back(State(counted(dtype, {2, 3})));
  State::List doubles;
  for (const double value :
       {0.0, -0.0, 0.1, 1e-310, 5e-324, 1e300, -1.0, 3.0, std::numeric_limits<double>::infinity(),
        -std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN(),
        std::bit_cast<double>(0xfff0000000000123ull), std::numeric_limits<double>::max()})
    doubles.push_back(State(value));
  return State::dict(
      {{"z", State()},
       {"a", State(true)},
       {"ints", State(State::List{State(INT64_MIN), State(INT64_MAX), State(0), State(-1)})},
       {"doubles", State(doubles)},
       {"text", State(std::string("q\"\\\n\0ü", 7))},
       {"not utf-8", State("\xff\xfe")},
       {"\xff key", State(1)},
       {"", State("empty key")},
       {"dict", State::dict({{"float", State("x")}})},
       {"tensor", State::dict()},
       {"a.b", State(ones({1}))},
       {"list", State(State::List{})},
       {"tensors", State(tensors)},
       {"scalar", State(counted(complex128, {}))}});
}

TEST(SavedState, comes_back_bit_for_bit) {
  expect_equal(round_trip(a_bit_of_everything()), a_bit_of_everything());
  for (const State& root :
       {State(), State(1.5), State("x"), State(ones({2})), State(State::List{State(1)})})
    expect_equal(round_trip(root), root);
}

TEST(SavedState, of_random_trees_comes_back) {
  std::uint64_t seed = 26;
  const auto next = [&](std::uint64_t bound) {
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (seed >> 33) % bound;
  };
  const std::function<State(int)> grown = [&](int depth) -> State {
    switch (next(depth > 4 ? 6 : 8)) {
      case 0: return {};
      case 1: return State(next(2) == 1);
      case 2: return State(static_cast<std::int64_t>(next(1u << 31) << 33 ^ next(1u << 31)));
      case 3: return State(std::bit_cast<double>(next(1ull << 31) << 33 | next(1ull << 31)));
      case 4: return State(std::string(next(5), static_cast<char>(next(256))));
      case 5: return State(counted(all_dtypes[next(17)], {static_cast<std::int64_t>(next(3)), 2}));
      case 6: {
        State::List items;
        for (std::uint64_t i = next(5); i > 0; --i) items.push_back(grown(depth + 1));
        return State(items);
      }
      default: {
        State dict = State::dict();
        for (std::uint64_t i = next(5); i > 0; --i)
          dict.set(std::string(1, static_cast<char>('a' + next(4))) + (next(2) ? ".0" : ""),
                   grown(depth + 1));
        return dict;
      }
    }
  };
  for (int i = 0; i < 40; ++i) {
    const State tree = grown(0);
    expect_equal(round_trip(tree), tree, "tree " + std::to_string(i));
  }
}

TEST(SavedState, keeps_one_tensor_in_two_places_as_one) {
  const Tensor shared = ones({3}), base = arange(0, 4, 1, f64);
  const State loaded = round_trip(State::dict({{"a", State(shared)},
                                               {"b", State(detach(shared))},
                                               {"equal", State(ones({3}))},
                                               {"half", State(slice(base, 0, 0, 2))},
                                               {"whole", State(base)}}));
  EXPECT_TRUE(loaded.at("a").as_tensor().is_same(loaded.at("b").as_tensor()));
  EXPECT_FALSE(loaded.at("a").as_tensor().shares_storage(loaded.at("equal").as_tensor()));
  EXPECT_EQ(numbers_of(loaded.at("half").as_tensor()), (Values{0, 1}));
  EXPECT_EQ(numbers_of(loaded.at("whole").as_tensor()), (Values{0, 1, 2, 3}));
}

TEST(SavedState, names_tensors_by_their_place_for_other_readers) {
  const Folder folder;
  serialize::save(folder / "a", State::dict({{"model", State::dict({{"w.0", State(ones({1}))}})},
                                             {"model.w", State(State::List{State(zeros({2}))})}}));
  const nn::StateDict tensors = serialize::load_file(folder / "a");
  EXPECT_THAT(names_of(tensors), testing::UnorderedElementsAre("model.w.0", "model.w.0#2"));
}

// Text that is not UTF-8, and what JSON or the format gives a meaning.
TEST(SavedState, comes_back_under_any_key_with_tensors_below) {
  std::vector<std::string> keys{"",
                                "__metadata__",
                                "tensor",
                                "a\nb",
                                "\r\n",
                                "\xed\xa0\x80",
                                "\xc0\x80",
                                "\xf4\x90\x80\x80",
                                "\xe2\x82",
                                "ü\xff",
                                "\"",
                                "\\u0000",
                                "\xef\xbf\xbf",
                                "#2",
                                "a.b#2"};
  for (int byte = 0; byte < 256; ++byte) keys.emplace_back(1, static_cast<char>(byte));
  State all = State::dict();
  for (const std::string& key : keys) {
    const State below = State::dict({{key, State(counted(complex128, {2}))},
                                     {"w", State(ones({2}))},
                                     {"\xff", State(zeros({1}))},
                                     {"text", State(key)}});
    all.set(key, State(State::List{State(full({1}, 3)), below}));
    expect_equal(round_trip(State::dict({{key, below}})), State::dict({{key, below}}), key);
  }
  expect_equal(round_trip(all), all);
}

// How long it takes to save and load so many tensors of one storage, and of one name; the shorter of two times.
std::chrono::duration<double> time_of_many(std::int64_t count) {
  const Tensor base = arange(0, static_cast<double>(count), 1, f32);
  State::List views, unnamed;
  for (std::int64_t i = 0; i < count; ++i) {
    views.push_back(State(narrow(base, 0, i, 1)));
    unnamed.push_back(State::dict({{"\xff", State(full({1}, static_cast<double>(i)))}}));
  }
  const State all(State::List{State(views), State(unnamed)});
  const auto last = static_cast<std::size_t>(count - 1);
  std::chrono::duration<double> shortest = std::chrono::hours(1);
  for (int round = 0; round < 2; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    const State loaded = round_trip(all);
    shortest =
        std::min<std::chrono::duration<double>>(shortest, std::chrono::steady_clock::now() - begin);
    const State::List& lists = loaded.as_list();
    const Values wanted{static_cast<double>(last)};
    EXPECT_EQ(numbers_of(lists[0].as_list()[last].as_tensor()), wanted);
    EXPECT_EQ(numbers_of(lists[1].as_list()[last].at("\xff").as_tensor()), wanted);
  }
  return shortest;
}

// Not each against all others before it, which would take eight times as many 64 times as long.
TEST(SavedState, with_many_tensors_of_one_storage_or_name_is_saved_in_time) {
  EXPECT_LT(time_of_many(8000), 24 * time_of_many(1000));
}

TEST(SavedState, refuses_what_has_no_values_and_what_is_too_deep_or_wide) {
  const Folder folder;
  const auto sentence = [&](const State& state) {
    return sentence_of([&] { serialize::save(folder / "a", state); });
  };
  EXPECT_THAT(sentence(State::dict({{"w", State(Tensor())}})),
              HasSubstr("the tensor at 'w' is undefined"));
  EXPECT_THAT(sentence(State::dict({{"w", State(empty({1}, f32, meta_device))}})),
              HasSubstr("'w' is on meta"));
  State deep(1);
  for (int i = 0; i < 200; ++i) deep = State(State::List{deep});
  expect_equal(round_trip(deep), deep);
  EXPECT_THAT(sentence(State(State::List{deep})), HasSubstr("nested deeper than 200"));
  EXPECT_TRUE(names_in(folder.path()).empty());
}

TEST(SavedState, refuses_what_save_did_not_write) {
  const Folder folder;
  const auto sentence = [&](const std::string& tree) {
    serialize::save_file({{"w", ones({3})}}, folder / "a", {{"backplane.state", tree}});
    return sentence_of([&] { serialize::load(folder / "a"); });
  };
  EXPECT_EQ(sentence(R"({"tensor":"w"})"), "no error");
  const std::pair<std::string, std::string> bad[] = {
      {"", "not JSON"},
      {"[1", "not JSON"},
      {R"({"tensor":"v"})", "a tensor 'v', which is missing among 1"},
      {R"({"tensor":1})", "a 'tensor' that is not text"},
      {R"({"dict":["a"]})", "last key has no value"},
      {R"({"dict":[1,2]})", "an int as a key"},
      {R"({"dict":["a",1,"a",2]})", "the key 'a' twice"},
      {R"({"dict":{}})", "a 'dict' that is not text"},
      {R"({"float":"7ff"})", "the bits '7ff' for a float"},
      {R"({"float":"-ff0000000000000"})", "for a float"},
      {R"({"bytes":"0"})", "half a byte"},
      {R"({"bytes":"0x"})", "the byte '0x'"},
      {R"({"set":"x"})", "an object of 'set'"},
      {R"({})", "not of one member"},
      {R"({"tensor":"w","float":"0"})", "not of one member"},
      {"18446744073709551615", "a number 18446744073709551615"},
      {std::string(300, '[') + std::string(300, ']'), "nested deeper than 200"},
      {std::string(100000, '['), "not JSON"},
      {std::string(100000, '[') + std::string(100000, ']'), "nested deeper than 200"},
  };
  for (const auto& [tree, said] : bad) {
    EXPECT_THAT(sentence(tree), HasSubstr(said)) << tree.substr(0, 60);
    EXPECT_TRUE(sentence(tree).starts_with((folder / "a").string() + ": "));
  }
  std::string wide = R"({"dict":["0",0)";
  for (int i = 1; i < 41000; ++i) wide += ",\"" + std::to_string(i) + "\",0";
  EXPECT_THAT(sentence(wide + "]}"), HasSubstr("a dict of 41000 entries, and one may have 40000"));
  serialize::save_file({{"w", ones({3})}}, folder / "b");
  EXPECT_THAT(sentence_of([&] { serialize::load(folder / "b"); }), HasSubstr("has only tensors"));
  serialize::save_file({{"w", ones({3})}}, folder / "b",
                       {{"backplane.state", R"({"tensor":"w"})"}, {"backplane.complex128", "w\n"}});
  EXPECT_THAT(sentence_of([&] { serialize::load(folder / "b"); }),
              HasSubstr("'w' is marked as complex128, but is float32"));
}

TEST(SavedState, cut_off_at_every_byte_is_refused) {
  const Folder folder;
  serialize::save(folder / "whole", State::dict({{"w", State(ones({2}))}, {"step", State(3)}}));
  const std::string whole = bytes_in(folder / "whole");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const fs::path file = written(folder / "cut", whole.substr(0, size));
    EXPECT_THAT(sentence_of([&] { serialize::load(file); }), HasSubstr(file.string() + ": "))
        << size;
  }
}

TEST(GeneratorState, goes_on_where_it_was) {
  Generator generator(0xffffffffffffffffull), other(1);
  rand({5}, {}, device("cpu"), &generator);
  const State now = round_trip(serialize::states_of({{"a", &generator}, {"b", &other}}));
  const Tensor next = rand({7}, {}, device("cpu"), &generator);
  Generator resumed;
  serialize::set_states({{"a", &resumed}}, now);
  EXPECT_EQ(resumed.state().seed, 0xffffffffffffffffull);
  expect_same(rand({7}, {}, device("cpu"), &resumed), next);
  Generator kept(5);
  EXPECT_THAT(sentence_of([&] {
                serialize::set_states({{"a", &kept}, {"c", &other}}, now);
              }),
              HasSubstr("no 'c'"));
  EXPECT_EQ(kept.state().seed, 5u);
}

TEST(ToStateDict, wants_tensors) {
  const nn::StateDict dict =
      serialize::to_state_dict(State::dict({{"b", State(ones({1}))}, {"a", State(ones({1}))}}));
  EXPECT_THAT(names_of(dict), ElementsAre("b", "a"));
  EXPECT_THAT(names_of(serialize::to_state_dict(serialize::to_state(dict))), ElementsAre("b", "a"));
  EXPECT_THAT(sentence_of([] {
                serialize::to_state_dict(State::dict({{"lr", State(0.1)}}));
              }),
              HasSubstr("'lr' is a float, not a tensor"));
}

TEST(CheckpointFolder, keeps_the_newest_and_loads_the_newest_whole_one) {
  const Folder folder;
  CheckpointFolder runs(folder / "run/one", {.keep = 2});
  EXPECT_FALSE(runs.load_newest());
  for (const std::int64_t step : {0L, 10L, 20L, 1000000000000L})
    runs.save({.step = step,
               .model = {{"w", full({2}, static_cast<double>(step))}},
               .extra = State("x")});
  EXPECT_EQ(runs.steps(), (std::vector<std::int64_t>{20, 1000000000000}));
  EXPECT_EQ(runs.load_newest()->step, 1000000000000);
  EXPECT_EQ(runs.load(20).extra.as_text(), "x");
  const std::string whole = bytes_in(runs.path_of(1000000000000));
  written(runs.path_of(1000000000000), whole.substr(0, whole.size() - 1));
  EXPECT_EQ(runs.load_newest()->step, 20);
  ASSERT_EQ(runs.damaged().size(), 1u);
  EXPECT_THAT(runs.damaged()[0], HasSubstr("step-1000000000000.safetensors: "));
  written(runs.path_of(20), "");
  EXPECT_THAT(sentence_of([&] { runs.load_newest(); }),
              HasSubstr("all of its 2 checkpoints are damaged"));
  EXPECT_THAT(sentence_of([&] { runs.load(7); }),
              HasSubstr("step-000000000007.safetensors: can't be opened"));
  EXPECT_THAT(sentence_of([&] { runs.save({.step = -1}); }), HasSubstr("step -1"));
}

// No mode stops root.
TEST(CheckpointFolder, takes_no_older_one_for_a_newest_that_may_not_be_opened) {
  const Folder folder;
  ASSERT_EQ(chmod(folder.path().c_str(), 0777), 0);
  CheckpointFolder runs(folder.path());
  runs.save({.step = 1});
  runs.save({.step = 2});
  ASSERT_EQ(chmod(runs.path_of(1).c_str(), 0644), 0);
  ASSERT_EQ(chmod(runs.path_of(2).c_str(), 0), 0);
  const bool is_root = geteuid() == 0;
  ASSERT_TRUE(!is_root || seteuid(65534) == 0);
  const std::string said = sentence_of([&] { runs.load_newest(); });
  ASSERT_TRUE(!is_root || seteuid(0) == 0);
  EXPECT_THAT(said, HasSubstr("step-000000000002.safetensors: can't be opened: Permission denied"));
  EXPECT_TRUE(runs.damaged().empty());
  ASSERT_EQ(chmod(runs.path_of(2).c_str(), 0644), 0);
  EXPECT_EQ(runs.load_newest()->step, 2);
}

TEST(CheckpointFolder, is_read_while_a_writer_removes_old_steps) {
  const Folder folder("/dev/shm");
  CheckpointFolder writer(folder.path(), {.keep = 1}), reader(folder.path());
  const Tensor weights = ones({10'000});
  writer.save({.step = 0, .model = {{"w", weights}}});
  std::atomic<bool> is_over{false};
  std::thread writing([&] {
    for (std::int64_t step = 1; !is_over; ++step)
      writer.save({.step = step, .model = {{"w", weights}}});
  });
  std::int64_t last = 0;
  for (const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
       std::chrono::steady_clock::now() < end && !testing::Test::HasFailure();) {
    EXPECT_EQ(sentence_of([&] {
                const auto newest = reader.load_newest();
                ASSERT_TRUE(newest);
                EXPECT_GE(newest->step, last);
                last = newest->step;
              }),
              "no error");
    EXPECT_TRUE(reader.damaged().empty()) << reader.damaged()[0];
  }
  is_over = true;
  writing.join();
  EXPECT_GT(last, 10);
}

TEST(CheckpointFolder, takes_a_link_to_nothing_for_damaged) {
  const Folder folder;
  CheckpointFolder runs(folder.path());
  runs.save({.step = 1});
  fs::create_symlink("gone", runs.path_of(2));
  EXPECT_EQ(runs.load_newest()->step, 1);
  EXPECT_EQ(runs.damaged().size(), 1u);
}

TEST(CheckpointFolder, takes_no_other_file_for_its_own) {
  const Folder folder;
  CheckpointFolder runs(folder.path(), {.keep = 1});
  for (const char* name :
       {"step-1.safetensors", "step-0000000000001.safetensors", "step-.safetensors", "notes.txt",
        "step-00000000001x.safetensors", "step--00000000001.safetensors"})
    written(folder / name, "mine");
  EXPECT_TRUE(runs.steps().empty());
  runs.save({.step = 1});
  runs.save({.step = 2});
  EXPECT_EQ(runs.steps(), std::vector<std::int64_t>{2});
  EXPECT_EQ(names_in(folder.path()).size(), 7u);
  EXPECT_THAT(sentence_of([&] { CheckpointFolder(folder / "notes.txt"); }),
              HasSubstr("notes.txt: can't be made a folder"));
  EXPECT_THAT(sentence_of([&] { CheckpointFolder(folder.path(), {.keep = 0}); }),
              HasSubstr("keep is 0"));
}

TEST(CheckpointFolder, keeps_the_step_that_was_just_saved_whichever_it_is) {
  const Folder folder;
  CheckpointFolder runs(folder.path(), {.keep = 1});
  runs.save({.step = 30});
  runs.save({.step = 20});
  EXPECT_EQ(runs.steps(), std::vector<std::int64_t>{20});
}

// A network whose every step draws numbers.
struct Training {
  Net net;
  Generator& generator = default_generator(device("cpu"));

  double step() {
    const Tensor x = rand({8, 4}, {}, device("cpu"));
    const Tensor loss = sum(square(net(x) - 1));
    backward(loss);
    for (const Tensor& parameter : net.parameters()) {
      sub_(detach(parameter), mul(grad(parameter), 0.01));
    }
    net.zero_grad();
    return item<double>(loss);
  }
  Checkpoint checkpoint(std::int64_t step) {
    return {.step = step,
            .model = net.state_dict(),
            .generators = serialize::states_of({{"cpu", &generator}})};
  }
  void resume(const Checkpoint& from) {
    net.load_state_dict(from.model);
    serialize::set_states({{"cpu", &generator}}, from.generators);
  }
};

TEST(CheckpointFolder, lets_a_run_go_on_bit_for_bit) {
  const Folder folder;
  CheckpointFolder runs(folder.path());
  std::vector<double> losses, again;
  Training first;
  for (int i = 0; i < 5; ++i) first.step();
  runs.save(first.checkpoint(5));
  for (int i = 0; i < 5; ++i) losses.push_back(first.step());
  Training second;
  second.step();
  second.resume(*runs.load_newest());
  for (int i = 0; i < 5; ++i) again.push_back(second.step());
  EXPECT_EQ(again, losses);
  expect_same(second.net.hidden.weight, first.net.hidden.weight);
}

}  // namespace
}  // namespace bp::test

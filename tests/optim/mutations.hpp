// Saved states that are wrong in one place, for promises of all that loads one.
#pragma once

#include <cmath>
#include <functional>
#include <limits>
#include <sstream>
#include <string>

#include <backplane/state/state.hpp>

#include "autograd/tensors.hpp"

namespace bp::test {

// A tree with tensors of its own.
inline State copied(const State& state) {
  if (state.is_tensor()) return clone(detach(state.as_tensor()));
  if (state.is_list()) {
    State::List list;
    for (const State& each : state.as_list()) list.push_back(copied(each));
    return list;
  }
  if (!state.is_dict()) return state;
  State dict = State::dict();
  for (const auto& [key, value] : state.entries()) dict.set(key, copied(value));
  return dict;
}

inline std::string words_of(double number) {
  std::ostringstream words;
  words << ' ' << std::hexfloat << number;
  return words.str();
}

// All that it holds, in words.
inline std::string words_of(const State& state) {
  std::string all = state.kind();
  if (state.is_tensor() && state.as_tensor().defined()) {
    const Tensor plain = detach(state.as_tensor());
    all += std::string(name(plain.dtype())) + to_string(plain.shape());
    for (const double each :
         values_of(to(is_complex(plain.dtype()) ? view_as_real(plain) : plain, f64)))
      all += words_of(each);
  }
  if (state.is_bool()) all += state.as_bool() ? " true" : " false";
  if (state.is_int() || state.is_double()) all += words_of(state.as_double());
  if (state.is_text()) all += state.as_text();
  if (state.is_list())
    for (const State& each : state.as_list()) all += " [" + words_of(each) + "]";
  if (state.is_dict())
    for (const auto& [key, value] : state.entries())
      all += " {" + key + ": " + words_of(value) + "}";
  return all;
}

using UseMutation = std::function<void(const State& mutated, const std::string& what)>;

inline void each_mutation(const State& state, const std::string& path, const UseMutation& use) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const std::vector<std::pair<const char*, State>> odd{
      {"0", 0},
      {"-1", -1},
      {"2^63-1", std::numeric_limits<std::int64_t>::max()},
      {"-2^63", std::numeric_limits<std::int64_t>::min()},
      {"nan", std::nan("")},
      {"inf", infinity},
      {"1e300", 1e300},
      {"true", true},
      {"text", "x"},
      {"none", State()},
      {"[]", State::List{}},
      {"[1]", State::List{1}},
      {"{}", State::dict()},
      {"tensor", zeros({3, 1, 2}, f64)},
      {"integers", zeros({}, i64)},
      {"nothing", Tensor()}};
  for (const auto& [words, value] : odd) use(value, path + " = " + words);
  if (state.is_list()) {
    const State::List& list = state.as_list();
    for (std::size_t i = 0; i < list.size(); ++i) {
      State::List changed = list;
      each_mutation(list[i], path + "[" + std::to_string(i) + "]",
                    [&](const State& value, const auto& what) {
                      changed[i] = value;
                      use(changed, what);
                    });
      changed = list;
      changed.erase(changed.begin() + static_cast<std::ptrdiff_t>(i));
      use(changed, path + " without " + std::to_string(i));
      changed = list;
      changed.push_back(list[i]);
      use(changed, path + " with " + std::to_string(i) + " twice");
    }
  }
  if (!state.is_dict()) return;
  State changed = state;
  changed.set("unheard_of", 1);
  use(changed, path + " with one more");
  for (const auto& [key, kept] : state.entries()) {
    each_mutation(kept, path + "." + key, [&, &key = key](const State& value, const auto& what) {
      State with = state;
      with.set(key, value);
      use(with, what);
    });
    State without = State::dict();
    for (const auto& [other, value] : state.entries())
      if (other != key) without.set(other, value);
    use(without, path + " without " + key);
  }
}

// What is promised of loading, with `make` making what loads: a sentence, and nothing has changed; or the next `steps` end,
// with sentences or not. T has state(), load() and step().
template <class T>
void expect_survives(const State& saved, const std::function<std::unique_ptr<T>()>& make) {
  int num_refused = 0, num_taken = 0;
  each_mutation(saved, "state", [&](const State& mutated, const std::string& what) {
    SCOPED_TRACE(what);
    const std::unique_ptr<T> one = make();
    const std::string before = words_of(one->state());
    try {
      one->load(copied(mutated));
      ++num_taken;
    } catch (const Error& error) {
      EXPECT_GT(std::string(error.what()).size(), 10u);
      EXPECT_EQ(words_of(one->state()), before) << error.what();
      ++num_refused;
      return;
    }
    for (int i = 0; i < 5; ++i) try {
        one->step();
      } catch (const Error& error) {
        EXPECT_GT(std::string(error.what()).size(), 10u);
      }
  });
  EXPECT_GT(num_refused, 10);
  EXPECT_GT(num_taken, 0);
}

}  // namespace bp::test

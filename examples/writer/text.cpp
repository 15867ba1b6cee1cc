#include "text.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace writer {

constexpr std::size_t least_bytes = 2000;

Text::Text(const std::string& file) : file_(file) {
  std::ifstream stream(file, std::ios::binary);
  const std::string all(std::istreambuf_iterator<char>(stream), {});
  if (all.size() < least_bytes)
    throw std::runtime_error(file + ": " + std::to_string(all.size()) +
                             " bytes can be read there; 2,000 at least are needed to learn from");
  characters_ = all;
  std::sort(characters_.begin(), characters_.end());
  characters_.erase(std::unique(characters_.begin(), characters_.end()), characters_.end());
  numbers_ = numbers_of(all);
}

std::vector<std::int64_t> Text::numbers_of(std::string_view text) const {
  std::vector<std::int64_t> numbers;
  numbers.reserve(text.size());
  for (const char character : text) {
    const auto place = std::lower_bound(characters_.begin(), characters_.end(), character);
    if (place == characters_.end() || *place != character)
      throw std::runtime_error(file_ + ": the text has no character '" + std::string(1, character) +
                               "', so that nothing is known of it");
    numbers.push_back(place - characters_.begin());
  }
  return numbers;
}

double Text::entropy_of_pairs() const {
  const auto count = characters_.size();
  std::vector<double> pairs(count * count), firsts(count);
  for (std::size_t i = 0; i + 1 < numbers_.size(); ++i) {
    const auto first = static_cast<std::size_t>(numbers_[i]);
    pairs[first * count + static_cast<std::size_t>(numbers_[i + 1])] += 1;
    firsts[first] += 1;
  }
  double nats = 0;
  for (std::size_t i = 0; i < pairs.size(); ++i)
    if (pairs[i] > 0) nats -= pairs[i] * std::log(pairs[i] / firsts[i / count]);
  return nats / static_cast<double>(numbers_.size() - 1);
}

}  // namespace writer

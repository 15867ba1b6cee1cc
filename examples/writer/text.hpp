// A text as numbers of its characters.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace writer {

class Text {
 public:
  // Bytes are characters. Throws std::runtime_error that names the file if it cannot be read or has less than 2,000 bytes.
  explicit Text(const std::string& file);

  const std::vector<std::int64_t>& numbers() const { return numbers_; }
  std::int64_t num_characters() const { return static_cast<std::int64_t>(characters_.size()); }
  // Throws std::runtime_error if the text has no such character.
  std::vector<std::int64_t> numbers_of(std::string_view text) const;
  char character(std::int64_t number) const {
    return characters_[static_cast<std::size_t>(number)];
  }

  // What guessing each character from the one before it costs, in nats a character: the loss of the best table of pairs.
  double entropy_of_pairs() const;

 private:
  std::string file_;
  std::string characters_;
  std::vector<std::int64_t> numbers_;
};

}  // namespace writer

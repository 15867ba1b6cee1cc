// Text to WordPiece tokens, as BERT's uncased models have them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sentences {

// Words are cleaned, lower-cased, freed of accents and cut at punctuation; each is then spelled by the longest pieces that
// the vocabulary has (Schuster and Nakajima, 2012; Devlin et al., 2019).
class Tokenizer {
 public:
  // One piece to a line, its number being the line's. Throws std::runtime_error that names the file if it cannot be read
  // or has no [CLS], [SEP] or [UNK].
  explicit Tokenizer(const std::string& vocabulary);

  // [CLS], the pieces of the text, [SEP]: at most `length` of them, of which the text's last are left out. Bytes that are
  // not UTF-8 count as unknown characters.
  std::vector<std::int64_t> encode(std::string_view text, std::size_t length = 256) const;

 private:
  std::int64_t number_of(const std::string& piece) const;
  void spell(const std::u32string& word, std::vector<std::int64_t>& numbers) const;

  std::string file_;
  std::unordered_map<std::string, std::int64_t> numbers_;
  std::int64_t begin_, end_, unknown_;
};

}  // namespace sentences

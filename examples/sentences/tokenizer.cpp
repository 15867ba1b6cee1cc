#include "tokenizer.hpp"

#include <fstream>
#include <stdexcept>
#include <utf8proc.h>

namespace sentences {
namespace {

constexpr std::size_t longest_word = 100;  // in characters; longer ones are unknown, as to BERT
constexpr char32_t replacement = 0xFFFD;

std::u32string decode(std::string_view text) {
  std::u32string characters;
  while (!text.empty()) {
    utf8proc_int32_t character = 0;
    const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
    const auto used =
        utf8proc_iterate(bytes, static_cast<utf8proc_ssize_t>(text.size()), &character);
    characters.push_back(used > 0 ? static_cast<char32_t>(character) : replacement);
    text.remove_prefix(used > 0 ? static_cast<std::size_t>(used) : 1);
  }
  return characters;
}

std::string encode_utf8(std::u32string_view characters) {
  std::string text;
  for (const char32_t character : characters) {
    utf8proc_uint8_t bytes[4];
    const auto used = utf8proc_encode_char(static_cast<utf8proc_int32_t>(character), bytes);
    text.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(used));
  }
  return text;
}

utf8proc_category_t category(char32_t character) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(character));
}

bool is_space(char32_t character) {
  return character == ' ' || character == '\t' || character == '\n' || character == '\r' ||
         category(character) == UTF8PROC_CATEGORY_ZS;
}

bool is_dropped(char32_t character) {
  if (character == 0 || character == replacement) return true;
  const utf8proc_category_t kind = category(character);
  return kind == UTF8PROC_CATEGORY_CC || kind == UTF8PROC_CATEGORY_CF ||
         kind == UTF8PROC_CATEGORY_CN || kind == UTF8PROC_CATEGORY_CO ||
         kind == UTF8PROC_CATEGORY_CS;
}

// BERT counts all of ASCII's that is neither letter nor digit.
bool is_punctuation(char32_t character) {
  if (character < 0x80)
    return (character > ' ' && character < '0') || (character > '9' && character < 'A') ||
           (character > 'Z' && character < 'a') || (character > 'z' && character < 0x7F);
  const utf8proc_category_t kind = category(character);
  return kind >= UTF8PROC_CATEGORY_PC && kind <= UTF8PROC_CATEGORY_PO;
}

// The blocks of Chinese characters, of which each is a word.
bool is_ideograph(char32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) ||
         (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B73F) ||
         (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B820 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

// Decomposed, without marks, in lower case.
void append_plain(char32_t character, std::u32string& plain) {
  utf8proc_int32_t parts[32];
  int boundary = 0;
  const auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(character), parts, 32,
                                             UTF8PROC_DECOMPOSE, &boundary);
  for (utf8proc_ssize_t i = 0; i < count; ++i)
    if (category(static_cast<char32_t>(parts[i])) != UTF8PROC_CATEGORY_MN)
      plain.push_back(static_cast<char32_t>(utf8proc_tolower(parts[i])));
}

std::vector<std::u32string> words_of(std::string_view text) {
  std::vector<std::u32string> words;
  std::u32string word;
  const auto finish = [&] {
    if (!word.empty()) words.push_back(std::move(word));
    word.clear();
  };
  std::u32string plain;
  for (const char32_t character : decode(text)) {
    if (is_space(character)) {
      plain.push_back(' ');
    } else if (is_ideograph(character)) {
      plain.append({' ', character, ' '});
    } else if (!is_dropped(character)) {
      append_plain(character, plain);
    }
  }
  for (const char32_t character : plain) {
    if (is_space(character)) {
      finish();
    } else if (is_punctuation(character)) {
      finish();
      words.emplace_back(1, character);
    } else {
      word.push_back(character);
    }
  }
  finish();
  return words;
}

}  // namespace

Tokenizer::Tokenizer(const std::string& vocabulary) : file_(vocabulary) {
  std::ifstream lines(vocabulary);
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with('\r')) line.pop_back();
    numbers_.emplace(std::move(line), static_cast<std::int64_t>(numbers_.size()));
  }
  if (numbers_.empty()) throw std::runtime_error(vocabulary + ": no vocabulary can be read there");
  begin_ = number_of("[CLS]");
  end_ = number_of("[SEP]");
  unknown_ = number_of("[UNK]");
}

std::int64_t Tokenizer::number_of(const std::string& piece) const {
  const auto place = numbers_.find(piece);
  if (place == numbers_.end())
    throw std::runtime_error(file_ + ": the vocabulary has no line '" + piece + "'");
  return place->second;
}

// The longest piece that fits, again and again; a word that no pieces make up is unknown as a whole.
void Tokenizer::spell(const std::u32string& word, std::vector<std::int64_t>& numbers) const {
  std::vector<std::int64_t> pieces;
  std::size_t first = 0;
  while (word.size() <= longest_word && first < word.size()) {
    std::size_t last = word.size();
    for (; last > first; --last) {
      const std::u32string_view part = std::u32string_view(word).substr(first, last - first);
      const auto place = numbers_.find((first > 0 ? "##" : "") + encode_utf8(part));
      if (place == numbers_.end()) continue;
      pieces.push_back(place->second);
      break;
    }
    if (last == first) break;
    first = last;
  }
  if (first < word.size()) pieces.assign(1, unknown_);
  numbers.insert(numbers.end(), pieces.begin(), pieces.end());
}

std::vector<std::int64_t> Tokenizer::encode(std::string_view text, std::size_t length) const {
  std::vector<std::int64_t> numbers{begin_};
  for (const std::u32string& word : words_of(text)) spell(word, numbers);
  if (numbers.size() + 1 > length) numbers.resize(length - 1);
  numbers.push_back(end_);
  return numbers;
}

}  // namespace sentences

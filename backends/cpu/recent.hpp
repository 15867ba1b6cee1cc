// What a thread used last, by key. Each thread has its own, so that neither a lock nor another thread's data come between.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace bp::cpu {

// A key is compared as bytes: every field has eight.
template <class Key, class Value, size_t capacity> class Recent {
 public:
  // The value of `key`, or a new one by make(), which may throw, in place of what was used longest ago.
  template <class Make> Value& find(const Key& key, Make make) {
    const uint64_t hash = hash_of(key);
    size_t oldest = 0;
    ++now_;
    for (size_t i = 0; i < capacity; ++i) {
      if (hashes_[i] == hash && std::memcmp(&keys_[i], &key, sizeof key) == 0) {
        used_[i] = now_;
        return values_[i];
      }
      if (used_[i] < used_[oldest]) oldest = i;
    }
    hashes_[oldest] = 0;
    values_[oldest] = make();
    hashes_[oldest] = hash;
    keys_[oldest] = key;
    used_[oldest] = now_;
    return values_[oldest];
  }

 private:
  static uint64_t hash_of(const Key& key) {
    uint64_t words[sizeof(Key) / 8];
    std::memcpy(words, &key, sizeof key);
    uint64_t hash = 0;
    for (uint64_t word : words) hash = (hash ^ word) * 0x9E3779B97F4A7C15u + (hash >> 29);
    return hash | 1;  // 0 marks a free place
  }

  uint64_t now_ = 0;
  std::array<uint64_t, capacity> hashes_{};
  std::array<uint64_t, capacity> used_{};
  std::array<Key, capacity> keys_{};
  std::array<Value, capacity> values_{};
};

}  // namespace bp::cpu

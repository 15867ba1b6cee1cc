// The joined operators that somebody holds, or whose work is not done.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "joined.hpp"

namespace bp {

// The chain of this key: the living one, or what `make` returns, which is registered.
Chain find_or_join(std::string key,
                   const std::function<std::unique_ptr<Joined>(const std::string&)>& make);

// For the life of the process.
void hold_forever(Operator& joined) noexcept;

// While it lives, no chain is joined or freed, and none waits for a stream that it has not waited for before.
class ChainsStay {
 public:
  ChainsStay();
  ~ChainsStay();
  ChainsStay(const ChainsStay&) = delete;
  ChainsStay& operator=(const ChainsStay&) = delete;
};

}  // namespace bp

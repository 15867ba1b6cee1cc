// The joined operators that somebody holds or whose work is not done yet.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "joined.hpp"

namespace bp {

// The chain with this key: the existing one, or else the result of `make`, which is then registered.
Chain find_or_join(std::string key,
                   const std::function<std::unique_ptr<Joined>(const std::string&)>& make);

// Keeps it for the life of the process.
void hold_forever(Operator& joined) noexcept;

// While it lives, no chain is joined or freed, and none starts to wait for another stream.
class ChainsStay {
 public:
  ChainsStay();
  ~ChainsStay();
  ChainsStay(const ChainsStay&) = delete;
  ChainsStay& operator=(const ChainsStay&) = delete;
};

}  // namespace bp

// How the suite refuses what it was given: with a sentence.
#pragma once

#include <fmt/format.h>

#include <backplane/tensor/error.hpp>

namespace bp::conform {

// Throws bad_argument with the formatted sentence.
template <class... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> sentence, Args&&... args) {
  throw_error(ErrorClass::bad_argument, fmt::format(sentence, std::forward<Args>(args)...));
}

}  // namespace bp::conform

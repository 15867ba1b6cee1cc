// Checks for use inside Backplane: BP_CHECK for the caller's fault, BP_ASSERT for ours.
#pragma once

#include <fmt/format.h>

#include <backplane/tensor/error.hpp>

// Throws bad_argument with the formatted sentence unless `condition` holds. The sentence names the
// operator, both values and the way out.
#define BP_CHECK(condition, ...)                                                     \
  do {                                                                               \
    if (!(condition)) [[unlikely]]                                                   \
      ::bp::throw_error(::bp::ErrorClass::bad_argument, ::fmt::format(__VA_ARGS__)); \
  } while (false)

#ifdef NDEBUG
#  define BP_ASSERT(condition) static_cast<void>(0)
#else
#  define BP_ASSERT(condition)                                                         \
    do {                                                                               \
      if (!(condition)) [[unlikely]]                                                   \
        ::bp::throw_error(                                                             \
            ::bp::ErrorClass::internal,                                                \
            ::fmt::format("{}:{}: {} does not hold", __FILE__, __LINE__, #condition)); \
    } while (false)
#endif

// How a plugin talks to its host: the host's functions, statuses, errors, the log. Include
// plugin.hpp.
#ifndef BACKPLANE_PLUGIN_STATUS_HPP
#define BACKPLANE_PLUGIN_STATUS_HPP

#include <cstdarg>
#include <cstdio>
#include <exception>
#include <new>
#include <utility>

#include <backplane/abi.h>
#include <backplane/extensions/settings.h>
#include <backplane/plugin/namespace.hpp>

#define BP_PRINTF(text, first) __attribute__((format(printf, text, first)))

#if defined(__cpp_exceptions)
#  define BP_TRY try
#  define BP_CATCH_ALL catch (...)
#else
#  define BP_TRY if constexpr (true)
#  define BP_CATCH_ALL else
#endif

namespace BP_SDK BP_HIDDEN {

namespace detail {
inline const bp_host* the_host = nullptr;
}

// The host that loaded this library; set from bp_get_plugin_v1 on. Threads: any.
inline const bp_host& host() {
  return *detail::the_host;
}

// The return value of an entry point: success, or a code whose message the host has already been given.
class [[nodiscard]] Status {
 public:
  constexpr Status() = default;

  // For a code that came out of one of the host's own functions, which has set its message.
  static constexpr Status from_host(bp_code code) { return Status(code); }

  constexpr bp_code code() const { return code_; }
  constexpr bool is_ok() const { return code_ == BP_OK; }

 private:
  explicit constexpr Status(bp_code code) : code_(code) {}

  bp_code code_ = BP_OK;
};

inline constexpr Status ok{};

// Sets the calling thread's message at the host and returns `code`. Say what is wrong with both values,
// and what to do; the host adds plugin, device and operator. Cut at 1,000 characters.
BP_PRINTF(2, 3) inline Status error(bp_code code, const char* format, ...);

// The same for work that was given with an earlier call (Stream::call_number; 0: with none), so that the host can say
// whose work failed.
BP_PRINTF(3, 4)
inline Status late_error(uint64_t call_number, bp_code code, const char* format, ...);

// The same as error, one for each class of failure.
BP_PRINTF(1, 2) inline Status bad_argument(const char* format, ...);
BP_PRINTF(1, 2) inline Status unsupported(const char* format, ...);
BP_PRINTF(1, 2) inline Status out_of_memory(const char* format, ...);
BP_PRINTF(1, 2) inline Status retry(const char* format, ...);
BP_PRINTF(1, 2) inline Status stream_lost(const char* format, ...);
BP_PRINTF(1, 2) inline Status device_lost(const char* format, ...);
BP_PRINTF(1, 2) inline Status internal(const char* format, ...);

// A value, or the status that says why there is none.
template <class T> class [[nodiscard]] Result {
 public:
  constexpr Result(T value) : value_(std::move(value)) {}
  constexpr Result(Status failure) : status_(failure) {}

  constexpr Status status() const { return status_; }
  constexpr bool is_ok() const { return status_.is_ok(); }
  constexpr T& value() { return value_; }  // only if is_ok()

 private:
  T value_{};
  Status status_;
};

// Thrown where returning is awkward, as in constructors: throw Failure{bp::device_lost("...")}.
// Like any exception it ends at the plugin's edge, as its status.
struct Failure {
  Status status;
};

enum class LogLevel : uint32_t {
  debug = BP_LOG_DEBUG,
  info = BP_LOG_INFO,
  warning = BP_LOG_WARNING,
  error = BP_LOG_ERROR
};

// Writes one line to the host's log. Threads: any.
BP_PRINTF(2, 3) inline void log(LogLevel level, const char* format, ...);

// How many threads one call may use, and whether the same bits are wanted for the same inputs.
inline uint32_t num_threads() {
  return host().num_threads(&host());
}
inline bool deterministic() {
  return host().deterministic(&host()) != 0;
}

// Whether products of f32 may read their factors with fewer bits; see extensions/settings.h.
inline bool allow_tf32() {
  const bp_header* found = host().extension(&host(), BP_SETTINGS, BP_SETTINGS_VERSION);
  return found != nullptr && reinterpret_cast<const bp_settings*>(found)->allow_tf32(&host()) != 0;
}

namespace detail {

inline bp_code set_error(bp_code code, const char* format, va_list values) {
  char text[1001];
  std::vsnprintf(text, sizeof text, format, values);
  return the_host->set_error(the_host, code, text);
}

// The status of the exception in flight.
inline Status caught() {
#if defined(__cpp_exceptions)
  try {
    throw;
  } catch (const Failure& failure) {
    return failure.status;
  } catch (const std::bad_alloc&) {
    return out_of_memory("the plugin found no host memory");
  } catch (const std::exception& exception) {
    return internal("the plugin threw: %s", exception.what());
  } catch (...) {
    return internal("the plugin threw something that is not a std::exception");
  }
#endif
  return ok;
}

}  // namespace detail

// Runs `body`, which returns a Status, so that no exception crosses the boundary. The headers do this for
// every entry of a backend and every kernel; an extension's own functions need it.
template <class Body> bp_code guarded(Body&& body) noexcept {
  BP_TRY {
    return body().code();
  }
  BP_CATCH_ALL {
    return detail::caught().code();
  }
}

#define BP_DEFINE_ERROR(declaration, code)                       \
  inline Status declaration {                                    \
    va_list values;                                              \
    va_start(values, format);                                    \
    const bp_code set = detail::set_error(code, format, values); \
    va_end(values);                                              \
    return Status::from_host(set);                               \
  }
BP_DEFINE_ERROR(error(bp_code code, const char* format, ...), code)
BP_DEFINE_ERROR(bad_argument(const char* format, ...), BP_BAD_ARGUMENT)
BP_DEFINE_ERROR(unsupported(const char* format, ...), BP_UNSUPPORTED)
BP_DEFINE_ERROR(out_of_memory(const char* format, ...), BP_OUT_OF_MEMORY)
BP_DEFINE_ERROR(retry(const char* format, ...), BP_RETRY)
BP_DEFINE_ERROR(stream_lost(const char* format, ...), BP_STREAM_LOST)
BP_DEFINE_ERROR(device_lost(const char* format, ...), BP_DEVICE_LOST)
BP_DEFINE_ERROR(internal(const char* format, ...), BP_INTERNAL)
#undef BP_DEFINE_ERROR

inline Status late_error(uint64_t call_number, bp_code code, const char* format, ...) {
  char text[1001];
  va_list values;
  va_start(values, format);
  std::vsnprintf(text, sizeof text, format, values);
  va_end(values);
  return Status::from_host(host().set_call_error(&host(), code, call_number, text));
}

inline void log(LogLevel level, const char* format, ...) {
  char text[1001];
  va_list values;
  va_start(values, format);
  std::vsnprintf(text, sizeof text, format, values);
  va_end(values);
  host().log(&host(), static_cast<uint32_t>(level), text);
}

}  // namespace BP_HIDDEN

#endif  // BACKPLANE_PLUGIN_STATUS_HPP

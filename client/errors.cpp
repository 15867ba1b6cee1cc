// What a thread's last failed call was about.
#include <atomic>
#include <exception>
#include <new>
#include <string>

#include "boundary.hpp"
#include "functions.hpp"

namespace bp::client {
namespace {

thread_local bool is_ending = false;  // its sentence is gone

struct LastError {
  std::string message;
  const char* text = "";
  bool is_late = false;

  ~LastError() { is_ending = true; }
};
thread_local LastError last_error;

bp_code note(bp_code code, const char* function, const char* message, bool is_late) noexcept {
  if (is_ending) return code;
  last_error.is_late = is_late;
  try {
    last_error.message = function ? fmt::format("{}: {}", function, message) : message;
    last_error.text = last_error.message.c_str();
  } catch (...) {
    last_error.text = "the host has no memory for a sentence about this error";
  }
  return code;
}

// Read without a lock, so that a forked child never waits for one.
struct KeptText {
  std::string text;
  KeptText* next;
};
constinit std::atomic<KeptText*> kept_texts{nullptr};

}  // namespace

bp_code keep_error(const char* function) noexcept {
  try {
    throw;
  } catch (const Error& error) {
    return note(static_cast<bp_code>(error.error_class()), nullptr, error.what(), error.is_late());
  } catch (const std::bad_alloc&) {
    return note(BP_OUT_OF_MEMORY, function, "the host is out of memory; free some and call again",
                false);
  } catch (const std::exception& error) {
    return note(BP_INTERNAL, function, error.what(), false);
  } catch (...) {
    return note(BP_INTERNAL, function, "something was thrown that is not an exception", false);
  }
}

const char* error_message() noexcept {
  return is_ending ? "" : last_error.text;
}

std::uint32_t error_is_late() noexcept {
  return !is_ending && last_error.is_late;
}

const char* kept_text(std::string_view text) {
  for (KeptText* each = kept_texts.load(std::memory_order_acquire); each; each = each->next)
    if (each->text == text) return each->text.c_str();
  auto* made = new KeptText{std::string(text), kept_texts.load(std::memory_order_relaxed)};
  while (!kept_texts.compare_exchange_weak(made->next, made, std::memory_order_release,
                                           std::memory_order_relaxed)) {
  }
  return made->text.c_str();
}

}  // namespace bp::client

#include "runner/interrupt.hpp"

#include <csignal>

namespace bp::conform {
namespace {

std::atomic<bool> interrupt_requested{false};

void on_interrupt(int number) {
  interrupt_requested.store(true, std::memory_order_relaxed);
  std::signal(number, SIG_DFL);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  interrupt_requested = false;
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
}

InterruptGuard::~InterruptGuard() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

std::atomic<bool>& InterruptGuard::requested() {
  return interrupt_requested;
}

}  // namespace bp::conform

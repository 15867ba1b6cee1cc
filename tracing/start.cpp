// When the first thread comes: decides who watches calls, if anybody, and what is left to do at the end.
#include <cstdlib>
#include <pthread.h>
#include <unistd.h>

#include <backplane/dispatcher/layers.hpp>
#include <backplane/runtime/initial_layers.hpp>

#include "counts_file.hpp"
#include "shadow.hpp"
#include "trace_file.hpp"
#include "watch.hpp"
#include "wishes.hpp"

namespace bp {
namespace {

using namespace tracing;

std::uint64_t keys = 0;
pid_t process = 0;

// In the process that began alone: a forked child has the same file open, and counts what its parent did.
void finish() {
  if (getpid() != process) return;
  finish_shadow();
  close_trace();
  if (!wishes().counts_folder.empty()) write_counts(wishes().counts_folder);
}

void start() {
  const Wishes& wanted = wishes();
  const bool traces = wanted.traces && open_trace(wanted.trace_file);
  const bool shadows = !wanted.shadow.empty();
  process = getpid();
  if (traces || shadows) {
    set_layer_fallback(Layer::trace, watch);
    keys = key_of(Layer::trace);
  }
  if (traces) pthread_atfork(nullptr, nullptr, leave_trace_to_parent);
  if (keys != 0 || !wanted.counts_folder.empty()) std::atexit(finish);
}

}  // namespace

std::uint64_t initial_layers() {
  // Unlike a static local's guard, this one is free again in the child of a fork that came in between.
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, start);
  return keys;
}

}  // namespace bp

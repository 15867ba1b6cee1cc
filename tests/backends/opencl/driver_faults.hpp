// Makes OpenCL functions fail when a test asks for it. This program exports functions of the loader's names, and the
// dynamic linker gives those to the plugin in place of the loader's own. Counts copies on the way.
#pragma once

#include <atomic>

namespace driver {

// The next calls of these answer with the code; 0: they do their work again.
struct Faults {
  int create_buffer = 0;
  int finish = 0;
  int enqueue_kernel = 0;
  int enqueue_write = 0;
  int list_devices = 0;
  int event_status = 0;  // what an event reports as its command's end
};
extern Faults faults;

// Buffers read, written and copied so far, by whomever.
extern std::atomic<int> num_copies;

// True if the plugin calls the functions of this program.
bool is_in_between();

}  // namespace driver

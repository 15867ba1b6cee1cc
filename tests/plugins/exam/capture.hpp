// The extension "bp.capture" of the device that works in the background.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include <backplane/extensions/capture.h>
#include <backplane/plugin.hpp>

#include "queue.hpp"

namespace reference {

using RecordedWork = std::vector<Work>;

// Which queues record, and what they were given since.
class Captures {
 public:
  // True if the queue records: the work is no longer to be done.
  bool take(Queue& queue, Work work);
  bp::Status begin(Queue& queue);
  bp::Result<std::unique_ptr<RecordedWork>> end(Queue& queue);

 private:
  std::mutex mutex_;
  std::map<Queue*, RecordedWork> recorded_;
};

}  // namespace reference

namespace exam {

const bp_header* capture_extension(const char* name, uint32_t min_version);

}  // namespace exam

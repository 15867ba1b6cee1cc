// Streams that do nothing until they are let go, or for a while: what waits for one that it need not wait for is found out.
#pragma once

#include <map>
#include <memory>

#include "worker/direct_plugin.hpp"

namespace bp::conform {

class HeldStreams {
 public:
  ~HeldStreams() { let_all_go(); }
  HeldStreams() = default;
  HeldStreams(const HeldStreams&) = delete;
  HeldStreams& operator=(const HeldStreams&) = delete;

  // Gives `stream` a function of the host's that returns when it is let go, at the latest after `milliseconds`. `number`
  // names the hold.
  bp_code hold(const DirectPlugin& plugin, int number, bp_stream* stream, int milliseconds);
  // True if the time had run out before.
  bool let_go(int number);
  void let_all_go();

 private:
  struct Gate;
  std::map<int, std::shared_ptr<Gate>> gates_;
};

}  // namespace bp::conform

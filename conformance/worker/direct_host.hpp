// The direct lane's own bp_host: what a plugin may call, counted, guarded, and able to refuse.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include <backplane/dispatcher/operator.hpp>

#include "worker/skew.hpp"

namespace bp::conform {

// What bp_call.host_data of this host points to.
class CallContext {
 public:
  virtual ~CallContext() = default;
  virtual bp_code workspace(std::uint64_t bytes, std::uint64_t alignment, bp_region& out) = 0;
  virtual bp_code allocate_output(std::uint32_t index, std::uint32_t ndim,
                                  const std::int64_t* shape) = 0;
};

// The last error that this thread was told through set_error.
struct ToldError {
  bp_code code = BP_OK;
  std::string message;
};
ToldError& told_error();

class DirectHost {
 public:
  explicit DirectHost(std::string plugin_path);
  DirectHost(const DirectHost&) = delete;
  DirectHost& operator=(const DirectHost&) = delete;
  ~DirectHost();

  const bp_host& table() const { return table_; }
  void set_levels(std::uint32_t lowest, std::uint32_t highest);
  // From now on all structs that the host gives are those of another level; before the plugin is opened.
  void set_skew(Skew skew);
  // The table as the plugin sees it.
  const bp_host& given() const { return given_ ? *given_->as<const bp_host>() : table_; }
  // What was written into a struct of the host's behind the part that is known.
  std::string fault_in_structs();

  std::atomic<std::uint32_t> num_threads{2}, deterministic{0};
  // The N-th allocate_host from now on, and all after it, fail; 0: none does.
  void fail_from(std::int64_t nth);
  std::int64_t num_calls() const { return calls_.load(); }
  std::int64_t num_live() const { return live_.load(); }
  // How often the plugin told this host of an error.
  std::int64_t num_errors() const { return errors_.load(); }
  void note_error() { ++errors_; }
  // What was done wrong since the last question.
  std::vector<std::string> take_faults();
  std::vector<std::string> take_log();
  // Kernels that came through register_kernels.
  std::vector<const bp_kernel*> more_kernels();

  // The functions of the table.
  void note_fault(std::string what);
  void note_log(std::uint32_t level, const char* message);
  bp_code allocate(std::uint64_t bytes, std::uint64_t alignment, void** out);
  void release(void* ptr);
  bp_code add_kernels(const bp_kernel* const* kernels, std::uint32_t count);
  const bp_operator* show(const Operator* op) { return show(op, skew_); }
  const bp_operator* show(const Operator* op, Skew skew);
  const bp_header* extension(const char* name, std::uint32_t min_version);

 private:
  bp_host table_{};
  std::string plugin_path_;
  Skew skew_;
  std::unique_ptr<SkewedStruct> given_, settings_;
  std::atomic<std::int64_t> calls_{0}, live_{0}, fail_at_{0}, errors_{0};
  std::mutex mutex_;  // guards what follows
  std::unordered_map<void*, std::uint64_t> blocks_;
  std::vector<std::string> faults_, log_;
  std::vector<const bp_kernel*> more_kernels_;
  std::map<std::pair<const Operator*, std::uint32_t>, SkewedStruct>
      operators_;  // by level; 0: padded
};

}  // namespace bp::conform

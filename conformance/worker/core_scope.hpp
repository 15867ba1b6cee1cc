// Scripts of the core lane: what an application calls.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include <backplane/dispatcher/operator.hpp>
#include <backplane/runtime/stream.hpp>

#include "protocol/script.hpp"
#include "worker/scope.hpp"
#include "worker/watched_memory.hpp"

namespace bp::conform {

class CoreScope : public Scope {
 public:
  CoreScope(DeviceRecord& record, CoreMemory& memory, std::uint8_t poison,
            CoreScope* within = nullptr);
  ~CoreScope() override;

  Json step(const Json& step) override;
  std::uint64_t hash(int object) override;
  void settle() override;
  void finish() override;

 private:
  struct Object {
    Tensor tensor;
    bool is_given = false;  // made by the script, not by a row
    Bytes picture;          // of its storage, as last seen
  };
  // A row's arguments, which point into the lists.
  struct Arguments {
    std::vector<bp_value> values;
    ArgumentLists lists;
  };

  Json make_tensor(const Json& step);
  Json row(const Json& step);
  Json backward(const Json& step);
  Json replays(const Json& step);
  Json values(const Json& step);
  Json storage(const Json& step);
  Json queue_step(const std::string& what, const Json& step);
  Json set_host(const Json& step);
  Json alive();

  Object& object(const Json& number);
  void read_arguments(const Operator& op, const Json& list, Arguments& out);
  std::vector<Tensor> run(Operator& op, const Json& step, Arguments& arguments);
  std::vector<Tensor> targets_of(const Json& step);
  void note_served(Json& result);
  // Compares all that the script made with its pictures; elements of `written` may differ.
  void look(const std::vector<Tensor>& written, const char* kind);
  void look_at_slack(const Tensor& result);
  Json late_error();
  Bytes elements(const Tensor& tensor);

  DeviceRecord& record_;
  CoreMemory& memory_;
  const std::uint8_t poison_;
  CoreScope* const within_;  // where objects are looked for that are not here
  std::map<int, Object> objects_;
  std::map<int, std::unique_ptr<Stream>> streams_;
  std::map<int, std::unique_ptr<Event>> events_;
  std::vector<Bytes> host_buffers_;
  bool recycles_ = false, finished_ = false;
};

// Calls `f` with the offset of each element from the start of the storage's allocation, in row-major order.
template <class F> void for_each_element(const Tensor& tensor, F&& f) {
  const bp_tensor& abi = tensor.impl()->abi;
  for_each_place(abi, [&](std::int64_t place) {
    f(abi.dl.byte_offset + static_cast<std::uint64_t>(place) * abi.itemsize);
  });
}

// {"do":"side_streams", "threads":H, "rounds":R, "calls":B} -> "checked": tensors compared, "wrong": of these, "message":
// the first error of a call. With "calls", sums are computed besides the copies.
Json run_side_streams(DeviceRecord& record, const Json& step);

}  // namespace bp::conform

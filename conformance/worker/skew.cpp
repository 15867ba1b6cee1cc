#include "worker/skew.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <backplane/runtime/generated/abi_sizes.hpp>
#include <backplane/tensor/error.hpp>

#include "refuse.hpp"

namespace bp::conform {
namespace {

// A plugin that is newer than this suite may know what follows, and finds zeros there; what comes then nobody knows.
constexpr std::size_t later_bytes = 448, unknown_bytes = 64;
constexpr unsigned char noise = 0xAA;

// What a later level may chain to a struct.
bp_header unknown_addition{sizeof(bp_header), 0xFFFFu, nullptr};

}  // namespace

Skew read_skew(const Json& step) {
  const std::string word = step.value("skew", std::string());
  Skew skew;
  skew.padded = word == "padded";
  if (word.starts_with("level"))
    skew.level = static_cast<std::uint32_t>(std::stoul(word.substr(5)));
  return skew;
}

std::vector<std::string> skew_names() {
  std::vector<std::string> names = {"padded"};
  for (const AbiSize& each : abi_sizes)
    if (std::string level = fmt::format("level{}", each.level); names.back() != level)
      names.push_back(std::move(level));
  return names;
}

SkewedStruct::SkewedStruct(std::string_view name, const void* from, std::size_t known, Skew skew)
    : name_(name), known_(known) {
  bytes_ = skew.padded ? known + later_bytes + unknown_bytes : abi_size(name, skew.level);
  if (bytes_ == 0) refuse("script: level {} has no struct {} that grows", skew.level, name);
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  mapped_ = (bytes_ + page - 1) / page * page + page;
  pages_ = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages_ == MAP_FAILED)
    throw_error(ErrorClass::out_of_memory, "the worker has no memory for a struct");
  mprotect(static_cast<char*>(pages_) + mapped_ - page, page, PROT_NONE);
  at_ = static_cast<char*>(pages_) + mapped_ - page - bytes_;
  std::memcpy(at_, from, std::min(known_, bytes_));
  if (skew.padded) std::memset(static_cast<char*>(at_) + known + later_bytes, noise, unknown_bytes);
  // bp_tensor has its size in the same place, and no chain.
  auto& header = *static_cast<bp_header*>(at_);
  header.size = static_cast<std::uint32_t>(bytes_);
  if (bytes_ > known_ && name_ != "bp_tensor") header.next = &unknown_addition;
}

SkewedStruct::~SkewedStruct() {
  munmap(pages_, mapped_);
}

std::string SkewedStruct::fault() const {
  const auto* bytes = static_cast<const unsigned char*>(at_);
  // What the plugin fills in, it fills in as far as it knows; the rest is the host's alone.
  const bool is_filled = name_ == "bp_compiler_info";
  for (std::size_t i = is_filled ? known_ + later_bytes : known_; i < bytes_; ++i)
    if (bytes[i] != (i < known_ + later_bytes ? 0 : noise))
      return fmt::format("wrote to byte {} of a {} of a later level, of which it knows {}", i,
                         name_, known_);
  return {};
}

SkewedCall::SkewedCall(const bp_call& call, const bp_operator* op, Skew skew)
    : skew_(skew), args_(call.args, call.args + call.num_args) {
  for (bp_value& value : args_) {
    if (value.tag == BP_TENSOR) {
      value.u.tensor = copy(*value.u.tensor);
    } else if (value.tag == BP_TENSOR_LIST) {
      auto* elements = static_cast<const bp_tensor* const*>(value.u.ptr);
      auto& list = lists_.emplace_back(elements, elements + value.aux);
      for (const bp_tensor*& each : list)
        if (each) each = copy(*each);
      value.u.ptr = list.data();
    }
  }
  for (std::uint32_t i = 0; i < call.num_outputs; ++i)
    outputs_.push_back(call.outputs[i] ? copy(*call.outputs[i]) : nullptr);
  bp_call changed = call;
  changed.args = args_.data();
  changed.outputs = outputs_.data();
  changed.op = op;
  call_ = &structs_.emplace_back("bp_call", &changed, sizeof changed, skew);
}

void SkewedCall::show(std::uint32_t index, const bp_tensor& tensor) {
  outputs_[index] = copy(tensor);
}

std::string SkewedCall::fault() const {
  for (const SkewedStruct& each : structs_)
    if (std::string fault = each.fault(); !fault.empty()) return fault;
  return {};
}

bp_tensor* SkewedCall::copy(const bp_tensor& tensor) {
  return structs_.emplace_back("bp_tensor", &tensor, sizeof tensor, skew_).as<bp_tensor>();
}

}  // namespace bp::conform

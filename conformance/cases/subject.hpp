// What is examined: a plugin's device, as a worker described it before the first case.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <backplane/abi.h>
#include <backplane/tensor/dtype.hpp>

namespace bp::conform {

// A kernel as the plugin declared it.
struct DeclaredKernel {
  std::string op;
  std::vector<bp_arg>
      args;  // of the schema's arguments, then of the outputs; places beyond accept anything
  std::uint32_t flags = 0;  // BP_KERNEL_*
  std::int32_t priority = 0;
  bool plans = false;
};

// What loosens a bound, declared by the plugin through the extension "bp.numerics" (see sdk/extensions/numerics.h).
struct Numerics {
  bool flushes_denormals = false;  // f32 results and operands below the smallest normal may be 0
  bool tf32_matmul = false;        // products of f32 have 10 bits
  bool low_accumulation = false;   // 16-bit sums are kept in 16 bits
  bool flushes_bf16_products = false;  // the same, of what bf16 products read and give
  bool checks_handles = false;         // a stale handle is an error, not undefined
};

struct Subject {
  std::string device;   // "acme:0"
  std::string backend;  // "acme"
  std::string library;  // path of the plugin's file
  std::string library_sha256, version, vendor, device_name;
  std::string uuid, driver;  // of the device; empty: unknown, none
  std::uint32_t abi = 0;
  std::uint32_t device_flags = 0;  // BP_DEVICE_*
  std::int32_t least_priority = 0, greatest_priority = 0;
  std::uint64_t total_memory = 0, offset_alignment = 64;
  std::uint32_t num_spaces = 1;
  bool has_host_memory = false;  // the extension bp.host_memory
  bool has_streams = false, has_events = false, has_fill = false, compiles = false;
  bool describes_space = false, has_links = false;
  bool has_host_calls = false, has_semaphores = false, has_stream_memory = false;
  bool has_inject = false;  // the extension bp.inject: it fails on request
  std::vector<DeclaredKernel> kernels;
  Numerics numerics;

  bool synchronous() const { return (device_flags & BP_DEVICE_SYNCHRONOUS) != 0; }
  // The declared kernels of a row.
  std::vector<const DeclaredKernel*> kernels_of(const std::string& op) const;
};

nlohmann::json to_json(const Subject& subject);
Subject read_subject(const nlohmann::json& json);

}  // namespace bp::conform

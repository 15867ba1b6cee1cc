// A subject as JSON, both ways: workers describe, journals keep.
#include "cases/subject.hpp"

namespace bp::conform {
namespace {

// Calls visit(name in JSON, field) for the plain ones.
template <class Visit> void each_field(auto& subject, Visit visit) {
  visit("device", subject.device);
  visit("backend", subject.backend);
  visit("library", subject.library);
  visit("sha256", subject.library_sha256);
  visit("version", subject.version);
  visit("vendor", subject.vendor);
  visit("device_name", subject.device_name);
  visit("abi", subject.abi);
  visit("flags", subject.device_flags);
  visit("total_memory", subject.total_memory);
  visit("offset_alignment", subject.offset_alignment);
  visit("streams", subject.has_streams);
  visit("events", subject.has_events);
  visit("fill", subject.has_fill);
  visit("compiles", subject.compiles);
}
// What journals of older suites do not have.
template <class Visit> void each_newer_field(auto& subject, Visit visit) {
  visit("uuid", subject.uuid);
  visit("driver", subject.driver);
  visit("least_priority", subject.least_priority);
  visit("greatest_priority", subject.greatest_priority);
  visit("describes_space", subject.describes_space);
  visit("links", subject.has_links);
  visit("host_calls", subject.has_host_calls);
  visit("semaphores", subject.has_semaphores);
  visit("stream_memory", subject.has_stream_memory);
  visit("inject", subject.has_inject);
  visit("num_spaces", subject.num_spaces);
  visit("host_memory", subject.has_host_memory);
}
template <class Visit> void each_numeric(auto& numerics, Visit visit) {
  visit("flushes_denormals", numerics.flushes_denormals);
  visit("tf32_matmul", numerics.tf32_matmul);
  visit("low_accumulation", numerics.low_accumulation);
  visit("flushes_bf16_products", numerics.flushes_bf16_products);
  visit("checks_handles", numerics.checks_handles);
}

nlohmann::json kernel_json(const DeclaredKernel& kernel) {
  nlohmann::json args = nlohmann::json::array();
  for (const bp_arg& arg : kernel.args)
    args.push_back({arg.dtypes, arg.layouts, arg.spaces, arg.min_rank, arg.max_rank, arg.scalar_ok,
                    arg.alignment});
  return {{"op", kernel.op},
          {"args", std::move(args)},
          {"flags", kernel.flags},
          {"priority", kernel.priority},
          {"plans", kernel.plans}};
}

DeclaredKernel read_kernel(const nlohmann::json& json) {
  DeclaredKernel kernel;
  kernel.op = json.at("op").get<std::string>();
  kernel.flags = json.at("flags").get<std::uint32_t>();
  kernel.priority = json.at("priority").get<std::int32_t>();
  kernel.plans = json.value("plans", false);
  for (const nlohmann::json& each : json.at("args")) {
    bp_arg arg{};
    arg.dtypes = each.at(0).get<bp_dtype_set>();
    arg.layouts = each.at(1).get<std::uint32_t>();
    arg.spaces = each.at(2).get<std::uint32_t>();
    arg.min_rank = each.at(3).get<std::uint8_t>();
    arg.max_rank = each.at(4).get<std::uint8_t>();
    arg.scalar_ok = each.at(5).get<std::uint8_t>();
    arg.alignment = each.at(6).get<std::uint32_t>();
    kernel.args.push_back(arg);
  }
  return kernel;
}

}  // namespace

std::vector<const DeclaredKernel*> Subject::kernels_of(const std::string& op) const {
  std::vector<const DeclaredKernel*> found;
  for (const DeclaredKernel& kernel : kernels)
    if (kernel.op == op) found.push_back(&kernel);
  return found;
}

nlohmann::json to_json(const Subject& subject) {
  nlohmann::json json, numerics;
  const auto write = [&](const char* key, const auto& value) { json[key] = value; };
  each_field(subject, write);
  each_newer_field(subject, write);
  each_numeric(subject.numerics, [&](const char* key, bool value) { numerics[key] = value; });
  json["numerics"] = std::move(numerics);
  nlohmann::json& kernels = json["kernels"] = nlohmann::json::array();
  for (const DeclaredKernel& kernel : subject.kernels) kernels.push_back(kernel_json(kernel));
  return json;
}

Subject read_subject(const nlohmann::json& json) {
  Subject subject;
  each_field(subject, [&](const char* key, auto& value) { json.at(key).get_to(value); });
  each_newer_field(subject, [&](const char* key, auto& value) {
    if (json.contains(key)) json[key].get_to(value);
  });
  each_numeric(subject.numerics, [&, &from = json.at("numerics")](const char* key, bool& value) {
    if (key != std::string_view("flushes_bf16_products") || from.contains(key))
      from.at(key).get_to(value);
  });
  for (const nlohmann::json& kernel : json.at("kernels"))
    subject.kernels.push_back(read_kernel(kernel));
  return subject;
}

}  // namespace bp::conform

// A subject as JSON, both ways: workers describe, journals keep.
#include "cases/subject.hpp"

template <class Visit> static void each_part(auto& arg, Visit visit) {
  visit(arg.dtypes);
  visit(arg.layouts);
  visit(arg.spaces);
  visit(arg.min_rank);
  visit(arg.max_rank);
  visit(arg.scalar_ok);
  visit(arg.alignment);
}

// As a list.
void to_json(nlohmann::json& json, const bp_arg& arg) {
  each_part(arg, [&](auto part) { json.push_back(part); });
}
void from_json(const nlohmann::json& json, bp_arg& arg) {
  each_part(arg, [&, place = 0](auto& part) mutable { json.at(place++).get_to(part); });
}

namespace bp::conform {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(DeclaredKernel, op, args, flags, priority, plans)

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
  json["kernels"] = subject.kernels;
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
  json.at("kernels").get_to(subject.kernels);
  return subject;
}

}  // namespace bp::conform

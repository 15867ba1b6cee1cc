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
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Numerics, flushes_denormals, tf32_matmul,
                                                low_accumulation, flushes_bf16_products,
                                                checks_handles)

// Calls visit(name in JSON, field, do journals of older suites have it as well?).
template <class Visit> static void each_field(auto& subject, Visit visit) {
  visit("device", subject.device, true);
  visit("backend", subject.backend, true);
  visit("library", subject.library, true);
  visit("sha256", subject.library_sha256, true);
  visit("version", subject.version, true);
  visit("vendor", subject.vendor, true);
  visit("device_name", subject.device_name, true);
  visit("abi", subject.abi, true);
  visit("flags", subject.device_flags, true);
  visit("total_memory", subject.total_memory, true);
  visit("offset_alignment", subject.offset_alignment, true);
  visit("streams", subject.has_streams, true);
  visit("events", subject.has_events, true);
  visit("fill", subject.has_fill, true);
  visit("compiles", subject.compiles, true);
  visit("numerics", subject.numerics, true);
  visit("kernels", subject.kernels, true);
  visit("uuid", subject.uuid, false);
  visit("driver", subject.driver, false);
  visit("least_priority", subject.least_priority, false);
  visit("greatest_priority", subject.greatest_priority, false);
  visit("describes_space", subject.describes_space, false);
  visit("links", subject.has_links, false);
  visit("host_calls", subject.has_host_calls, false);
  visit("semaphores", subject.has_semaphores, false);
  visit("stream_memory", subject.has_stream_memory, false);
  visit("inject", subject.has_inject, false);
  visit("num_spaces", subject.num_spaces, false);
  visit("host_memory", subject.has_host_memory, false);
}

std::vector<const DeclaredKernel*> Subject::kernels_of(const std::string& op) const {
  std::vector<const DeclaredKernel*> found;
  for (const DeclaredKernel& kernel : kernels)
    if (kernel.op == op) found.push_back(&kernel);
  return found;
}

nlohmann::json to_json(const Subject& subject) {
  nlohmann::json json;
  each_field(subject, [&](const char* key, const auto& field, bool) { json[key] = field; });
  return json;
}

Subject read_subject(const nlohmann::json& json) {
  Subject subject;
  each_field(subject, [&](const char* key, auto& field, bool is_old) {
    if (is_old || json.contains(key)) json.at(key).get_to(field);
  });
  return subject;
}

}  // namespace bp::conform

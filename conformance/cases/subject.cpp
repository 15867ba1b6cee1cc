// A subject as JSON, both ways: workers describe, journals keep.
#include "cases/subject.hpp"

#include <backplane/dispatcher/registry.hpp>

namespace bp::conform {
namespace {

nlohmann::json kernel_json(const DeclaredKernel& kernel) {
  nlohmann::json args = nlohmann::json::array();
  for (const bp_arg& arg : kernel.args)
    args.push_back({arg.dtypes, arg.layouts, arg.spaces, arg.min_rank, arg.max_rank, arg.scalar_ok,
                    arg.alignment});
  return {{"op", kernel.op},
          {"args", std::move(args)},
          {"flags", kernel.flags},
          {"priority", kernel.priority}};
}

DeclaredKernel read_kernel(const nlohmann::json& json) {
  DeclaredKernel kernel;
  kernel.op = json.at("op").get<std::string>();
  kernel.flags = json.at("flags").get<std::uint32_t>();
  kernel.priority = json.at("priority").get<std::int32_t>();
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

bool Subject::repeats_bits(const std::string& op, int depth) const {
  for (const DeclaredKernel* kernel : kernels_of(op))
    if ((kernel->flags & BP_KERNEL_DETERMINISTIC) == 0) return false;
  const Operator* row = find_operator(op);
  if (!row || !row->uses || depth > 8) return true;
  for (const char* const* used = row->uses; *used; ++used)
    if (!repeats_bits(*used, depth + 1)) return false;
  return true;
}

nlohmann::json to_json(const Subject& subject) {
  nlohmann::json json = {{"device", subject.device},
                         {"backend", subject.backend},
                         {"library", subject.library},
                         {"sha256", subject.library_sha256},
                         {"version", subject.version},
                         {"vendor", subject.vendor},
                         {"device_name", subject.device_name},
                         {"abi", subject.abi},
                         {"flags", subject.device_flags},
                         {"total_memory", subject.total_memory},
                         {"offset_alignment", subject.offset_alignment},
                         {"streams", subject.has_streams},
                         {"events", subject.has_events},
                         {"fill", subject.has_fill},
                         {"compiles", subject.compiles}};
  json["numerics"] = {{"flushes_denormals", subject.numerics.flushes_denormals},
                      {"tf32_matmul", subject.numerics.tf32_matmul},
                      {"low_accumulation", subject.numerics.low_accumulation},
                      {"flushes_bf16_products", subject.numerics.flushes_bf16_products},
                      {"checks_handles", subject.numerics.checks_handles}};
  nlohmann::json& kernels = json["kernels"] = nlohmann::json::array();
  for (const DeclaredKernel& kernel : subject.kernels) kernels.push_back(kernel_json(kernel));
  return json;
}

Subject read_subject(const nlohmann::json& json) {
  Subject subject;
  json.at("device").get_to(subject.device);
  json.at("backend").get_to(subject.backend);
  json.at("library").get_to(subject.library);
  json.at("sha256").get_to(subject.library_sha256);
  json.at("version").get_to(subject.version);
  json.at("vendor").get_to(subject.vendor);
  json.at("device_name").get_to(subject.device_name);
  json.at("abi").get_to(subject.abi);
  json.at("flags").get_to(subject.device_flags);
  json.at("total_memory").get_to(subject.total_memory);
  json.at("offset_alignment").get_to(subject.offset_alignment);
  json.at("streams").get_to(subject.has_streams);
  json.at("events").get_to(subject.has_events);
  json.at("fill").get_to(subject.has_fill);
  json.at("compiles").get_to(subject.compiles);
  const nlohmann::json& numerics = json.at("numerics");
  numerics.at("flushes_denormals").get_to(subject.numerics.flushes_denormals);
  numerics.at("tf32_matmul").get_to(subject.numerics.tf32_matmul);
  numerics.at("low_accumulation").get_to(subject.numerics.low_accumulation);
  subject.numerics.flushes_bf16_products = numerics.value("flushes_bf16_products", false);
  numerics.at("checks_handles").get_to(subject.numerics.checks_handles);
  for (const nlohmann::json& kernel : json.at("kernels"))
    subject.kernels.push_back(read_kernel(kernel));
  return subject;
}

}  // namespace bp::conform

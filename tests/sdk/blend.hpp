// An operator with a list that has holes, a generator, and a list of results.
#pragma once

#include <backplane/plugin.hpp>

namespace {

struct blend {
  static constexpr const char* name = "test::blend";
  static constexpr const char* schema =
      "test::blend(Tensor input, Tensor?[] others, *, Generator? generator=None) -> (Tensor sum, "
      "Tensor[] parts)";
  static constexpr uint64_t schema_hash = bp::schema_hash(schema);
  using signature = bp::Status(bp::Stream, bp::In, bp::OptionalInList, std::optional<bp::Generator>,
                               bp::Out, bp::OutList);
  enum class place : unsigned { input, others, generator, sum, parts };
};

inline bp::Status infer_blend(bp::In input, bp::OptionalInList others, std::optional<bp::Generator>,
                              bp::OutputSpec sum, bp::OutputSpecs parts) {
  for (size_t i = 0; i < others.size(); ++i)
    if (others[i])
      if (bp::Status status = parts.add_like(*others[i]); !status.is_ok()) return status;
  return sum.like(input);
}

}  // namespace

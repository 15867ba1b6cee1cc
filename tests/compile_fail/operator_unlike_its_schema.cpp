// expect: name, schema, schema_hash and signature of this operator do not say the same
#include <backplane/plugin.hpp>

struct swish {
  static constexpr const char* name = "acme::swish";
  static constexpr const char* schema = "acme::swish(Tensor input, float beta) -> Tensor";
  static constexpr uint64_t schema_hash = bp::schema_hash(schema);
  using signature = bp::Status(bp::Stream, bp::In, int64_t, bp::Out);
  enum class place : unsigned { input, beta, out };
};

BP_KERNELS(acme) {
  k.define<swish>();
}

// philox, rand_philox, randn_philox: element i of a draw is word i mod 4 of Philox4x32-10 with the key
// `seed` and the counter `offset` + i div 4, the same on every device. A work-item owns some counters.
#include <fmt/format.h>

#include "constants.hpp"
#include "kinds/kinds.hpp"
#include "kinds/random_text.hpp"
#include "kinds/walk.hpp"

namespace bp::codegen {
namespace {

class Random final : public GeneratedKernel {
 public:
  explicit Random(Draw draw) : draw_(draw) {}

  void run(Invocation& invocation) const override {
    const bp_tensor& out = invocation.output();
    const Dtype dtype = static_cast<Dtype>(out.dtype);
    invocation.require(dtype);
    // On processors f64 makes vectors; elsewhere it is slow or not there.
    const bool has_f64 = invocation.info().compute_dtypes >> BP_F64 & 1u;
    RandomForm form{dtype == Dtype::f64, 1};
    if (invocation.for_cpu()) form = {has_f64, constants::random_lanes};
    form.by_packs = !invocation.for_cpu() && invocation.device.language() != Language::c11;
    bp_function* function =
        invocation.function(out.dtype, [&] { return random_text(draw_, dtype, form); });
    const std::int64_t chunk = std::int64_t{4} * form.lanes;
    const Division division =
        divide(invocation, (out.numel + chunk - 1) / chunk, constants::random_chunks);
    Values values;
    values.add(out.numel).add(division.piece).add(invocation.arg(1).u.i);
    values.add(invocation.arg(2).u.i).add(offset_of(out));
    invocation.launch(function, {{division.items, 1, 1}}, {handle_of(out)}, values);
  }

 private:
  Draw draw_;
};

}  // namespace

std::unique_ptr<GeneratedKernel> make_random(const Operator& op) {
  const std::string_view name = op.name();
  std::unique_ptr<GeneratedKernel> kernel;
  bp_dtype_set dtypes = dtypes::floating;
  if (name == "philox") {
    kernel = std::make_unique<Random>(Draw::words);
    dtypes = set_of(Dtype::u32);
  } else if (name == "rand_philox") {
    kernel = std::make_unique<Random>(Draw::uniforms);
  } else if (name == "randn_philox") {
    kernel = std::make_unique<Random>(Draw::normals);
  } else {
    return nullptr;
  }
  kernel->places = strided_places(op, dtypes);
  kernel->places.back().layouts = BP_LAYOUT_CONTIGUOUS;
  return kernel;
}

}  // namespace bp::codegen

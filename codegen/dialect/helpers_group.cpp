// Words of kernels that cooperate: exchange within a subgroup, in CUDA C++ alone, where 32 neighbours always
// step together.
#include <fmt/format.h>

#include "dialect/helpers.hpp"

namespace bp::codegen {
namespace {

struct Exchange {
  std::string_view prefix, intrinsic;
};
constexpr Exchange exchanges[] = {{"shuffle_xor_", "__shfl_xor_sync"},
                                  {"shuffle_up_", "__shfl_up_sync"},
                                  {"shuffle_down_", "__shfl_down_sync"},
                                  {"shuffle_from_", "__shfl_sync"}};

// The intrinsics know types of 4 and 8 bytes.
std::string exchange(std::string_view word, std::string_view type, const Exchange& by) {
  if (is_complex_type(type)) {
    const std::string part = fmt::format("{}{}", by.prefix, type == "c64" ? "f32" : "f64");
    return fmt::format(
        "DEVICE {0} {1}({0} x, i32 by) {{ return make_{0}({2}(x.re, by), {2}(x.im, by)); }}\n",
        type, word, part);
  }
  const std::string_view carried = bytes_of_type(type) < 4 ? "i32" : type;
  return fmt::format(
      "DEVICE {0} {1}({0} x, i32 by) {{ return ({0}){2}(0xffffffffu, ({3})x, by); }}\n", type, word,
      by.intrinsic, carried);
}

}  // namespace

std::string define_group(Language language, std::string_view word) {
  if (language != Language::cuda_cxx) return {};
  for (const Exchange& each : exchanges) {
    if (!word.starts_with(each.prefix)) continue;
    const std::string_view type = word.substr(each.prefix.size());
    if (is_compute_type(type)) return exchange(word, type, each);
  }
  return {};
}

}  // namespace bp::codegen

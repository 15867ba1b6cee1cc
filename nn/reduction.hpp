// What a loss makes of the losses of elements or samples.
#pragma once

#include <string>

#include <backplane/core_ops/generated/all.hpp>
#include <backplane/tensor/check.hpp>

namespace bp::nn {

inline void check_reduction(const char* layer, const std::string& reduction) {
  BP_CHECK(reduction == "none" || reduction == "mean" || reduction == "sum",
           "{}: reduction is '{}'; pass 'none', 'mean' or 'sum'", layer, reduction);
}

inline Tensor reduced(const Tensor& losses, const std::string& reduction) {
  return reduction == "none" ? losses : reduction == "sum" ? sum(losses) : mean(losses);
}

}  // namespace bp::nn

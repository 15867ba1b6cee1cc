// The tables of modules by family: each file here has one, and run_modules.cpp joins them.
#pragma once

#include "pytorch/modules/module_case.hpp"

namespace bp::test {

Makers activation_modules();
Makers attention_modules();
Makers convolution_modules();
Makers dropout_modules();
Makers embedding_modules();
Makers lazy_modules();
Makers linear_modules();
Makers loss_modules();
Makers normalization_modules();
Makers padding_modules();
Makers parametrized_modules();
Makers pooling_modules();
Makers recurrent_modules();
Makers regrouping_modules();
Makers transformer_modules();

}  // namespace bp::test

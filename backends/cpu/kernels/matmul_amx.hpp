// Products of large bf16 matrices on AMX, the matrix unit of newer Xeons.
#pragma once

#include "matmul.hpp"

namespace bp::cpu {

// True for what multiply_by_amx takes and does faster than oneDNN: large bf16 matrices, each by rows or by columns,
// where the processor has AMX and the system lets this process use it.
bool suits_amx(const Product& product);

// The same bits for any number of threads, which may call at once. What is packed lies in memory of the call.
bp_code multiply_by_amx(const bp_call* call, const Product& product);

}  // namespace bp::cpu

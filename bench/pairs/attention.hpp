// Attention of 8 heads, forwards and back, as PyTorch's program has it.
#pragma once

void measure_attention();

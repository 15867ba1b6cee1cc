// The most memory that a step forwards and back takes, as PyTorch's program has it.
#pragma once

void measure_memory();

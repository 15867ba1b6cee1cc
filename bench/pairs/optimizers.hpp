// Steps of optimizers over many small parameters, as bench/peers/pytorch_optimizers.py takes them.
#pragma once

void measure_optimizers();

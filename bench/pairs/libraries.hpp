// Factorizations and Fourier transforms, which libraries compute on both sides.
#pragma once

void measure_libraries();

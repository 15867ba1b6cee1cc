// Our side of the operators in ../peers/ops_cases.hpp.
#pragma once

// Prints their names, then answers each number read with that case's time.
void serve_ops();

// Makes the errors of in-place forms name them: `add_`, which calls the operator `add`.
#pragma once

namespace bp {

// Rethrows the exception that is being handled; if its text begins with the operator's name, with a '_' behind that.
[[noreturn]] void rethrow_in_place(const char* op);

}  // namespace bp

// What becomes of a matrix that has no factors or no inverse.
#pragma once

#include <backplane/tensor/api.hpp>

namespace bp {

// While it lives, linalg_cholesky, linalg_inv and linalg_solve of this thread give NaN or infinities for such a matrix on
// every device, instead of an error: for who tells of it in another way.
class BP_API UncheckedFactors {
 public:
  UncheckedFactors();
  ~UncheckedFactors();
  UncheckedFactors(const UncheckedFactors&) = delete;
  UncheckedFactors& operator=(const UncheckedFactors&) = delete;
};

}  // namespace bp

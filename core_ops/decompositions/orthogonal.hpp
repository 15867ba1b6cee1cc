// Factorizations with orthogonal factors: QR by reflections, eigenvalues and singular values by rotations.
#pragma once

#include <string_view>

#include <backplane/core_ops/generated/all.hpp>

namespace bp {

void check_qr_arguments(const Tensor& A, std::string_view mode);
void check_eigh_arguments(const char* op, const Tensor& input, std::string_view half);
LinalgQrResult qr_by_reflections(const Tensor& A, std::string_view mode);
LinalgEighResult eigh_by_rotations(const Tensor& input, std::string_view half);
LinalgSvdResult svd_by_rotations(const Tensor& A, bool full_matrices);

// Q with `columns` columns and R of [batch, n, m].
struct FlatQr {
  Tensor q, r;
};
FlatQr flat_qr(const Tensor& flat, std::int64_t columns);

}  // namespace bp

// Precompiled: PyTorch's headers take most of the time that a file of the bridge takes to compile.
#pragma once

#include <ATen/ATen.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/native/Resize.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>

#include <backplane/backplane.hpp>
#include <backplane/runtime/storage_tensor.hpp>

// All that an application includes. If you use data loading or files, also link CMake's Backplane::backplane_data or
// Backplane::backplane_serialize (-lbackplane_data, -lbackplane_serialize). For tensors alone,
// <backplane/tensors.hpp> compiles in less than half the time.
#pragma once

#include <backplane/amp/autocast.hpp>
#include <backplane/amp/grad_scaler.hpp>
#include <backplane/capture/capture.hpp>
#include <backplane/data/data.hpp>
#include <backplane/functional/vmap.hpp>
#include <backplane/nn/containers.hpp>
#include <backplane/nn/init.hpp>
#include <backplane/nn/layers.hpp>
#include <backplane/nn/module.hpp>
#include <backplane/nn/parametrizations.hpp>
#include <backplane/nn/state_dict.hpp>
#include <backplane/optim/optim.hpp>
#include <backplane/serialize/checkpoint.hpp>
#include <backplane/serialize/pytorch.hpp>
#include <backplane/serialize/safetensors.hpp>
#include <backplane/tensors.hpp>

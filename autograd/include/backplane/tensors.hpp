// Tensors, operators, derivatives, devices and streams: what backplane.hpp has without layers, optimizers, data and
// files, for sources that need no more, and compile faster with less.
#pragma once

#include <backplane/autograd/anomaly.hpp>
#include <backplane/autograd/autograd.hpp>
#include <backplane/autograd/function.hpp>
#include <backplane/autograd/hooks.hpp>
#include <backplane/core_ops/creation.hpp>
#include <backplane/core_ops/forms.hpp>
#include <backplane/core_ops/generated/all.hpp>
#include <backplane/core_ops/indexing.hpp>
#include <backplane/core_ops/operators.hpp>
#include <backplane/core_ops/print.hpp>
#include <backplane/dispatcher/call.hpp>
#include <backplane/dispatcher/counters.hpp>
#include <backplane/dispatcher/layers.hpp>
#include <backplane/dispatcher/policy.hpp>
#include <backplane/dispatcher/registry.hpp>
#include <backplane/loading/loader.hpp>
#include <backplane/runtime/allocator.hpp>
#include <backplane/runtime/generator.hpp>
#include <backplane/runtime/settings.hpp>
#include <backplane/runtime/stream.hpp>

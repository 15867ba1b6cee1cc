// All that an application includes.
#pragma once

#include <backplane/core_ops/creation.hpp>
#include <backplane/core_ops/generated/comparison.hpp>
#include <backplane/core_ops/generated/factory.hpp>
#include <backplane/core_ops/generated/indexing.hpp>
#include <backplane/core_ops/generated/matmul.hpp>
#include <backplane/core_ops/generated/movement.hpp>
#include <backplane/core_ops/generated/normalization.hpp>
#include <backplane/core_ops/generated/pointwise.hpp>
#include <backplane/core_ops/generated/random.hpp>
#include <backplane/core_ops/generated/reduction.hpp>
#include <backplane/core_ops/generated/view.hpp>
#include <backplane/core_ops/operators.hpp>
#include <backplane/core_ops/print.hpp>
#include <backplane/dispatcher/call.hpp>
#include <backplane/dispatcher/counters.hpp>
#include <backplane/dispatcher/layers.hpp>
#include <backplane/dispatcher/loader.hpp>
#include <backplane/dispatcher/policy.hpp>
#include <backplane/dispatcher/registry.hpp>
#include <backplane/runtime/allocator.hpp>
#include <backplane/runtime/generator.hpp>
#include <backplane/runtime/settings.hpp>
#include <backplane/runtime/stream.hpp>

// Generators, and what else PyTorch asks of a device type that came in from outside.
#pragma once

#include <ATen/core/Generator.h>

#include <backplane/runtime/generator.hpp>

namespace bp::bridge {

// Our generator behind PyTorch's. Throws c10::Error for one of another device type.
Generator* generator_of(const at::Generator& generator);

// Gives the storage another size: its first bytes stay.
void resize_storage(const c10::Storage& storage, std::size_t bytes);

void register_hooks();

}  // namespace bp::bridge

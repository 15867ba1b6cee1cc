// The C++ side of the ABI: write a backend as a class and kernels as typed functions. C++17, headers only; the
// library that results needs nothing of Backplane's. Beside the core's headers, bp::plugin has these names.
//
//   #include <backplane/plugin.hpp>
//
//   struct Acme : bp::Backend { ... };                       plugin/backend.hpp says what belongs in it
//
//   bp::Status gelu(bp::Stream stream, bp::In x, std::string_view approximate, bp::Out y) { ... }
//
//   BP_KERNELS(acme) { k.add<bp::op::gelu>(gelu).dtypes(bp::floating).layouts(bp::strided); }
//   BP_PLUGIN(Acme, acme)
//
// Negotiation, struct sizes and messages are done here, and no exception leaves the library: std::bad_alloc
// becomes BP_OUT_OF_MEMORY, bp::Failure its own status, any other BP_INTERNAL.
#ifndef BACKPLANE_PLUGIN_HPP
#define BACKPLANE_PLUGIN_HPP

#include <backplane/generated/ops.hpp>
#include <backplane/plugin/backend.hpp>
#include <backplane/plugin/device_info.hpp>
#include <backplane/plugin/kernels.hpp>
#include <backplane/plugin/signature.hpp>
#include <backplane/plugin/status.hpp>
#include <backplane/plugin/values.hpp>

#endif  // BACKPLANE_PLUGIN_HPP

// Where the names of plugin.hpp live: `bp::plugin::Stream`, and `bp::Stream` for short. Included by every other header of
// plugin/.
//
// A source may include the core's headers too, before or after these. There `bp::Stream` is the core's and
// `bp::plugin::Stream` the SDK's; a plugin, which sees the SDK alone, writes `bp::Stream`. The rules of C++ do this: the
// SDK's namespace lies outside of `bp`, which has a using-directive for it, and what `bp` itself declares hides what a
// directive brings (docs/decisions/0027-two-sides-in-one-source.md).
#ifndef BACKPLANE_PLUGIN_NAMESPACE_HPP
#define BACKPLANE_PLUGIN_NAMESPACE_HPP

// Hidden even where a build forgot to say so: else two plugins would share these inline variables.
#define BP_HIDDEN __attribute__((visibility("hidden")))

// BP_LINKED_AS=acme, in all sources of a plugin that is linked into a program: its entry is bp_get_plugin_v1_acme, and
// what these headers define is in a namespace of its own. Plugins in one program then share neither host nor inline
// functions, even with headers of different releases. backplane_add_linked_plugin() in CMake defines it.
#define BP_JOINED(a, b) a##b
#define BP_JOIN(a, b) BP_JOINED(a, b)
#ifdef BP_LINKED_AS
#  define BP_SDK BP_JOIN(bp_sdk_, BP_LINKED_AS)
#  define BP_ENTRY BP_JOIN(bp_get_plugin_v1_, BP_LINKED_AS)
#else
#  define BP_SDK bp_sdk
#  define BP_ENTRY bp_get_plugin_v1
#endif

namespace BP_SDK {}
namespace bp {
namespace plugin = ::BP_SDK;
using namespace ::BP_SDK;
}  // namespace bp

#endif  // BACKPLANE_PLUGIN_NAMESPACE_HPP

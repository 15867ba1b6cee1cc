// expect: is ambiguous
#include <backplane/plugin.hpp>
#include <backplane/runtime/stream.hpp>

using namespace bp;

bp::Stream of_core(bp::Device device) {
  return bp::Stream::current(device);
}
plugin::Status of_plugin(plugin::Stream) {
  return plugin::ok;
}
void of_either(Stream);

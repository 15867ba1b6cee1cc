// The table, and the function that gives it away.
#include "boundary.hpp"
#include "functions.hpp"

namespace {

namespace c = bp::client;

constexpr bp_client table = {
    {sizeof(bp_client), BP_TYPE_CLIENT, nullptr},
    BP_CLIENT_LEVEL,
    BP_ABI_LEVEL,
    BP_VERSION,
    c::error_message,
    c::error_is_late,
    c::load_plugin,
    c::load_all_plugins,
    c::unload_plugin,
    c::find_device,
    c::devices,
    c::device_name,
    c::describe_device,
    c::synchronize,
    c::empty,
    c::tensor_from_blob,
    c::tensor_over_storage,
    c::from_dlpack,
    c::to_dlpack,
    c::retain,
    c::release,
    c::data_ptr,
    c::read,
    c::write,
    c::to,
    c::copy,
    c::allocate_storage,
    c::storage_of,
    c::describe_storage,
    c::retain_storage,
    c::release_storage,
    c::find_operator,
    c::find_argument,
    c::count_results,
    c::call,
    c::manual_seed,
    c::create_stream,
    c::release_stream,
    c::current_stream,
    c::set_stream,
    c::query_stream,
    c::synchronize_stream,
    c::wait_stream,
};

}  // namespace

bp_code bp_get_client_v1(uint32_t level, const bp_client** out) {
  return c::guarded("bp_get_client_v1", [&] {
    c::check_pointer("bp_get_client_v1", "out", out);
    *out = &table;
    BP_CHECK(level != 0, "bp_get_client_v1: the level is 0; pass BP_CLIENT_LEVEL");
    if (level > BP_CLIENT_LEVEL)
      bp::throw_error(
          bp::ErrorClass::unsupported,
          fmt::format("bp_get_client_v1: the caller was compiled for level {}, and this library, "
                      "{}, has level {}; install a later one, or ask BP_HAS before each newer "
                      "function",
                      level, BP_VERSION, BP_CLIENT_LEVEL));
  });
}

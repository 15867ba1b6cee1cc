// A backend as a class, made into the plugin that the host sees. Include plugin.hpp.
#ifndef BACKPLANE_PLUGIN_BACKEND_HPP
#define BACKPLANE_PLUGIN_BACKEND_HPP

#include <atomic>
#include <cstring>

#include <backplane/plugin/device_info.hpp>
#include <backplane/plugin/kernels.hpp>

namespace BP_SDK BP_HIDDEN {

// The maker of the plugin; `name` is that of its devices: "acme:0".
struct Identity {
  const char *name, *vendor, *version;
};

enum class Direction : uint32_t {
  from_host = BP_COPY_FROM_HOST,
  to_host = BP_COPY_TO_HOST,
  within = BP_COPY_WITHIN
};

// The base of a backend; an object of the derived class is one device. The contracts (threads, order,
// lifetime) are those of the functions of the same name in abi.h. Required:
//
//   static constexpr bp::Identity identity{"acme", "Acme Inc.", "1.0"};
//   bp::Result<bp::Handle> allocate(uint64_t bytes, uint64_t alignment);
//   void release(bp::Handle handle);
//   bp::Status copy(bp::Region to, bp::Region from, bp::Direction direction, bp::Stream stream);
//
// Used where the class has them; S and E are its own types of streams and events:
//
//   explicit Acme(uint32_t index);                                        opens a device
//   static bp::Result<uint32_t> num_devices();                            else 1
//   static bp::Status describe(uint32_t index, bp::DeviceInfo& info);
//   static bp::Status probe(), init(), quiesce();  static void shutdown();
//   static const bp_header* extension(const char* name, uint32_t min_version);
//   bp::Status synchronize(bp::Stream stream);                            else synchronous
//   bp::Status fill(bp::Region to, const void* pattern, uint32_t pattern_bytes, bp::Stream stream);
//   bp::Status describe_space(uint32_t space, bp::SpaceInfo& info);       of space 0: how much is free now
//   bp::Result<bp::Handle> allocate_in(uint32_t space, uint64_t bytes, uint64_t alignment);   where there are several
//   bp::Result<S*> create_stream(int32_t priority);  void destroy_stream(S*);  bp::Status query_stream(S*);
//   bp::Result<E*> create_event();  void destroy_event(E*);  bp::Status record_event(E*, S*),
//   wait_event(S*, E*), query_event(E*), synchronize_event(E*);  bp::Result<double> elapsed(E*, E*);
//
// S* may stand where bp::Stream does, and last parameters that are not needed may be left out.
struct Backend {
  static Result<uint32_t> num_devices() { return 1u; }
  static Status describe(uint32_t, DeviceInfo&) { return ok; }
  Status synchronize(Stream) { return ok; }
};

// The base class of a plugin without devices, which exists for its extension(): collectives, a compiler. It may have
// probe, init and shutdown as well.
struct WithoutDevices {};

namespace detail {

#define BP_DETECT(member)                                                      \
  template <class B, class = void> inline constexpr bool has_##member = false; \
  template <class B>                                                           \
  inline constexpr bool has_##member<B, std::void_t<decltype(&B::member)>> = true;
BP_DETECT(allocate)
BP_DETECT(release)
BP_DETECT(copy)
BP_DETECT(fill)
BP_DETECT(describe_space)
BP_DETECT(allocate_in)
BP_DETECT(create_stream)
BP_DETECT(destroy_stream)
BP_DETECT(query_stream)
BP_DETECT(create_event)
BP_DETECT(destroy_event)
BP_DETECT(record_event)
BP_DETECT(wait_event)
BP_DETECT(query_event)
BP_DETECT(synchronize_event)
BP_DETECT(elapsed)
BP_DETECT(probe)
BP_DETECT(init)
BP_DETECT(quiesce)
BP_DETECT(shutdown)
BP_DETECT(extension)
#undef BP_DETECT

// ---- From the ABI's arguments to those of a member function ------------------------------------------

template <class To, class From> To convert(bp_device* device, From from) {
  if constexpr (std::is_same_v<To, Stream>)
    return Stream(device, from);
  else if constexpr (std::is_same_v<To, Region>)
    return Region{*from};
  else if constexpr (std::is_enum_v<To>)
    return static_cast<To>(from);
  else if constexpr (std::is_same_v<To, From>)
    return from;
  else
    return reinterpret_cast<To>(from);  // bp_stream* to S*, bp_event* to E*
}

template <class Method> struct Member;
template <class C, class R, class... P> struct Member<R (C::*)(P...)> {
  // Calls `method` with the first sizeof...(P) of `raw`.
  template <class B, class... Raw>
  static R call(R (C::*method)(P...), bp_device* device, Raw... raw) {
    static_assert(std::is_base_of_v<C, B>);
    return call<B>(method, device, std::tuple<Raw...>(raw...), std::index_sequence_for<P...>());
  }

 private:
  template <class B, class Tuple, size_t... I>
  static R call(R (C::*method)(P...), bp_device* device, const Tuple& raw,
                std::index_sequence<I...>) {
    static_assert(sizeof...(P) <= std::tuple_size_v<Tuple>,
                  "a function of the backend takes more parameters than abi.h gives it");
    return (reinterpret_cast<B*>(device)->*method)(
        convert<std::remove_cv_t<std::remove_reference_t<P>>>(device, std::get<I>(raw))...);
  }
};
template <class C, class R, class... P>
struct Member<R (C::*)(P...) noexcept> : Member<R (C::*)(P...)> {};

template <class B, auto Method, class... Raw> struct Entry {
  static auto invoke(bp_device* device, Raw... raw) {
    return Member<decltype(Method)>::template call<B>(Method, device, raw...);
  }
  static bp_code status(bp_device* device, Raw... raw) noexcept {
    return guarded([=]() -> Status { return invoke(device, raw...); });
  }
  static void nothing(bp_device* device, Raw... raw) noexcept {
    (void)guarded([=] { return invoke(device, raw...), ok; });
  }
  template <class T> static bp_code result(bp_device* device, Raw... raw, T* out) noexcept {
    return guarded([=] { return store(invoke(device, raw...), out); });
  }

 private:
  template <class R, class T> static Status store(Result<R> result, T* out) {
    if constexpr (std::is_pointer_v<T>)
      *out = reinterpret_cast<T>(result.value());
    else
      *out = result.value();
    return result.status();
  }
};

// ---- The tables ----------------------------------------------------------------------------------

// The host may know a shorter struct than ours.
template <class Info> void hand_out(const Info& info, void* to, uint32_t host_bytes) {
  const size_t bytes = host_bytes < sizeof info ? host_bytes : sizeof info;
  std::memcpy(static_cast<char*>(to) + sizeof(bp_header),
              reinterpret_cast<const char*>(&info) + sizeof(bp_header), bytes - sizeof(bp_header));
}

template <class B>
bp_code describe_space(bp_device* device, uint32_t space, bp_space_info* out) noexcept {
  return guarded([=]() -> Status {
    SpaceInfo info{};
    Status status = reinterpret_cast<B*>(device)->describe_space(space, info);
    if (status.is_ok()) hand_out<bp_space_info>(info, out, out->h.size);
    return status;
  });
}

template <class B> constexpr bp_memory memory_of() {
  static_assert(
      has_allocate<B>,
      "a backend needs bp::Result<bp::Handle> allocate(uint64_t bytes, uint64_t alignment)");
  static_assert(has_release<B>, "a backend needs void release(bp::Handle handle)");
  static_assert(
      has_copy<B>,
      "a backend needs bp::Status copy(bp::Region to, bp::Region from, bp::Direction, bp::Stream)");
  bp_memory table{};
  table.h = {sizeof table, BP_TYPE_MEMORY, nullptr};
  if constexpr (has_allocate<B>)
    table.allocate = Entry<B, &B::allocate, uint64_t, uint64_t>::template result<bp_handle>;
  if constexpr (has_release<B>) table.release = Entry<B, &B::release, bp_handle>::nothing;
  if constexpr (has_copy<B>) {
    table.copy =
        Entry<B, &B::copy, const bp_region*, const bp_region*, uint32_t, bp_stream*>::status;
  }
  if constexpr (has_fill<B>) {
    table.fill = Entry<B, &B::fill, const bp_region*, const void*, uint32_t, bp_stream*>::status;
  }
  static_assert(has_describe_space<B> || !has_allocate_in<B>,
                "several memories: describe_space beside allocate_in");
  if constexpr (has_describe_space<B>) table.describe_space = describe_space<B>;
  if constexpr (has_allocate_in<B>)
    table.allocate_in =
        Entry<B, &B::allocate_in, uint32_t, uint64_t, uint64_t>::template result<bp_handle>;
  return table;
}

template <class B> constexpr bp_queue queue_of() {
  constexpr bool streams = has_create_stream<B>, events = has_create_event<B>;
  static_assert(streams == has_destroy_stream<B> && streams == has_query_stream<B>,
                "streams: create_stream, destroy_stream and query_stream, or none of them");
  static_assert(events == has_destroy_event<B> && events == has_record_event<B> &&
                    events == has_wait_event<B> && events == has_query_event<B> &&
                    events == has_synchronize_event<B>,
                "events: create_event, destroy_event, record_event, wait_event, query_event and "
                "synchronize_event, or none of them");
  bp_queue table{};
  table.h = {sizeof table, BP_TYPE_QUEUE, nullptr};
  table.synchronize = Entry<B, &B::synchronize, bp_stream*>::status;
  if constexpr (streams) {
    table.create_stream = Entry<B, &B::create_stream, int32_t>::template result<bp_stream*>;
    table.destroy_stream = Entry<B, &B::destroy_stream, bp_stream*>::nothing;
    table.query_stream = Entry<B, &B::query_stream, bp_stream*>::status;
  }
  if constexpr (events) {
    table.create_event = Entry<B, &B::create_event>::template result<bp_event*>;
    table.destroy_event = Entry<B, &B::destroy_event, bp_event*>::nothing;
    table.record_event = Entry<B, &B::record_event, bp_event*, bp_stream*>::status;
    table.wait_event = Entry<B, &B::wait_event, bp_stream*, bp_event*>::status;
    table.query_event = Entry<B, &B::query_event, bp_event*>::status;
    table.synchronize_event = Entry<B, &B::synchronize_event, bp_event*>::status;
  }
  if constexpr (has_elapsed<B>) {
    table.elapsed = Entry<B, &B::elapsed, bp_event*, bp_event*>::template result<double>;
  }
  return table;
}

using FillKernels = void (*)(Kernels&);

// The plugin that class B makes. State exists from init to shutdown only.
template <class B> struct PluginOf {
  static bp_code get(const bp_host* host, uint32_t* abi, const bp_plugin** out,
                     FillKernels fill) noexcept {
    if (host == nullptr || abi == nullptr || out == nullptr) return BP_BAD_ARGUMENT;
    if (!BP_HAS(host, bp_host, extension)) return BP_UNSUPPORTED;
    if (serves.exchange(true) && host != the_host)
      return host->set_error(
          host, BP_RETRY,
          "this library serves another host of the process, until that one has shut it down");
    the_host = host;
    const uint32_t level = *abi < BP_ABI_LEVEL ? *abi : BP_ABI_LEVEL;
    if (level == 0 || level < host->abi_min) {
      serves = false;
      return unsupported("%s speaks ABI levels 1 to %u; this host takes %u to %u", B::identity.name,
                         BP_ABI_LEVEL, host->abi_min, host->abi_max)
          .code();
    }
    *abi = plugin.abi = level;
    fill_kernels = fill;
    *out = &plugin;
    return BP_OK;
  }

 private:
  static bp_code init(void*) noexcept {
    return guarded([]() -> Status {
      if constexpr (has_init<B>) {
        if (Status status = B::init(); !status.is_ok()) return status;
      }
      initialized = true;
      kernels = new Kernels;
      fill_kernels(*kernels);
      return kernels->finish(plugin);
    });
  }

  // A host may call it after a probe or init that failed.
  static void shutdown(void*) noexcept {
    plugin.num_kernels = plugin.num_operators = 0;
    delete std::exchange(kernels, nullptr);
    if constexpr (has_shutdown<B>) {
      if (initialized) (void)guarded([] { return B::shutdown(), ok; });
    }
    initialized = serves = false;
  }

  static bp_code devices(void*, uint32_t* count, bp_device_info* infos) noexcept {
    return guarded([=]() -> Status {
      if (infos == nullptr) {
        Result<uint32_t> number = B::num_devices();
        *count = number.value();
        return number.status();
      }
      const uint32_t stride = infos->h.size;  // the host's idea of the struct
      for (uint32_t i = 0; i < *count; ++i) {
        DeviceInfo info = default_info(i);
        if (Status status = B::describe(i, info); !status.is_ok()) return status;
        char* to = reinterpret_cast<char*>(infos) + size_t{i} * stride;
        hand_out<bp_device_info>(info, to, stride);
      }
      return ok;
    });
  }

  static DeviceInfo default_info(uint32_t index) {
    DeviceInfo info{};
    info.set_name(B::identity.name);
    info.dl_device_type = BP_DL_EXT_DEV;
    info.dl_device_id = static_cast<int32_t>(index);
    info.offset_alignment = 64;
    info.numa_node = -1;
    constexpr bool inherited =
        std::is_same_v<decltype(&B::synchronize), Status (Backend::*)(Stream)>;
    if (inherited) info.flags = BP_DEVICE_SYNCHRONOUS;
    return info;
  }

  static bp_code open(void*, uint32_t index, bp_device** out) noexcept {
    return guarded([=]() -> Status {
      B* device;
      if constexpr (std::is_constructible_v<B, uint32_t>)
        device = new B(index);
      else
        device = new B();
      *out = reinterpret_cast<bp_device*>(device);
      return ok;
    });
  }
  static void close(bp_device* device) noexcept { delete reinterpret_cast<B*>(device); }

  static bp_code probe(void*) noexcept {
    return guarded([]() -> Status { return B::probe(); });
  }
  static bp_code quiesce(void*) noexcept {
    return guarded([]() -> Status { return B::quiesce(); });
  }
  static const bp_header* extension(void*, const char* name, uint32_t min_version) noexcept {
    return B::extension(name, min_version);
  }

  static constexpr bool has_devices = !std::is_base_of_v<WithoutDevices, B>;

  static constexpr bp_plugin make() {
    bp_plugin made{};
    made.h = {sizeof made, BP_TYPE_PLUGIN, nullptr};
    made.name = B::identity.name;
    made.vendor = B::identity.vendor;
    made.version = B::identity.version;
    if constexpr (has_probe<B>) made.probe = probe;
    if constexpr (has_quiesce<B>) made.quiesce = quiesce;
    if constexpr (has_extension<B>) made.extension = extension;
    made.init = init;
    made.shutdown = shutdown;
    static_assert(has_devices || has_extension<B>,
                  "a plugin without devices needs static const bp_header* extension(const char* "
                  "name, uint32_t min_version): it is there for what that offers");
    if constexpr (has_devices) {
      made.devices = devices;
      made.open = open;
      made.close = close;
      made.memory = &memory;
      made.queue = &queue;
    }
    return made;
  }

  static constexpr bp_memory memory = memory_of<B>();
  static constexpr bp_queue queue = queue_of<B>();
  static inline FillKernels fill_kernels = nullptr;
  static inline Kernels* kernels = nullptr;
  static inline bool initialized = false;
  static inline std::atomic<bool> serves = false;  // a host, until it has shut the library down
  static inline bp_plugin plugin = make();
};

}  // namespace detail
}  // namespace BP_HIDDEN

// BP_PLUGIN(Acme), or BP_PLUGIN(Acme, pointwise, reductions) with the names that BP_KERNELS gave to at most
// twelve groups. Once in a library, outside namespaces.
#define BP_PLUGIN(...) \
  BP_PLUGIN_PICK(__VA_ARGS__, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, ~)(__VA_ARGS__)

#define BP_PLUGIN_PICK(B, a, b, c, d, e, f, g, h, i, j, l, m, count, ...) BP_PLUGIN_##count
#define BP_PLUGIN_0(B) BP_PLUGIN_MAKE(B, )
#define BP_PLUGIN_1(B, a) BP_EACH_1(BP_DECLARE, a) BP_PLUGIN_MAKE(B, BP_EACH_1(BP_FILL, a))
#define BP_PLUGIN_2(B, a, b) BP_EACH_2(BP_DECLARE, a, b) BP_PLUGIN_MAKE(B, BP_EACH_2(BP_FILL, a, b))
#define BP_PLUGIN_3(B, a, b, c) \
  BP_EACH_3(BP_DECLARE, a, b, c) BP_PLUGIN_MAKE(B, BP_EACH_3(BP_FILL, a, b, c))
#define BP_PLUGIN_4(B, a, b, c, d) \
  BP_EACH_4(BP_DECLARE, a, b, c, d) BP_PLUGIN_MAKE(B, BP_EACH_4(BP_FILL, a, b, c, d))
#define BP_PLUGIN_5(B, a, b, c, d, e) \
  BP_EACH_5(BP_DECLARE, a, b, c, d, e) BP_PLUGIN_MAKE(B, BP_EACH_5(BP_FILL, a, b, c, d, e))
#define BP_PLUGIN_6(B, a, b, c, d, e, f) \
  BP_EACH_6(BP_DECLARE, a, b, c, d, e, f) BP_PLUGIN_MAKE(B, BP_EACH_6(BP_FILL, a, b, c, d, e, f))
#define BP_PLUGIN_7(B, a, b, c, d, e, f, g)  \
  BP_EACH_7(BP_DECLARE, a, b, c, d, e, f, g) \
  BP_PLUGIN_MAKE(B, BP_EACH_7(BP_FILL, a, b, c, d, e, f, g))
#define BP_PLUGIN_8(B, a, b, c, d, e, f, g, h)  \
  BP_EACH_8(BP_DECLARE, a, b, c, d, e, f, g, h) \
  BP_PLUGIN_MAKE(B, BP_EACH_8(BP_FILL, a, b, c, d, e, f, g, h))
#define BP_PLUGIN_9(B, a, b, c, d, e, f, g, h, i)  \
  BP_EACH_9(BP_DECLARE, a, b, c, d, e, f, g, h, i) \
  BP_PLUGIN_MAKE(B, BP_EACH_9(BP_FILL, a, b, c, d, e, f, g, h, i))
#define BP_PLUGIN_10(B, a, b, c, d, e, f, g, h, i, j)  \
  BP_EACH_10(BP_DECLARE, a, b, c, d, e, f, g, h, i, j) \
  BP_PLUGIN_MAKE(B, BP_EACH_10(BP_FILL, a, b, c, d, e, f, g, h, i, j))
#define BP_PLUGIN_11(B, a, b, c, d, e, f, g, h, i, j, l)  \
  BP_EACH_11(BP_DECLARE, a, b, c, d, e, f, g, h, i, j, l) \
  BP_PLUGIN_MAKE(B, BP_EACH_11(BP_FILL, a, b, c, d, e, f, g, h, i, j, l))
#define BP_PLUGIN_12(B, a, b, c, d, e, f, g, h, i, j, l, m)  \
  BP_EACH_12(BP_DECLARE, a, b, c, d, e, f, g, h, i, j, l, m) \
  BP_PLUGIN_MAKE(B, BP_EACH_12(BP_FILL, a, b, c, d, e, f, g, h, i, j, l, m))
#define BP_EACH_1(m, a) m(a)
#define BP_EACH_2(m, a, ...) m(a) BP_EACH_1(m, __VA_ARGS__)
#define BP_EACH_3(m, a, ...) m(a) BP_EACH_2(m, __VA_ARGS__)
#define BP_EACH_4(m, a, ...) m(a) BP_EACH_3(m, __VA_ARGS__)
#define BP_EACH_5(m, a, ...) m(a) BP_EACH_4(m, __VA_ARGS__)
#define BP_EACH_6(m, a, ...) m(a) BP_EACH_5(m, __VA_ARGS__)
#define BP_EACH_7(m, a, ...) m(a) BP_EACH_6(m, __VA_ARGS__)
#define BP_EACH_8(m, a, ...) m(a) BP_EACH_7(m, __VA_ARGS__)
#define BP_EACH_9(m, a, ...) m(a) BP_EACH_8(m, __VA_ARGS__)
#define BP_EACH_10(m, a, ...) m(a) BP_EACH_9(m, __VA_ARGS__)
#define BP_EACH_11(m, a, ...) m(a) BP_EACH_10(m, __VA_ARGS__)
#define BP_EACH_12(m, a, ...) m(a) BP_EACH_11(m, __VA_ARGS__)
#define BP_DECLARE(group) BP_HIDDEN void bp_kernels_##group(bp::plugin::Kernels&);
#define BP_FILL(group) bp_kernels_##group(k);
#define BP_PLUGIN_MAKE(B, fill)                                                              \
  extern "C" BP_EXPORT bp_code BP_ENTRY(const bp_host* host, uint32_t* abi,                  \
                                        const bp_plugin** out) {                             \
    return bp::plugin::detail::PluginOf<B>::get(host, abi, out, [](bp::plugin::Kernels& k) { \
      (void)k;                                                                               \
      fill                                                                                   \
    });                                                                                      \
  }

#endif  // BACKPLANE_PLUGIN_BACKEND_HPP

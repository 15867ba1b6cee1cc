#include "trace_line.hpp"

#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sys/syscall.h>
#include <unistd.h>

#include <backplane/runtime/device_registry.hpp>

#include "trace_file.hpp"

namespace bp::tracing {
namespace {

using Buffer = fmt::memory_buffer;

// How many observed calls are around this one on this thread.
constinit thread_local std::uint32_t depth = 0;

template <class... Args>
void append(Buffer& out, fmt::format_string<Args...> format, Args&&... args) {
  fmt::format_to(std::back_inserter(out), format, std::forward<Args>(args)...);
}

std::string json_text(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void append_list(Buffer& out, IntList list) {
  append(out, "[{}]", fmt::join(list, ","));
}

// JSON has no word for what is not a number.
void append_real(Buffer& out, double real) {
  if (std::isfinite(real))
    append(out, "{}", real);
  else
    append(out, "\"{}\"", real);
}

void append_number(Buffer& out, const bp_value& value) {
  switch (value.tag) {
    case BP_INT: return append(out, "{}", value.u.i);
    case BP_BOOLEAN: return append(out, "{}", value.u.i != 0);
    case BP_DOUBLE: return append_real(out, value.u.f);
    case BP_COMPLEX: {
      auto* parts = static_cast<const double*>(value.u.ptr);
      return append(out, "\"{}{:+}j\"", parts[0], parts[1]);
    }
    case BP_STRING:
      return append(out, "{}", json_text({static_cast<const char*>(value.u.ptr), value.aux}));
    case BP_INT_LIST:
      return append_list(out, {static_cast<const std::int64_t*>(value.u.ptr), value.aux});
    case BP_DOUBLE_LIST: {
      auto* reals = static_cast<const double*>(value.u.ptr);
      append(out, "[");
      for (std::uint32_t i = 0; i < value.aux; ++i) {
        if (i) append(out, ",");
        append_real(out, reals[i]);
      }
      return append(out, "]");
    }
    case BP_DTYPE: return append(out, "\"{}\"", name(static_cast<Dtype>(value.u.i)));
    case BP_DEVICE:
      return append(out, "{}", json_text(device_name({static_cast<std::uint32_t>(value.u.i)})));
    case BP_GENERATOR: {
      auto& generator = *static_cast<const bp_generator*>(value.u.ptr);
      return append(out, "{{\"seed\":{},\"offset\":{}}}", generator.seed, generator.offset);
    }
    default: return append(out, "null");
  }
}

// Shapes, dtypes and, if one of them is not contiguous, strides of some tensors, as "shapes":[...],"dtypes":[...].
class Layouts {
 public:
  void add(const bp_tensor& tensor) {
    const auto rank = static_cast<std::size_t>(tensor.dl.ndim);
    for (Buffer* list : {&shapes_, &dtypes_, &strides_})
      if (list->size()) append(*list, ",");
    append_list(shapes_, {tensor.dl.shape, rank});
    append(dtypes_, "\"{}\"", name(static_cast<Dtype>(tensor.dtype)));
    append_list(strides_, {tensor.dl.strides, rank});
    shows_strides_ |= !(tensor.flags & BP_LAYOUT_CONTIGUOUS);
  }
  void append_to(Buffer& out, std::string_view prefix) const {
    const auto text = [](const Buffer& list) { return std::string_view(list.data(), list.size()); };
    append(out, "\"{0}shapes\":[{1}],\"{0}dtypes\":[{2}]", prefix, text(shapes_), text(dtypes_));
    if (shows_strides_) append(out, ",\"{}strides\":[{}]", prefix, text(strides_));
  }

 private:
  Buffer shapes_, dtypes_, strides_;
  bool shows_strides_ = false;
};

template <class F> void for_each_tensor_of(const bp_value& value, F&& f) {
  if (value.tag == BP_TENSOR) return f(*value.u.tensor);
  if (value.tag != BP_TENSOR_LIST) return;
  auto* elements = static_cast<const bp_tensor* const*>(value.u.ptr);
  for (std::uint32_t i = 0; i < value.aux; ++i)
    if (elements[i]) f(*elements[i]);
}

// The arguments that are not tensors and not None, by name.
void append_values(Buffer& out, const Call& call) {
  append(out, "\"values\":{{");
  const char* comma = "";
  for (std::uint32_t i = 0; i < call.num_args; ++i) {
    const bp_value& value = call.args[i];
    if (value.tag == BP_NONE || value.tag == BP_TENSOR || value.tag == BP_TENSOR_LIST) continue;
    append(out, "{}\"{}\":", comma, call.op.schema->arguments[i].name);
    append_number(out, value);
    comma = ",";
  }
  append(out, "}}");
}

std::int64_t thread_number() {
  static thread_local const std::int64_t number = syscall(SYS_gettid);
  return number;
}

double microseconds(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

}  // namespace

TraceLine::TraceLine(const Call& call) : op_(call.op) {
  Layouts layouts;
  const bp_tensor* first = nullptr;
  for (std::uint32_t i = 0; i < call.num_args; ++i)
    for_each_tensor_of(call.args[i], [&](const bp_tensor& tensor) {
      if (!first) first = &tensor;
      layouts.add(tensor);
    });
  layouts.append_to(arguments_, "");
  append(arguments_, ",");
  append_values(arguments_, call);
  if (call.num_results != 0 && call.results[0].defined()) append(arguments_, ",\"into\":true");
  if (first) device_ = device_name({first->device});
  ++depth;
  start_ = std::chrono::steady_clock::now();
}

TraceLine::~TraceLine() {
  --depth;
}

void TraceLine::succeeded(const Call& call, std::optional<Rung> rung) {
  const auto duration = std::chrono::steady_clock::now() - start_;
  Layouts layouts;
  for (std::uint32_t i = 0; i < call.num_results; ++i) layouts.add(call.results[i].impl()->abi);
  Buffer results;
  layouts.append_to(results, "result_");
  if (call.num_results != 0) device_ = device_name(call.results[0].device());
  const char* without = call.op.infer ? "no kernel needed" : "in parts";
  write(duration, rung ? name(*rung) : without, {results.data(), results.size()});
}

void TraceLine::failed(std::string_view why) {
  write(std::chrono::steady_clock::now() - start_, "error",
        fmt::format("\"error\":{}", json_text(why)));
}

void TraceLine::write(std::chrono::steady_clock::duration duration, std::string_view rung,
                      std::string_view more) {
  Buffer line;
  append(line,
         "{{\"name\":{},\"cat\":\"{}\",\"ph\":\"X\",\"ts\":{:.3f},\"dur\":{:.3f},\"pid\":{},"
         "\"tid\":{},"
         "\"args\":{{\"rung\":\"{}\",\"device\":{},\"depth\":{},{},{}}}}},\n",
         json_text(op_.name()), rung, microseconds(start_.time_since_epoch()),
         microseconds(duration), getpid(), thread_number(), rung, json_text(device_), depth - 1,
         std::string_view(arguments_.data(), arguments_.size()), more);
  write_trace({line.data(), line.size()});
}

}  // namespace bp::tracing

#include <algorithm>
#include <ostream>
#include <vector>

#include <backplane/core_ops/print.hpp>
#include <backplane/loading/loader.hpp>
#include <backplane/runtime/settings.hpp>
#include <backplane/runtime/stream.hpp>
#include <backplane/tensor/storage.hpp>

namespace bp {
namespace {

// A device's bytes in memory of ours, for as long as they are printed.
struct Image : Storage {
  std::vector<unsigned char> memory;
};

// The same tensor over a copy of the bytes that it touches, gaps included: no kernel has to make it
// contiguous first.
Tensor image_of(const Tensor& a, DeviceRecord& record, StreamImpl& stream) {
  const TensorImpl& from = *a.impl();
  const ByteSpan span = touched_bytes(from);
  auto* image = new Image;
  image->refs.store(1, std::memory_order_relaxed);
  image->release = [](Storage* storage) { delete static_cast<Image*>(storage); };
  image->memory.resize(span.end - span.begin + 1);
  image->handle = reinterpret_cast<bp_handle>(image->memory.data());
  image->bytes = span.end - span.begin;
  image->host_readable = true;

  TensorImpl* impl = take_impl();
  impl->abi = from.abi;
  impl->abi.dl.shape = impl->shape;
  impl->abi.dl.strides = impl->strides;
  impl->abi.dl.byte_offset = from.abi.dl.byte_offset - span.begin;
  impl->backend = from.backend;
  impl->keys = 0;
  impl->storage = image;
  std::copy_n(from.shape, a.ndim(), impl->shape);
  std::copy_n(from.strides, a.ndim(), impl->strides);
  Tensor result = Tensor::adopt(impl);
  if (image->bytes > 0) {
    copy_region(record, {image->handle, 0, image->bytes},
                {from.storage->handle, span.begin, image->bytes}, BP_COPY_TO_HOST, stream);
    synchronize_stream(stream);
  }
  return result;
}

Tensor readable(const Tensor& a) {
  if (a.device() == meta_device || a.numel() == 0) return a;
  DeviceRecord& record = device_record(a.device());
  StreamImpl& stream = current_stream_impl(record);
  if (!a.impl()->storage->host_readable) return image_of(a, record, stream);
  synchronize_stream(stream);
  return a;
}

}  // namespace

std::string to_string(const Tensor& a, const PrintOptions& options) {
  if (!a.defined()) return "tensor(undefined)";
  Device host;
  const bool is_usual = find_host_device(host) && a.device() == host;
  return format(readable(a), options, is_usual ? std::string() : device_name(a.device()),
                default_dtype());
}

std::string to_string(const Tensor& a) {
  return to_string(a, print_options());
}

std::ostream& operator<<(std::ostream& stream, const Tensor& a) {
  return stream << to_string(a);
}

}  // namespace bp

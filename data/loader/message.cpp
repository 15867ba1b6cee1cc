#include "loader/message.hpp"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <backplane/autograd/autograd.hpp>
#include <backplane/core_ops/creation.hpp>
#include <backplane/dispatcher/host_device.hpp>
#include <backplane/runtime/allocator.hpp>
#include <backplane/tensor/check.hpp>

namespace bp::data {
namespace {

// From here on a mapping costs less than copying once more.
constexpr std::uint64_t least_shared_bytes = 32 * 1024;
constexpr std::uint64_t tensor_alignment = 64;

enum class Tag : std::uint8_t { none, boolean, integer, real, text, tensor, list, dict };

class ByteWriter {
 public:
  template <class T> void put(T value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void put_text(std::string_view text) {
    put(static_cast<std::uint64_t>(text.size()));
    bytes.append(text);
  }
  std::string bytes;
};

class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}
  template <class T> T get() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::string_view get_text() { return take(get<std::uint64_t>()); }
  std::string_view take(std::uint64_t count) {
    if (count > rest_.size())
      throw_error(ErrorClass::internal, "DataLoader: a worker's message is cut short");
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

std::string with_header(std::string body) {
  const std::uint64_t length = body.size();
  body.insert(0, reinterpret_cast<const char*>(&length), sizeof length);
  return body;
}

// The tensors of a tree, contiguous, and where each begins in the batch's memory.
struct Payload {
  std::vector<Tensor> tensors;
  std::vector<std::uint64_t> offsets;
  std::uint64_t bytes = 0;

  std::uint64_t add(const Tensor& tensor) {
    BP_CHECK(tensor.defined(), "DataLoader: a sample has an undefined tensor");
    BP_CHECK(tensor.device() == host_device(),
             "DataLoader: a worker process made a tensor on a device other than the host; move "
             "batches there after they are loaded");
    bytes = (bytes + tensor_alignment - 1) / tensor_alignment * tensor_alignment;
    offsets.push_back(bytes);
    tensors.push_back(contiguous(detach(tensor)));
    bytes += tensor.nbytes();
    return offsets.back();
  }
};

void put_tree(ByteWriter& out, const State& value, Payload& payload) {
  if (value.is_bool()) {
    out.put(Tag::boolean);
    out.put(value.as_bool());
  } else if (value.is_int()) {
    out.put(Tag::integer);
    out.put(value.as_int());
  } else if (value.is_double()) {
    out.put(Tag::real);
    out.put(value.as_double());
  } else if (value.is_text()) {
    out.put(Tag::text);
    out.put_text(value.as_text());
  } else if (value.is_tensor()) {
    const Tensor& tensor = value.as_tensor();
    out.put(Tag::tensor);
    out.put(payload.add(tensor));
    out.put(static_cast<std::uint8_t>(tensor.dtype()));
    out.put(static_cast<std::uint8_t>(tensor.ndim()));
    for (const std::int64_t size : tensor.shape()) out.put(size);
  } else if (value.is_list()) {
    out.put(Tag::list);
    out.put(static_cast<std::uint64_t>(value.size()));
    for (const State& each : value.as_list()) put_tree(out, each, payload);
  } else if (value.is_dict()) {
    out.put(Tag::dict);
    out.put(static_cast<std::uint64_t>(value.size()));
    for (const auto& [key, each] : value.entries()) {
      out.put_text(key);
      put_tree(out, each, payload);
    }
  } else {
    out.put(Tag::none);
  }
}

// A batch's memory as the parent sees it: part of the message, or mapped.
class Memory {
 public:
  explicit Memory(std::string_view bytes)
      : data_(const_cast<char*>(bytes.data())), size_(bytes.size()) {}
  Memory(const Descriptor& file, std::uint64_t bytes) : size_(bytes), is_mapped_(true) {
    void* at =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file.get(), 0);
    if (at == MAP_FAILED)
      throw_error(ErrorClass::out_of_memory,
                  fmt::format("DataLoader: can't map the {} bytes of a worker's batch: {}", bytes,
                              std::strerror(errno)));
    data_ = static_cast<char*>(at);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() {
    if (is_mapped_) munmap(data_, size_);
  }

  char* data() const { return data_; }
  std::uint64_t size() const { return size_; }
  bool is_mapped() const { return is_mapped_; }

 private:
  char* data_ = nullptr;
  std::uint64_t size_ = 0;
  bool is_mapped_ = false;
};
using MemoryPtr = std::shared_ptr<const Memory>;

Tensor tensor_in(const MemoryPtr& memory, std::uint64_t offset, IntList shape, Dtype dtype) {
  const std::uint64_t bytes =
      static_cast<std::uint64_t>(checked_numel("DataLoader", shape)) * itemsize(dtype);
  if (offset > memory->size() || bytes > memory->size() - offset)
    throw_error(ErrorClass::internal, "DataLoader: a worker's tensor lies outside of its message");
  if (bytes == 0 || !memory->is_mapped()) {
    const Tensor made = empty_tensor(shape, dtype, host_device());
    if (bytes != 0) std::memcpy(made.data_ptr(), memory->data() + offset, bytes);
    return made;
  }
  auto owner = std::make_unique<MemoryPtr>(memory);
  const Tensor made = tensor_from_blob(
      memory->data() + offset, shape, contiguous_strides(shape), dtype, host_device(),
      [](void* context) { delete static_cast<MemoryPtr*>(context); }, owner.get());
  static_cast<void>(owner.release());  // the tensor's, from here on
  return made;
}

State get_tree(ByteReader& in, const MemoryPtr& memory) {
  switch (in.get<Tag>()) {
    case Tag::none: return {};
    case Tag::boolean: return in.get<bool>();
    case Tag::integer: return in.get<std::int64_t>();
    case Tag::real: return in.get<double>();
    case Tag::text: return std::string(in.get_text());
    case Tag::tensor: {
      const auto offset = in.get<std::uint64_t>();
      const auto dtype = in.get<std::uint8_t>();
      Dims shape;
      shape.resize(in.get<std::uint8_t>());
      for (std::int64_t& size : shape) size = in.get<std::int64_t>();
      check_is_dtype("DataLoader", static_cast<Dtype>(dtype));
      return tensor_in(memory, offset, shape, static_cast<Dtype>(dtype));
    }
    case Tag::list: {
      State::List list;
      for (auto left = in.get<std::uint64_t>(); left > 0; --left)
        list.push_back(get_tree(in, memory));
      return list;
    }
    case Tag::dict: {
      State dict = State::dict();
      for (auto left = in.get<std::uint64_t>(); left > 0; --left) {
        std::string key(in.get_text());
        dict.set(std::move(key), get_tree(in, memory));
      }
      return dict;
    }
  }
  throw_error(ErrorClass::internal, "DataLoader: a worker's message has an unknown kind of value");
}

[[noreturn]] void throw_no_shared_memory(std::uint64_t bytes) {
  const int code = errno;
  throw_error(ErrorClass::out_of_memory,
              fmt::format("DataLoader: no shared memory for the {} bytes of a batch: {}{}", bytes,
                          std::strerror(code),
                          code == EMFILE ? "; raise the limit of open files (ulimit -n)" : ""));
}

// Written rather than mapped here: the kernel then need not clear the pages first.
void write_at(const Descriptor& file, std::uint64_t at, std::string_view bytes,
              std::uint64_t all_bytes) {
  while (!bytes.empty()) {
    const ssize_t written = pwrite(file.get(), bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) throw_no_shared_memory(all_bytes);
    bytes.remove_prefix(static_cast<std::size_t>(written));
    at += static_cast<std::uint64_t>(written);
  }
}

// The tensors, and the tree behind them.
Descriptor shared_copy(const Payload& payload, std::string_view tree) {
  const std::uint64_t bytes = payload.bytes + tree.size();
  Descriptor file(memfd_create("backplane-batch", MFD_CLOEXEC));
  if (!file || ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) throw_no_shared_memory(bytes);
  for (std::size_t i = 0; i < payload.tensors.size(); ++i) {
    const Tensor& tensor = payload.tensors[i];
    if (tensor.numel() == 0) continue;
    write_at(file, payload.offsets[i],
             {static_cast<const char*>(tensor.data_ptr()), tensor.nbytes()}, bytes);
  }
  write_at(file, payload.bytes, tree, bytes);
  return file;
}

// Of an error's text, which goes into the frame.
std::string_view beginning_of(std::string_view text) {
  return text.substr(0, 64 * 1024);
}

struct stat facts_of(const Descriptor& file) {
  struct stat facts {};
  if (fstat(file.get(), &facts) != 0)
    throw_error(ErrorClass::internal,
                fmt::format("DataLoader: a batch's shared memory: {}", std::strerror(errno)));
  return facts;
}

// How a result's frame begins, and what it says of its batch.
struct ResultHeader {
  std::optional<std::uint64_t> memory;
  std::uint64_t payload_bytes = 0, tree_bytes = 0;
};

ResultHeader get_result_header(ByteReader& in) {
  ResultHeader header;
  if (in.get<bool>()) header.memory = in.get<std::uint64_t>();
  header.payload_bytes = in.get<std::uint64_t>();
  header.tree_bytes = in.get<std::uint64_t>();
  return header;
}

State batch_of(const ResultHeader& header, std::string_view in_frame, const Descriptor& file) {
  if (!header.memory) {
    ByteReader in(in_frame);
    ByteReader tree(in.take(header.tree_bytes));
    return get_tree(tree, std::make_shared<const Memory>(in.take(header.payload_bytes)));
  }
  if (!file)  // the kernel drops a descriptor for which there is no room
    throw_error(ErrorClass::out_of_memory,
                "DataLoader: the shared memory of a batch did not arrive, since this process has "
                "no free file descriptor; raise the limit of open files (ulimit -n)");
  const std::uint64_t bytes = header.payload_bytes + header.tree_bytes;
  if (static_cast<std::uint64_t>(facts_of(file).st_size) != bytes)
    throw_error(ErrorClass::internal, "DataLoader: a batch's shared memory has another size");
  const auto memory = std::make_shared<const Memory>(file, bytes);
  ByteReader tree({memory->data() + header.payload_bytes, header.tree_bytes});
  return get_tree(tree, memory);
}

}  // namespace

void Descriptor::reset() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

std::string framed_task(const Task& task) {
  ByteWriter out;
  out.put(task.generation);
  out.put(task.epoch);
  out.put(task.batch);
  out.put(static_cast<std::uint64_t>(task.indices.size()));
  for (const std::int64_t index : task.indices) out.put(index);
  return with_header(std::move(out.bytes));
}

Task task_of(std::string_view body) {
  ByteReader in(body);
  Task task;
  task.generation = in.get<std::uint64_t>();
  task.epoch = in.get<std::int64_t>();
  task.batch = in.get<std::int64_t>();
  for (auto left = in.get<std::uint64_t>(); left > 0; --left)
    task.indices.push_back(in.get<std::int64_t>());
  return task;
}

Frame framed_result(const Fetched& result) {
  ByteWriter tree;
  Payload payload;
  put_tree(tree, result.value, payload);
  const std::uint64_t tree_bytes = tree.bytes.size();
  const bool is_shared = payload.bytes + tree_bytes >= least_shared_bytes;

  Frame frame;
  ByteWriter out;
  out.put(is_shared);
  if (is_shared) {
    frame.memory = shared_copy(payload, tree.bytes);
    out.put(number_of(frame.memory));
  }
  out.put(payload.bytes);
  out.put(tree_bytes);
  out.put(result.generation);
  out.put(result.batch);
  out.put(result.at_end);
  out.put(result.failure.has_value());
  if (result.failure) {
    out.put(static_cast<bp_code>(result.failure->error_class));
    out.put(result.failure->index);
    out.put(result.failure->in_init);
    out.put_text(beginning_of(result.failure->type));
    out.put_text(beginning_of(result.failure->text));
  }
  if (!is_shared) {
    out.bytes += tree.bytes;
    const std::size_t begin = out.bytes.size();
    out.bytes.resize(begin + payload.bytes);
    for (std::size_t i = 0; i < payload.tensors.size(); ++i)
      if (payload.tensors[i].numel() > 0)
        std::memcpy(out.bytes.data() + begin + payload.offsets[i], payload.tensors[i].data_ptr(),
                    payload.tensors[i].nbytes());
  }
  frame.bytes = with_header(std::move(out.bytes));
  return frame;
}

std::optional<std::uint64_t> memory_of(std::string_view body) {
  ByteReader in(body);
  return get_result_header(in).memory;
}

std::uint64_t number_of(const Descriptor& memory) {
  return facts_of(memory).st_ino;
}

Fetched result_of(std::string_view body, const Descriptor& file) {
  ByteReader in(body);
  const ResultHeader header = get_result_header(in);
  Fetched result;
  result.generation = in.get<std::uint64_t>();
  result.batch = in.get<std::int64_t>();
  result.at_end = in.get<bool>();
  if (in.get<bool>()) {
    Failure failure;
    failure.error_class = static_cast<ErrorClass>(in.get<bp_code>());
    failure.index = in.get<std::int64_t>();
    failure.in_init = in.get<bool>();
    failure.type = in.get_text();
    failure.text = in.get_text();
    result.failure = std::move(failure);
  }
  try {
    result.value = batch_of(header, in.rest(), file);
  } catch (const Error& error) {
    result.failure = Failure{error.error_class(), -1, false, "bp::Error", error.what()};
  }
  return result;
}

}  // namespace bp::data

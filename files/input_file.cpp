#include <algorithm>
#include <atomic>
#include <exception>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include <backplane/files/file_errors.hpp>
#include <backplane/files/input_file.hpp>

namespace bp::files {
namespace {

constexpr std::uint64_t chunk_bytes = 4 << 20;
constexpr unsigned most_readers = 8;

std::vector<Piece> chunks_of(const std::vector<Piece>& pieces) {
  std::vector<Piece> chunks;
  for (const Piece& piece : pieces)
    for (std::uint64_t at = 0; at < piece.bytes; at += chunk_bytes)
      chunks.push_back({piece.offset + at, static_cast<std::byte*>(piece.target) + at,
                        std::min(chunk_bytes, piece.bytes - at)});
  return chunks;
}

// Takes chunks until there are none, or another reader has failed.
void read_chunks(const InputFile& file, const std::vector<Piece>& chunks,
                 std::atomic<std::size_t>& next, std::exception_ptr& problem) {
  try {
    for (std::size_t i = next++; i < chunks.size(); i = next++)
      file.read(chunks[i].offset, chunks[i].target, chunks[i].bytes);
  } catch (...) {
    problem = std::current_exception();
    next = chunks.size();
  }
}

}  // namespace

Mapping::~Mapping() {
  if (data_) munmap(data_, bytes_);
}

// O_NONBLOCK: opening a pipe without a writer would wait for one.
InputFile::InputFile(const std::filesystem::path& path) : name_(path.string()) {
  check_path(name_);
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) throw_file_error(name_, "can't be opened", errno, "check the path");
  struct stat facts {};
  const bool is_known = fstat(descriptor_, &facts) == 0;
  if (!is_known || !S_ISREG(facts.st_mode)) {
    ::close(descriptor_);
    BP_CHECK(is_known, "{}: can't be examined; check the path", name_);
    BP_CHECK(false, "{}: is not a regular file; pass the path of a file", name_);
  }
  bytes_ = static_cast<std::uint64_t>(facts.st_size);
  written_ = facts.st_mtim;
}

InputFile::~InputFile() {
  ::close(descriptor_);
}

void InputFile::read(std::uint64_t offset, void* target, std::uint64_t bytes) const {
  auto* to = static_cast<std::byte*>(target);
  while (bytes > 0) {
    const ssize_t got = ::pread(descriptor_, to, bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_file_error(name_, "can't be read", errno);
    BP_CHECK(
        got > 0,
        "{}: ends at byte {}, and had {} when it was opened; is another program writing to it?",
        name_, offset, bytes_);
    to += got;
    offset += static_cast<std::uint64_t>(got);
    bytes -= static_cast<std::uint64_t>(got);
  }
}

void InputFile::check_unchanged() const {
  struct stat facts {};
  if (fstat(descriptor_, &facts) != 0) throw_file_error(name_, "can't be examined", errno);
  const bool is_same = static_cast<std::uint64_t>(facts.st_size) == bytes_ &&
                       facts.st_mtim.tv_sec == written_.tv_sec &&
                       facts.st_mtim.tv_nsec == written_.tv_nsec;
  BP_CHECK(is_same,
           "{}: was written to since it was opened: it had {} bytes and has {}; open it again, and "
           "replace it by renaming a new one",
           name_, bytes_, facts.st_size);
}

std::shared_ptr<Mapping> InputFile::map() const {
  if (bytes_ == 0) return std::make_shared<Mapping>(nullptr, 0);
  void* data =
      mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, descriptor_, 0);
  if (data == MAP_FAILED)
    throw_file_error(name_, "can't be mapped", errno,
                     "read a part of it with SafetensorsFile and {.mapped = false}");
  return std::make_shared<Mapping>(static_cast<std::byte*>(data), bytes_);
}

void read_pieces(const InputFile& file, const std::vector<Piece>& pieces) {
  const std::vector<Piece> chunks = chunks_of(pieces);
  const auto num_readers = static_cast<unsigned>(std::min<std::size_t>(
      {most_readers, std::max(1u, std::thread::hardware_concurrency()), (chunks.size() + 1) / 2}));
  std::atomic<std::size_t> next{0};
  std::vector<std::exception_ptr> problems(std::max(num_readers, 1u));
  std::vector<std::thread> readers;
  for (unsigned i = 1; i < num_readers; ++i) {
    try {
      readers.emplace_back([&, i] { read_chunks(file, chunks, next, problems[i]); });
    } catch (const std::system_error&) {
      break;  // fewer threads do as well
    }
  }
  read_chunks(file, chunks, next, problems[0]);
  for (std::thread& reader : readers) reader.join();
  for (const std::exception_ptr& problem : problems)
    if (problem) std::rethrow_exception(problem);
}

}  // namespace bp::files

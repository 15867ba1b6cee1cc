#include "codegen/nvrtc.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <mutex>
#include <thread>
#include <utility>

namespace bp::test {
namespace {

// Of nvrtc.h, which a machine without the toolkit lacks.
struct Nvrtc {
  using Program = void*;
  int (*create)(Program*, const char*, const char*, int, const char* const*, const char* const*);
  int (*compile)(Program, int, const char* const*);
  int (*log_size)(Program, std::size_t*);
  int (*log)(Program, char*);
  int (*destroy)(Program*);
  bool is_there = false;

  Nvrtc() {
    void* library = open();
    if (!library) return;
    const auto load = [&](const char* name, auto& function) {
      function =
          reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      return function != nullptr;
    };
    is_there = load("nvrtcCreateProgram", create) && load("nvrtcCompileProgram", compile) &&
               load("nvrtcGetProgramLogSize", log_size) && load("nvrtcGetProgramLog", log) &&
               load("nvrtcDestroyProgram", destroy);
  }

 private:
  static void* open() {
    std::vector<std::string> places = {"/usr/local/cuda/lib64/"};
    for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
      if (const char* folder = std::getenv(variable))
        places.insert(places.begin(), fmt::format("{}/lib64/", folder));
    places.emplace_back();
    for (const std::string& place : places)
      for (const char* file : {"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12"})
        if (void* library = dlopen((place + file).c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    return nullptr;
  }
};

const Nvrtc& nvrtc() {
  static const Nvrtc loaded;
  return loaded;
}

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != text.npos; at += by.size())
    text.replace(at, what.size(), by);
}

// Ends the macros of a text.
std::string undefine(std::string_view text) {
  constexpr std::string_view define = "#define ";
  std::string lines;
  for (std::size_t at = 0; (at = text.find(define, at)) != text.npos;) {
    at += define.size();
    lines += fmt::format("#undef {}\n", text.substr(at, text.find_first_of(" (\n", at) - at));
  }
  return lines;
}

// Several kernels in one program, each in a namespace, where no two names meet.
std::string join(std::span<const codegen::GeneratedSource> sources) {
  std::string joined;
  int number = 0;
  for (const codegen::GeneratedSource& source : sources) {
    std::string text = source.text;
    replace_all(text, "extern \"C\" __global__", "__global__");
    joined += fmt::format("namespace k{} {{\n{}}}\n{}", number++, text, undefine(text));
  }
  return joined;
}

constexpr std::size_t together = 16;  // more do not compile faster

}  // namespace

std::string nvrtc_is_missing() {
  return nvrtc().is_there ? "" : "NVRTC is not on this machine (it comes with the CUDA toolkit)";
}

std::string nvrtc_log(const std::string& source, const std::string& architecture) {
  const Nvrtc& api = nvrtc();
  Nvrtc::Program program = nullptr;
  if (api.create(&program, source.c_str(), "kernel.cu", 0, nullptr, nullptr) != 0)
    return "no program";
  const std::string target = "--gpu-architecture=" + architecture;
  const char* options[] = {target.c_str(), "--std=c++17"};
  const int code = api.compile(program, 2, options);
  std::string text;
  if (code != 0) {
    std::size_t bytes = 0;
    api.log_size(program, &bytes);
    text.resize(bytes);
    api.log(program, text.data());
    text += fmt::format("(error {})", code);
  }
  api.destroy(&program);
  return text;
}

void expect_nvrtc_takes(std::span<const codegen::GeneratedSource> sources,
                        const std::string& architecture) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;  // of the failures
  const auto work = [&] {
    for (std::size_t first; (first = next.fetch_add(together)) < sources.size();) {
      const auto some = sources.subspan(first, std::min(together, sources.size() - first));
      const std::string log = nvrtc_log(join(some), architecture);
      if (log.empty()) continue;
      bool found = false;
      for (const codegen::GeneratedSource& source : some) {
        const std::string alone = nvrtc_log(source.text, architecture);
        if (alone.empty()) continue;
        found = true;
        const std::lock_guard lock(mutex);
        ADD_FAILURE() << source.name << ":\n" << alone << "\n" << source.text;
      }
      const std::lock_guard lock(mutex);
      if (!found) ADD_FAILURE() << "only together:\n" << log;
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < std::max(1u, std::thread::hardware_concurrency()); ++i)
    threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace bp::test

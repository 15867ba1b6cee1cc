// Calls are made in forked children, which may crash; what each is about to call stands in shared memory.
#include "bad_calls.hpp"

#include <csignal>
#include <cstring>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <backplane/samples/row_facts.hpp>
#include <backplane/samples/samples.hpp>

#include "values.hpp"

namespace bp::test {
namespace {

struct TypedCall {
  const char* name;
  void (*call)(Values& values);
};
constexpr TypedCall typed_calls[] = {
#include "typed_calls.inc"
};

// What a child tells its parent, however it ends.
struct Told {
  std::uint32_t next;         // the number of the call after the present one
  std::uint32_t num_refused;  // calls that ended in an error
  char call[4000];            // the present call
  char fault[4000];           // why it is wrong; empty while nothing is
};
Told* told = nullptr;

void tell(char (&where)[4000], const std::string& text) {
  const std::size_t size = std::min(text.size(), sizeof where - 1);
  std::memcpy(where, text.data(), size);
  where[size] = 0;
}

void tell_call(const std::string& text) {
  tell(told->call, fmt::format("{}({})", told->call, text));
}

// The row that a public function belongs to: add of add_ and add_out.
std::string_view row_name(std::string_view function) {
  if (function.ends_with("_out")) function.remove_suffix(4);
  return function;
}

bool begins_with_name(std::string_view text, std::string_view name) {
  return text.starts_with(name) && text.substr(name.size()).starts_with(": ");
}

// Calls, and says what is wrong with how it ended.
template <class F> void judge(std::string_view name, const F& call) {
  try {
    call();
    return;
  } catch (const Error& error) {
    ++told->num_refused;
    const std::string_view text = error.what();
    std::string_view in_place = name;
    if (name.ends_with("_")) in_place.remove_suffix(1);
    if (begins_with_name(text, name) || begins_with_name(text, in_place)) return;
    tell(told->fault, fmt::format("the error does not begin with its name: {}", text));
  } catch (const std::exception& error) {
    tell(told->fault, fmt::format("not a bp::Error: {} ({})", error.what(), typeid(error).name()));
  }
}

void call_typed(std::uint32_t number, Values& values) {
  const TypedCall& typed = typed_calls[number % std::size(typed_calls)];
  tell(told->call, typed.name);
  values.before_call = tell_call;
  judge(row_name(typed.name), [&] { typed.call(values); });
}

std::vector<std::string_view> names_of_rows() {
  std::vector<std::string_view> names;
  for (const RowFacts& facts : row_facts()) names.push_back(facts.name);
  return names;
}

// A row by its name alone, as a binding calls it, with as many values as it pleases.
void call_by_name(std::uint32_t number, Values& values) {
  static const std::vector<std::string_view> names = names_of_rows();
  const std::string_view name = names[number % names.size()];
  tell(told->call, std::string(name));
  std::vector<bp_value> args;
  const std::uint32_t count = values.below(7);
  for (std::uint32_t i = 0; i < count; ++i)
    args.push_back(values.value(values.once_in(2) ? ArgumentType::tensor
                                                  : static_cast<ArgumentType>(values.below(11))));
  tell_call(values.text);
  judge(name, [&] { static_cast<void>(call_boxed(*find_operator(name), args)); });
}

// Rows that the layer of derivatives takes apart itself, before anything below has looked at the call.
std::vector<std::string_view> names_of_rows_taken_apart() {
  std::vector<std::string_view> names = names_of_rows();
  std::erase_if(names, [](std::string_view name) {
    const Operator& op = *find_operator(name);
    return op.has_gradient || !op.decompose || !op.infer;
  });
  return names;
}

// A good call of which an argument or two are replaced, or some left out.
void call_sample(Operator& op, Values& values, Device device, bool is_recorded) {
  tell(told->call, op.name());
  const auto drawn = static_cast<Dtype>(values.below(num_dtypes));
  const Dtype dtype = contains(op.dtypes, drawn) ? drawn : contains(op.dtypes, f32) ? f32 : i64;
  const std::vector<Sample> samples =
      samples_of(op, dtype, values.once_in(4) ? meta_device : device, 0);
  if (samples.empty()) return;
  const Sample* sample = &samples[values.below(static_cast<std::uint32_t>(samples.size()))];
  if (sample->recipe == "several_tiles") sample = &samples.front();
  std::vector<bp_value> args = sample->args;
  const auto& arguments = op.schema->arguments;
  for (std::size_t i = args.size(); i < arguments.size(); ++i)
    args.push_back(arguments[i].default_value);
  values.text = fmt::format("{} of {}", sample->recipe, name(dtype));
  const bool is_resized = values.once_in(4);
  if (is_resized) values.resize(args);
  const std::uint32_t num_changes = values.below(2) + (is_resized ? 0 : 1);
  for (std::uint32_t i = 0; i < num_changes && !args.empty(); ++i) {
    const std::uint32_t place = values.below(static_cast<std::uint32_t>(args.size()));
    values.text += fmt::format(", {}:", arguments[place].name);
    args[place] = args[place].tag == BP_TENSOR && values.once_in(2)
                      ? values.near(Tensor::share(TensorImpl::of(args[place].u.tensor)))
                      : values.value(arguments[place].type);
  }
  if (values.once_in(20)) args.resize(values.below(static_cast<std::uint32_t>(args.size() + 1)));
  if (values.once_in(30)) args.push_back(values.value(ArgumentType::scalar));
  if (is_recorded) values.record(args);
  tell_call(values.text);
  judge(op.name(), [&] { static_cast<void>(call_boxed(op, args)); });
}

// What a device finds while it works, as an index out of range, comes out here.
void wait_for(Device device) {
  try {
    synchronize(device);
  } catch (const Error& error) {
    if (!error.is_late())
      tell(told->fault, fmt::format("while the device works: {}", error.what()));
  }
}

void check_next_call(Device device) {
  if (told->fault[0]) return;
  try {
    wait_for(device);
    if (device == meta_device) {
      const Tensor sum = add(empty({2, 1}, f32, device), empty({3}, f32, device));
      if (sum.shape() == IntList{2, 3}) return;
    } else {
      const Tensor one = tensor({1.0f, 2.0f}, {.device = device});
      if (to_vector<float>(add(one, one)) == std::vector<float>{2, 4}) return;
    }
    tell(told->fault, "the next good call gives something else");
  } catch (const std::exception& error) {
    tell(told->fault, fmt::format("the next good call fails: {}", error.what()));
  }
}

// What asks for too much is to be refused, not to be given.
void limit_memory() {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  const rlimit limit{std::uint64_t{6} << 30, std::uint64_t{6} << 30};
  setrlimit(RLIMIT_AS, &limit);
#endif
}

// One call, in a process that has made none.
void call_cold(std::uint32_t number) {
  Values values(number, {});
  if (values.once_in(2))
    call_typed(number / 2, values);
  else
    call_by_name(number / 2, values);
  check_next_call(meta_device);
}

template <auto names_of> Operator& row_of(std::uint32_t number) {
  static const std::vector<std::string_view> names = names_of();
  return *find_operator(names[number % names.size()]);
}

void call_warm(std::uint32_t number, const std::vector<Device>& devices) {
  Values values(number, devices);
  if (values.once_in(3))
    call_typed(number, values);
  else
    call_sample(row_of<names_of_rows>(number), values, devices.front(), false);
  check_next_call(devices.front());
}

void call_recorded(std::uint32_t number, Device device) {
  Values values(number, {device});
  call_sample(row_of<names_of_rows_taken_apart>(number), values, device, true);
  check_next_call(device);
}

// All sizes of all samples of a row, until one call is wrong.
void call_without_elements(std::uint32_t number, Device device) {
  Operator& op = *find_operator(names_of_rows()[number]);
  const Dtype dtype = contains(op.dtypes, f32)   ? f32
                      : contains(op.dtypes, i64) ? i64
                                                 : Dtype::boolean;
  for (const Sample& sample : samples_of(op, dtype, device)) {
    if (sample.recipe == "several_tiles") continue;
    for (std::size_t place = 0; place < sample.args.size(); ++place) {
      if (sample.args[place].tag != BP_TENSOR) continue;
      const Tensor good = Tensor::share(TensorImpl::of(sample.args[place].u.tensor));
      for (std::int64_t dim = 0; dim < good.ndim(); ++dim) {
        Values values(number, {device});
        Dims shape(good.shape());
        shape[dim] = 0;
        std::vector<bp_value> args = sample.args;
        args[place] = values.resized(good, shape);
        tell(told->call, fmt::format("{}({}, {}: {})", op.name(), sample.recipe,
                                     op.schema->arguments[place].name, to_string(shape)));
        judge(op.name(), [&] { static_cast<void>(call_boxed(op, args)); });
        if (told->fault[0]) return;
      }
    }
  }
  check_next_call(device);
}

// Calls by their numbers until one is wrong, or all up to `end` are made.
template <class F> [[noreturn]] void make_calls(std::uint32_t end, const F& call) {
  try {
    limit_memory();
    while (told->next != end && !told->fault[0]) {
      const std::uint32_t number = told->next++;
      told->call[0] = 0;
      alarm(20);
      call(number);
    }
  } catch (const std::exception& error) {
    tell(told->fault, fmt::format("this test's own fault: {}", error.what()));
  }
  _exit(0);
}

std::string end_of(int status) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return told->fault;
  if (WIFEXITED(status)) return fmt::format("the process ends with {}", WEXITSTATUS(status));
  return WTERMSIG(status) == SIGALRM ? "hangs"
                                     : fmt::format("crashes: {}", strsignal(WTERMSIG(status)));
}

// `in_child` makes calls in a new process, again and again until the one before `end` is made.
template <class F> void watch_calls(std::uint32_t first, std::uint32_t end, const F& in_child) {
  void* shared =
      mmap(nullptr, sizeof(Told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  told = new (shared) Told{};
  told->next = first;
  for (std::uint32_t num_faults = 0; told->next != end && num_faults < 40;) {
    told->fault[0] = 0;
    const pid_t child = fork();
    if (child == 0) in_child();
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    const std::string fault = end_of(status);
    if (fault.empty()) continue;
    ++num_faults;
    ADD_FAILURE() << "call " << told->next - 1 << ", " << told->call << ": " << fault;
  }
  // Were they mostly good ones, they would show little.
  EXPECT_GT(told->num_refused, (end - first) / 3);
  munmap(shared, sizeof(Told));
}

}  // namespace

void make_cold_calls(std::uint32_t first, std::uint32_t count) {
  watch_calls(first, first + count, [] { make_calls(told->next + 1, call_cold); });
}

void make_warm_calls(const char* name, std::uint32_t first, std::uint32_t count) {
  watch_calls(first, first + count, [&] {
    const std::vector<Device> devices{device(name)};
    make_calls(first + count, [&](std::uint32_t number) { call_warm(number, devices); });
  });
}

void make_recorded_calls(const char* name, std::uint32_t first, std::uint32_t count) {
  watch_calls(first, first + count, [&] {
    const Device on = device(name);
    make_calls(first + count, [&](std::uint32_t number) { call_recorded(number, on); });
  });
}

void make_calls_without_elements(const char* name) {
  const auto end = static_cast<std::uint32_t>(row_facts().size());
  watch_calls(0, end, [&] {
    const Device on = device(name);
    make_calls(end, [&](std::uint32_t number) { call_without_elements(number, on); });
  });
}

}  // namespace bp::test

// needs: cpu reference reference_primitives
// Memory of one stream that work on another one uses, with no word from the application: its next owner waits for both.
#include <functional>
#include <gtest/gtest.h>

#include <backplane/capture/capture.hpp>
#include <backplane/dispatcher/chain.hpp>
#include <backplane/dispatcher/operator_source.hpp>
#include <backplane/extensions/peer.h>
#include <backplane/runtime/interop.hpp>
#include <backplane/samples/row_facts.hpp>
#include <backplane/samples/samples.hpp>

#include "core_ops/written.hpp"
#include "dispatcher/held_stream.hpp"
#include "dispatcher/side_stream_stress.hpp"

namespace bp::test {
namespace {

Device far() {
  return device("reference_primitives:0");
}

// Who gets memory next, on the default stream: tensors of some sizes, which are full of a byte of their own.
class NextOwners {
 public:
  void add(std::uint64_t bytes) {
    for (int i = 0; i < 3; ++i) {
      tensors_.push_back(empty_tensor({static_cast<std::int64_t>(bytes)}, u8, far()));
      fill_(tensors_.back(), 0x5A);
    }
  }
  bool are_untouched() const {
    for (const Tensor& tensor : tensors_)
      for (const std::uint8_t byte : values<std::uint8_t>(tensor))
        if (byte != 0x5A) return false;
    return true;
  }

 private:
  std::vector<Tensor> tensors_;
};

std::vector<unsigned char> bytes_of(const Tensor& tensor) {
  std::vector<unsigned char> bytes(tensor.nbytes());
  copy_to_host_memory(tensor, bytes.data());
  return bytes;
}

// `call` runs on a stream that is held, and by its end nobody holds what it was given but that stream's work. Others get
// the memory and write it; then the stream is let go. Returns what is wrong.
std::string wrong_after(std::vector<Tensor> given,
                        const std::function<std::vector<Tensor>(std::vector<Tensor>&)>& call,
                        const std::vector<std::vector<unsigned char>>& expected) {
  std::vector<std::uint64_t> sizes;
  for (const Tensor& tensor : given) sizes.push_back(tensor.impl()->storage->bytes);
  synchronize(far());
  HeldStream side(far());
  std::vector<Tensor> results;
  {
    const StreamGuard guard(side.stream());
    results = call(given);
  }
  given.clear();
  NextOwners next;
  for (const std::uint64_t bytes : sizes)
    if (bytes != 0) next.add(bytes);
  Stream::default_of(far()).synchronize();
  side.let_go();
  if (!next.are_untouched()) return "it wrote into memory that was another tensor's by then";
  for (std::size_t i = 0; i < results.size(); ++i)
    if (results[i].defined() && bytes_of(results[i]) != expected[i])
      return "it read memory that was another tensor's by then";
  return {};
}

// ---- Every row of the table ----

// Without those whose call itself waits for values, as one_hot does to find its number of classes, index and index_put to find
// what a mask names, linalg_lstsq to find whether there are residuals, and linalg_eig since the host computes it, and those
// that give others at the next call: numbers drawn, and memory as it was.
std::vector<const Operator*> rows() {
  ensure_operators();
  std::vector<const Operator*> found;
  for (const Operator* op : registered_operators()) {
    const RowFacts* facts = find_row_facts(op->name());
    if (!facts || (op->flags & BP_OP_SHAPE_DATA)) continue;
    const std::string_view name = facts->name;
    if (name == "one_hot" || name == "index" || name == "index_put" || name == "linalg_eigvals" ||
        name == "linalg_eig" || name == "linalg_lstsq")
      continue;
    if (op->draws != Draws::always && !facts->is(Trait::undetermined)) found.push_back(op);
  }
  return found;
}

class RowOnASideStream : public testing::TestWithParam<const Operator*> {};

TEST_P(RowOnASideStream, keeps_its_arguments_until_it_is_done) {
  Operator& op = *find_operator(GetParam()->name());
  const Dtype dtype = usual_dtype_of(op);
  std::vector<Sample> samples = samples_of(op, dtype, far());
  std::vector<Sample> twins = samples_of(op, dtype, far());  // a call may write into its arguments
  for (std::size_t i = 0; i < samples.size(); ++i) {
    Sample& sample = samples[i];
    SCOPED_TRACE(sample.recipe);
    std::vector<std::vector<unsigned char>> expected;
    for (const Tensor& result : call_for_all(op, twins[i].args))
      expected.push_back(result.defined() ? bytes_of(result) : std::vector<unsigned char>());
    std::vector<Tensor> tensors = std::move(sample.tensors);
    EXPECT_EQ(wrong_after(
                  std::move(tensors),
                  [&](std::vector<Tensor>& given) {
                    std::vector<Tensor> results = call_for_all(op, sample.args);
                    given.clear();
                    return results;
                  },
                  expected),
              "");
  }
}

INSTANTIATE_TEST_SUITE_P(all, RowOnASideStream, testing::ValuesIn(rows()),
                         [](const testing::TestParamInfo<const Operator*>& each) {
                           return std::string(each.param->name());
                         });

// ---- Every way to give a tensor to a stream ----

struct Way {
  const char* name;
  std::function<std::vector<Tensor>(std::vector<Tensor>&)>
      call;  // of two tensors of shape {6, 4} in f32
};

std::vector<Tensor> called(Operator& op, const std::vector<Tensor>& tensors) {
  std::vector<bp_value> args;
  for (const Tensor& tensor : tensors) args.push_back(value_of(tensor));
  return {call_pointwise(op, args.data(), static_cast<std::uint32_t>(args.size()))};
}

using Tensors = std::vector<Tensor>;

std::vector<Way> calls_of_rows() {
  return {
      {"a call", [](Tensors& t) { return Tensors{add(t[0], t[1])}; }},
      {"a call with a number", [](Tensors& t) { return Tensors{mul(t[0], 3)}; }},
      {"of several dtypes", [](Tensors& t) { return Tensors{add(t[0], to(t[1], f64))}; }},
      {"broadcast", [](Tensors& t) { return Tensors{add(t[0], select(t[1], 0, 2))}; }},
      {"a view", [](Tensors& t) { return Tensors{neg(transpose(slice(t[0], 0, 1, 5), 0, 1))}; }},
      {"out=", [](Tensors& t) { return Tensors{clone(add_out(t[0], t[1], t[1]))}; }},
      {"out= of another dtype",
       [](Tensors& t) { return Tensors{clone(add_out(t[0], to(t[1], f16), to(t[1], f16)))}; }},
      {"in place", [](Tensors& t) { return Tensors{clone(add_(t[0], t[1]))}; }},
      {"written and never read",
       [](Tensors& t) {
         mul_(t[0], 2);
         add_out(t[1], t[1], t[1]);
         return Tensors{};
       }},
      {"a view written",
       [](Tensors& t) {
         mul_(select(t[0], 0, 1), 2);
         return Tensors{clone(t[0])};
       }},
      {"a fill",
       [](Tensors& t) {
         fill_(t[0], 7);
         fill_(transpose(t[1], 0, 1), 8);
         return Tensors{clone(t[0]), clone(t[1])};
       }},
      {"a copy from it",
       [](Tensors& t) {
         const Tensor copy = empty_tensor({6, 4}, f32, far());
         copy_into(copy, t[0]);
         return Tensors{copy};
       }},
      {"a copy to it",
       [](Tensors& t) {
         copy_into(t[0], full({6, 4}, 4, f32, far()));
         return Tensors{};
       }},
      {"a copy between strides",
       [](Tensors& t) {
         return Tensors{copy_(t[0], flip(t[1], {0})), clone(t[1])};
       }},
      {"made contiguous", [](Tensors& t) { return Tensors{contiguous(transpose(t[0], 0, 1))}; }},
      {"a list",
       [](Tensors& t) {
         return Tensors{cat({t[0], t[1], t[0]}, 1)};
       }},
      {"what is decomposed",
       [](Tensors& t) {
         return Tensors{softmax(t[0], 1), layer_norm(t[0], {4}), var(t[1], {0})};
       }},
      {"in 16 bits", [](Tensors& t) { return Tensors{softmax(to(t[0], bf16), 1)}; }},
      {"a matrix product", [](Tensors& t) { return Tensors{matmul(t[0], transpose(t[1], 0, 1))}; }},
      {"a chain",
       [](Tensors& t) {
         static const Chain op = join(
             {{ChainStep{find_operator("mul"), {ChainInput::argument(0), ChainInput::argument(1)}},
               ChainStep{find_operator("tanh"), {ChainInput::step(0)}}}});
         return called(*op, t);
       }},
  };
}

std::vector<Way> other_ways() {
  return {
      {"a boxed call",
       [](Tensors& t) {
         return call_boxed("sub", {value_of(t[0]), value_of(t[1])});
       }},
      {"an operator of the application's",
       [](Tensors& t) {
         static Operator& op = register_custom_operator(
             "side_streams::twice(Tensor input) -> Tensor",
             {nullptr, [](const Call& call) {
                const Tensor a = Tensor::share(TensorImpl::of(call.args[0].u.tensor));
                call.results[0] = add(a, a);
              }});
         return called(op, {t[0]});
       }},
      {"a kernel of the application's",
       [](Tensors& t) {
         static Operator& op = [&]() -> Operator& {
           Operator& made =
               register_custom_operator("side_streams::copied(Tensor input) -> Tensor");
           register_application_kernel(
               made, *find_backend("reference_primitives"),
               [](const Call& call) {
                 const TensorImpl &from = *TensorImpl::of(call.args[0].u.tensor),
                                  &to = *call.results[0].impl();
                 DeviceRecord& record = device_record(far());
                 copy_region(record, {to.storage->handle, to.abi.dl.byte_offset, 96},
                             {from.storage->handle, from.abi.dl.byte_offset, 96}, BP_COPY_WITHIN,
                             current_stream_impl(record));
               },
               set_of(f32), BP_LAYOUT_CONTIGUOUS);
           return made;
         }();
         return call_boxed(op, std::vector<bp_value>{value_of(t[0])});
       }},
      {"a record for autograd",
       [](Tensors& t) {
         set_requires_grad(t[0]);
         const Tensor loss = sum(mul(exp(t[0]), t[1]));
         autograd::backward({loss});
         return Tensors{detach(loss), grad(t[0])};
       }},
      {"a replay",
       [](Tensors& t) {
         Tensor result;
         Recording graph = capture(far(), [&] { result = add(mul(t[0], t[1]), t[0]); });
         graph.replay();
         return Tensors{clone(result)};
       }},
      {"a replay of what writes",
       [](Tensors& t) {
         Recording graph = capture(far(), [&] { mul_(t[0], t[1]); });
         graph.replay();
         graph.replay();
         return Tensors{clone(t[0])};
       }},
  };
}

std::vector<Tensor> two_given() {
  return {add(counted({6, 4}, far()), 1), mul(counted({6, 4}, far()), 0.125)};
}

TEST(SideStreams, every_way_to_use_a_tensor_keeps_its_memory) {
  std::vector<Way> ways = calls_of_rows();
  for (Way& way : other_ways()) ways.push_back(std::move(way));
  for (const Way& way : ways) {
    SCOPED_TRACE(way.name);
    std::vector<Tensor> given = two_given();
    std::vector<std::vector<unsigned char>> expected;
    for (const Tensor& result : way.call(given)) expected.push_back(bytes_of(result));
    EXPECT_EQ(wrong_after(two_given(), way.call, expected), "");
  }
}

TEST(SideStreams, the_other_direction_is_kept_as_well) {
  const Stream side(far());
  std::vector<Tensor> given;
  {
    const StreamGuard guard(side);
    given = two_given();
  }
  side.synchronize();
  const std::vector<unsigned char> expected = bytes_of(add(given[0], given[1]));
  synchronize(far());
  // This time it is a third one that is held, and the first that writes.
  HeldStream held(far());
  Tensor result;
  {
    const StreamGuard guard(held.stream());
    result = add(given[0], given[1]);
  }
  given.clear();
  {
    const StreamGuard guard(side);
    for (int i = 0; i < 4; ++i) fill_(empty_tensor({6, 4}, f32, far()), 9);
    side.synchronize();
  }
  held.let_go();
  EXPECT_EQ(bytes_of(result), expected);
}

TEST(SideStreams, memory_comes_back_once_they_have_passed) {
  const Stream side(far());
  const auto round = [&] {
    const Tensor a = full({50000}, 1, f32, far());
    Event made(far());
    made.record(Stream::current(far()));
    made.wait(side);
    const StreamGuard guard(side);
    const Tensor b = add(a, 1);
    side.synchronize();
  };
  for (int i = 0; i < 3; ++i) round();
  const std::uint64_t reserved = memory_statistics(far()).reserved_bytes;
  for (int i = 0; i < 50; ++i) round();
  EXPECT_EQ(memory_statistics(far()).reserved_bytes, reserved);
  EXPECT_LE(memory_statistics(far()).allocated_bytes, reserved);
}

TEST(SideStreams, an_applications_memory_is_given_back_when_they_are_done) {
  const Device on = device("reference");
  std::atomic<int> num_deleted{0};
  const auto note = [](void* count) { ++*static_cast<std::atomic<int>*>(count); };
  const Tensor block = counted({6, 4}, on);
  const Storage& storage = *block.impl()->storage;
  Tensor over = tensor_from_memory({{}, storage.handle}, storage.offset, {6, 4}, {4, 1}, f32, on,
                                   note, &num_deleted);
  HeldStream side(on);
  Tensor copy;
  {
    const StreamGuard guard(side.stream());
    copy = empty_tensor({6, 4}, f32, on);
    copy_into(copy, over);
  }
  over = {};  // returns at once, though the stream is held
  Stream::default_of(on).synchronize();
  EXPECT_EQ(num_deleted, 0);
  side.let_go();
  EXPECT_EQ(num_deleted, 1);
  expect_same(copy, counted({6, 4}, on));
}

TEST(SideStreams, a_tensor_of_many_streams_waits_for_all_of_them) {
  for (int last = 0; last < 3; ++last) {
    Tensor a = counted({6, 4}, far());
    const std::vector<float> expected = values(add(a, 1));
    synchronize(far());
    std::vector<std::unique_ptr<HeldStream>> sides;
    std::vector<Tensor> results;
    for (int i = 0; i < 3; ++i) {
      sides.push_back(std::make_unique<HeldStream>(far()));
      const StreamGuard guard(sides.back()->stream());
      results.push_back(add(a, 1));
    }
    a = {};
    for (int i = 0; i < 3; ++i)
      if (i != last) sides[static_cast<std::size_t>(i)]->let_go();
    NextOwners next;
    next.add(96);
    Stream::default_of(far()).synchronize();
    sides[static_cast<std::size_t>(last)]->let_go();
    for (const Tensor& result : results) EXPECT_EQ(values(result), expected);
    EXPECT_TRUE(next.are_untouched());
  }
}

// ---- Many at once ----

TEST(SideStreams, four_threads_on_five_devices_find_what_they_computed) {
  SideStreamStress stress({{device("cpu")},
                           {device("reference:0"), true},
                           {device("reference:1"), true},
                           {device("reference_primitives:0")},
                           {device("reference_primitives:1")}});
  EXPECT_EQ(stress.run(4, 3000), 0);
}

}  // namespace
}  // namespace bp::test

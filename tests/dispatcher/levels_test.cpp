// needs: cpu reference
// Layers that run at levels, proved by three toy layers: one counts all calls, one tags tensors, and one wraps them so that
// only it can compute with them, as vmap and jvp do.
#include <backplane/dispatcher/level.hpp>
#include <backplane/dispatcher/transfer.hpp>

#include "autograd/tensors.hpp"

namespace bp::test {
namespace {

using testing::HasSubstr;

constexpr auto counting = static_cast<Layer>(43), tagging = static_cast<Layer>(46),
               wrapping = static_cast<Layer>(50);

// What levels' handlers did, in order. Each thread has its own.
thread_local std::vector<std::string> log;

struct Work {
  std::string name;
  int num_calls = 0;
};

Work& work_of(const Level* level) {
  return *static_cast<Work*>(level->state());
}

void count(const Call& call, const Level* level) {
  ++work_of(level).num_calls;
  log.push_back(work_of(level).name + " " + call.op.name());
  dispatch(call);
}

// How many calls of this level a tensor went through.
struct Tag : LayerData {
  Tag(std::uint64_t key, int depth) : LayerData(key), depth(depth) {}
  int depth;
};

int depth_of(const Level& level, const Tensor& tensor) {
  const LayerData* data = level.data_of(tensor);
  return data ? static_cast<const Tag*>(data)->depth : 0;
}

void set_depth(const Level& level, const Tensor& tensor, int depth) {
  set_layer_data(*tensor.impl(), std::make_unique<Tag>(level.key(), depth));
}

Tensor argument(const Call& call, std::uint32_t i) {
  return call.args[i].tag == BP_TENSOR ? Tensor::share(TensorImpl::of(call.args[i].u.tensor))
                                       : Tensor();
}

void tag(const Call& call, const Level* level) {
  int depth = 0;
  for (std::uint32_t i = 0; i < call.num_args; ++i)
    if (const Tensor a = argument(call, i); a.defined())
      depth = std::max(depth, depth_of(*level, a));
  log.push_back(work_of(level).name + " " + call.op.name());
  dispatch(call);
  set_depth(*level, call.results[0], depth + 1);
}

struct Wrapped : LayerData {
  Wrapped(std::uint64_t key, Tensor inside) : LayerData(key), inside(std::move(inside)) {}
  bool is_opaque() const override { return true; }
  Tensor inside;
};

// A tensor of the same shape whose own memory is NaN, so that computing with it is noticed.
Tensor wrap(const Level& level, const Tensor& inside) {
  const ExcludeLayers plain(~0ull << static_cast<unsigned>(Layer::autograd));
  const Tensor shell = full(inside.shape(), std::nan(""), inside.dtype(), inside.device());
  set_layer_data(*shell.impl(), std::make_unique<Wrapped>(level.key(), inside));
  return shell;
}

Tensor unwrap(const Level& level, const Tensor& tensor) {
  const LayerData* data = level.data_of(tensor);
  return data ? static_cast<const Wrapped*>(data)->inside : tensor;
}

void call_inside(const Call& call, const Level* level) {
  log.push_back(work_of(level).name + " " + call.op.name());
  std::vector<Tensor> kept;
  for (std::uint32_t i = 0; i < call.num_args; ++i)
    if (const Tensor a = argument(call, i); a.defined()) {
      kept.push_back(unwrap(*level, a));
      call.args[i] = value_of(kept.back());
    }
  Tensor inside = call.results[0].defined() ? unwrap(*level, call.results[0]) : Tensor();
  const bool writes = inside.defined();
  dispatch(Call{call.op, call.args, call.num_args, &inside, 1});
  if (!writes) call.results[0] = wrap(*level, inside);
}

Tensor move_inside(const Tensor& tensor, MemoryPlace place, const Level* level) {
  log.push_back(work_of(level).name + " to");
  return wrap(*level, to_place(unwrap(*level, tensor), place));
}

void fail(const Call&, const Level*) {
  throw std::runtime_error("the layer failed");
}

class Levels : public testing::Test {
 protected:
  void SetUp() override {
    log.clear();
    set_layer_fallback(counting, count);
    set_layer_fallback(tagging, tag);
    set_layer_fallback(wrapping, call_inside);
    set_layer_transfer(wrapping, move_inside);
  }
  void TearDown() override {
    EXPECT_EQ(active_level(), nullptr);
    EXPECT_EQ(thread_state().included_layers & leveled_layers, 0u);
    EXPECT_EQ(thread_state().excluded_layers, 0u);
    for (Layer layer : {counting, tagging, wrapping}) {
      set_layer_fallback(layer, nullptr);
      set_layer_handler(*find_operator("add"), layer, nullptr);
    }
    set_layer_transfer(wrapping, nullptr);
  }
  const Tensor a = tensor(Values{1, 2}), b = tensor(Values{10, 20});
  Work outer_work{"outer"}, inner_work{"inner"};
};

TEST_F(Levels, take_calls_with_tensors_of_theirs_alone) {
  const Level outer(tagging, &outer_work);
  add(a, b);
  EXPECT_THAT(log, ElementsAre());
  EXPECT_EQ(thread_state().included_layers & leveled_layers, 0u);  // others' calls stay short
  set_depth(outer, a, 1);
  const Tensor sum = add(a, b);
  EXPECT_THAT(log, ElementsAre("outer add"));
  EXPECT_EQ(depth_of(outer, mul(sum, b)), 3);
  EXPECT_EQ(values_of(sum), (Values{11, 22}));
}

TEST_F(Levels, of_all_calls_see_those_of_the_levels_above_them) {
  const Level outer(counting, &outer_work, Sees::all);
  {
    const Level inner(counting, &inner_work, Sees::all);
    EXPECT_EQ(values_of(add(a, b)), (Values{11, 22}));
    EXPECT_EQ(log[0], "inner add");
    EXPECT_EQ(log[1], "outer add");
  }
  const int before = inner_work.num_calls;
  EXPECT_EQ(outer_work.num_calls, before);
  mul(a, b);
  EXPECT_EQ(outer_work.num_calls, before + 1);
  EXPECT_EQ(inner_work.num_calls, before);
}

TEST_F(Levels, of_one_layer_nest_and_the_highest_goes_first) {
  const Level outer(wrapping, &outer_work);
  const Tensor x = wrap(outer, a);
  Tensor sum;
  {
    const Level inner(wrapping, &inner_work);
    const Tensor both = wrap(inner, x);
    sum = unwrap(inner, add(mul(both, b), x));
    EXPECT_THAT(log, ElementsAre("inner mul", "outer mul", "inner add", "outer add"));
    log.clear();
    add(x, b);
    EXPECT_THAT(log, ElementsAre("outer add"));
  }
  EXPECT_EQ(values_of(unwrap(outer, sum)), (Values{11, 42}));
}

TEST_F(Levels, of_different_layers_nest_in_the_order_of_their_beginnings) {
  for (const bool tags_inside : {false, true}) {
    log.clear();
    Work tags{"tags"}, wraps{"wraps"};
    const Level outer(tags_inside ? wrapping : tagging, tags_inside ? &wraps : &tags);
    const Level inner(tags_inside ? tagging : wrapping, tags_inside ? &tags : &wraps);
    const Level &tag_level = tags_inside ? inner : outer, &wrap_level = tags_inside ? outer : inner;
    const Tensor plain = tensor(Values{1, 2});
    if (!tags_inside) set_depth(tag_level, plain, 1);
    const Tensor x = wrap(wrap_level, plain);
    if (tags_inside) set_depth(tag_level, x, 1);
    const Tensor sum = add(x, b);
    if (tags_inside) {
      EXPECT_THAT(log, ElementsAre("tags add", "wraps add"));
      EXPECT_EQ(depth_of(tag_level, sum), 2);
    } else {
      EXPECT_THAT(log, ElementsAre("wraps add", "tags add"));
      EXPECT_EQ(depth_of(tag_level, unwrap(wrap_level, sum)), 2);
    }
    EXPECT_EQ(values_of(unwrap(wrap_level, sum)), (Values{11, 22}));
  }
}

TEST_F(Levels, keep_their_data_beside_autograds) {
  const Level outer(tagging, &outer_work), inner(tagging, &inner_work);
  for (const bool tagged_first : {false, true}) {
    const Tensor x = tensor(Values{3, 4});
    if (!tagged_first) set_requires_grad(x);
    set_depth(outer, x, 5);
    set_depth(inner, x, 7);
    if (tagged_first) set_requires_grad(x);
    const Tensor y = mul(x, b);
    EXPECT_EQ(depth_of(outer, y), 6);
    EXPECT_EQ(depth_of(inner, y), 8);
    EXPECT_TRUE(requires_grad(y));
    backward(sum(y));
    EXPECT_EQ(values_of(grad(x)), (Values{10, 20}));
    set_requires_grad(x, false);
    EXPECT_FALSE(requires_grad(x));
    EXPECT_EQ(depth_of(outer, x), 5);
    drop_layer_data(*x.impl(), outer.key());
    EXPECT_EQ(depth_of(inner, x), 7);
    EXPECT_EQ(depth_of(outer, x), 0);
    drop_layer_data(*x.impl(), inner.key());
    EXPECT_EQ(x.impl()->keys, 0u);
  }
}

TEST_F(Levels, let_autograd_record_what_happens_inside) {
  const Level outer(wrapping, &outer_work);
  const Tensor x = leaf({3, 4});
  const Tensor y = mul(wrap(outer, x), b);
  EXPECT_FALSE(requires_grad(y));
  backward(sum(unwrap(outer, y)));
  EXPECT_EQ(values_of(grad(x)), (Values{10, 20}));
}

TEST_F(Levels, take_views_writes_and_transfers) {
  const Level outer(wrapping, &outer_work);
  const Tensor x = wrap(outer, a);
  add_(x, b);
  EXPECT_EQ(values_of(a), (Values{11, 22}));
  EXPECT_EQ(values_of(unwrap(outer, select(x, 0, 1))), Values{22});
  const Tensor moved = to(x, device("reference:0"));
  EXPECT_EQ(unwrap(outer, moved).device(), device("reference:0"));
  EXPECT_THAT(log, ElementsAre("outer add", "outer select", "outer to"));
}

TEST_F(Levels, see_what_norms_do_to_running_statistics) {
  const Tensor x = rand({2, 3, 4}, f64);
  const auto means_after = [&](const std::function<Tensor(const Tensor&)>& given) {
    const Tensor means = zeros({3}, f64), variances = ones({3}, f64);
    instance_norm(x, {}, {}, given(means), given(variances));
    return values_of(means);
  };
  const Values expected = means_after([](const Tensor& a) { return a; });
  const Level outer(wrapping, &outer_work);
  EXPECT_EQ(means_after([&](const Tensor& a) { return wrap(outer, a); }), expected);
  EXPECT_NE(expected, (Values{0, 0, 0}));
}

TEST_F(Levels, are_left_by_exceptions) {
  set_layer_handler(*find_operator("add"), wrapping, fail);
  const Level outer(counting, &outer_work, Sees::all);
  const Level* before = active_level();
  const auto fails = [&] {
    const Level inner(wrapping, &inner_work);
    add(wrap(inner, a), b);
  };
  EXPECT_THAT(sentence_of(fails), HasSubstr("the layer failed"));
  EXPECT_EQ(active_level(), before);
  const Level inner(wrapping, &inner_work);
  const Tensor x = wrap(inner, a);
  EXPECT_THAT(sentence_of([&] { add(x, b); }), HasSubstr("the layer failed"));
  EXPECT_EQ(active_level(), &inner);
  EXPECT_EQ(thread_state().excluded_layers, 0u);
  log.clear();
  EXPECT_EQ(values_of(unwrap(inner, mul(x, b))), (Values{10, 40}));
  EXPECT_THAT(log[0], "inner mul");
}

TEST_F(Levels, pass_an_operator_that_their_layer_does_not_handle) {
  set_layer_fallback(tagging, nullptr);
  set_layer_handler(*find_operator("mul"), tagging, tag);
  const Level outer(tagging, &outer_work);
  set_depth(outer, a, 1);
  EXPECT_EQ(depth_of(outer, add(a, b)), 0);
  EXPECT_EQ(depth_of(outer, mul(a, b)), 2);
  set_layer_handler(*find_operator("mul"), tagging, nullptr);
}

TEST_F(Levels, that_ended_leave_no_tensor_to_compute_with_by_mistake) {
  Tensor wrapped, tagged = tensor(Values{5, 6});
  {
    const Level ended(wrapping, &inner_work), also(tagging, &inner_work);
    wrapped = wrap(ended, a);
    set_depth(also, tagged, 1);
  }
  const Level other(wrapping, &outer_work), tags(tagging, &outer_work);
  EXPECT_THAT(sentence_of([&] { add(b, wrapped); }),
              HasSubstr("add: 'other' belongs to a level of layer 50 that is not active here"));
  EXPECT_THAT(sentence_of([&] { add_out(wrapped, a, b); }), HasSubstr("the output belongs to"));
  EXPECT_THAT(sentence_of([&] { to(wrapped, device("reference:0")); }),
              HasSubstr("to: the tensor"));
  EXPECT_EQ(values_of(add(tagged, b)), (Values{15, 26}));
  EXPECT_THAT(log, ElementsAre());
}

TEST_F(Levels, belong_to_their_thread) {
  const Level outer(wrapping, &outer_work), all(counting, &inner_work, Sees::all);
  const Tensor x = wrap(outer, a);
  log.clear();
  std::vector<std::string> theirs;
  std::string sentence;
  std::thread([&] {
    EXPECT_EQ(active_level(), nullptr);
    sentence = sentence_of([&] { add(x, b); });
    const Level own(wrapping, &inner_work);
    EXPECT_GT(own.number(), all.number());
    EXPECT_EQ(values_of(unwrap(own, add(wrap(own, a), b))), (Values{11, 22}));
    theirs = log;
  }).join();
  EXPECT_THAT(sentence, HasSubstr("is not active here"));
  EXPECT_THAT(theirs, ElementsAre("inner add"));
  EXPECT_THAT(log, ElementsAre());
}

TEST_F(Levels, have_their_place_between_profile_and_autocast) {
  EXPECT_THAT(sentence_of([] { const Level level(Layer::autograd); }),
              HasSubstr("layer 32 does not run at levels; take a number between 40 and 56"));
  EXPECT_EQ(active_level(), nullptr);
  set_layer_fallback(Layer::profile, [](const Call& call, const Level*) {
    log.push_back(std::string("profile ") + call.op.name());
    redispatch_below(Layer::profile, call);
  });
  {
    const Level outer(wrapping, &outer_work);
    const Tensor x = wrap(outer, a);
    log.clear();
    const IncludeLayers profiled(key_of(Layer::profile));
    add(x, b);
  }
  set_layer_fallback(Layer::profile, nullptr);
  EXPECT_THAT(log, ElementsAre("profile add", "outer add"));
}

TEST_F(Levels, hide_what_their_handlers_call_from_the_layers_above) {
  set_layer_handler(*find_operator("mul"), Layer::profile, [](const Call& call, const Level*) {
    log.push_back("profile mul");
    redispatch_below(Layer::profile, call);
  });
  set_layer_handler(*find_operator("add"), tagging, [](const Call& call, const Level*) {
    call.results[0] = mul(argument(call, 0), argument(call, 1));
  });
  {
    const Level outer(tagging, &outer_work);
    set_depth(outer, a, 1);
    const IncludeLayers profiled(key_of(Layer::profile));
    EXPECT_EQ(values_of(add(a, b)), (Values{10, 40}));
    EXPECT_THAT(log, ElementsAre());
    EXPECT_EQ(values_of(mul(a, b)), (Values{10, 40}));
    EXPECT_THAT(log, ElementsAre("profile mul", "outer mul"));
  }
  set_layer_handler(*find_operator("mul"), Layer::profile, nullptr);
}

TEST_F(Levels, are_not_asked_where_their_layer_is_excluded) {
  const Level outer(tagging, &outer_work);
  set_depth(outer, a, 1);
  const ExcludeLayers excluded(key_of(tagging));
  EXPECT_EQ(depth_of(outer, add(a, b)), 0);
}

}  // namespace
}  // namespace bp::test

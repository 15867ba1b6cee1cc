// A plugin's operator whose arguments were renamed keeps the hash under which kernels know it.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <backplane/dispatcher/call.hpp>
#include <backplane/dispatcher/custom.hpp>
#include <backplane/dispatcher/named.hpp>
#include <backplane/dispatcher/operator_source.hpp>
#include <backplane/dispatcher/registry.hpp>

#include "runtime/fake_plugin.hpp"

namespace bp {
namespace {

using testing::HasSubstr;

int num_runs = 0;

// Brings one operator, and a kernel for it that was written against `known`.
struct Maker : test::FakePlugin {
  bp_custom_operator declared{};
  const bp_custom_operator* operators[1] = {&declared};
  bp_kernel kernel{};
  bp_arg places[4]{};

  explicit Maker(const char* schema, const char* first = nullptr) {
    ensure_operators();
    declared.h = {sizeof declared, BP_TYPE_CUSTOM_OPERATOR, nullptr};
    declared.schema = schema;
    declared.first_schema = first;
    plugin.operators = operators;
    plugin.num_operators = 1;
    for (bp_arg& place : places) place.layouts = BP_LAYOUT_STRIDED;
    kernel.h = {sizeof kernel, BP_TYPE_KERNEL, nullptr};
    kernel.args = places;
    kernel.num_args = 3;
    kernel.run = [](void*, const bp_call*) { return ++num_runs, bp_code{BP_OK}; };
  }
  void knows(const char* op, const char* schema) {
    kernel.op = op;
    kernel.schema_hash = schema_hash(schema);
  }
  std::string refusal() {
    return test::text_of([&] { register_plugin_operators(plugin); });
  }
};

TEST(RenamedOperator, serves_kernels_that_know_its_first_names) {
  constexpr const char* first = "acme::blend(Tensor a, Tensor b, float t=0.5) -> Tensor";
  constexpr const char* now = "acme::blend(Tensor input, Tensor other, float weight=0.5) -> Tensor";
  Maker maker(now, first);
  maker.knows("acme::blend", first);
  const bp_kernel* kernels[] = {&maker.kernel};
  Backend& backend = register_backend(maker.plugin, maker.host, "");
  register_plugin_operators(maker.plugin);
  register_kernels(backend, kernels, 1);
  const Operator& op = *find_operator("acme::blend");
  EXPECT_EQ(op.schema->text, now);
  EXPECT_EQ(op.schema->hash, schema_hash(first));
  EXPECT_EQ(op.abi.schema_hash, schema_hash(first));
  {
    const Tensor x = empty_tensor({3}, f32, backend.devices[0]->device);
    num_runs = 0;
    call_boxed("acme::blend", {value_of(x), value_of(x)});
    EXPECT_EQ(num_runs, 1);
    EXPECT_EQ(op.schema->find("other"), 1);
    EXPECT_EQ(op.schema->find("b"), -1);
  }
  forget_plugin_operators(maker.plugin);
  unregister_kernels(backend.number);
  unregister_backend(backend);
}

TEST(RenamedOperator, is_told_from_one_that_is_another) {
  const auto refusal = [](const char* schema, const char* first) {
    return Maker(schema, first).refusal();
  };
  constexpr const char* now = "acme::other(Tensor input, float by=1.0) -> Tensor";
  for (const char* first :
       {"acme::other(Tensor a) -> Tensor", "acme::other(Tensor a, int by=1) -> Tensor",
        "acme::other(Tensor a, float by=2.0) -> Tensor",
        "acme::other(Tensor a, float by) -> Tensor",
        "acme::other(Tensor a, *, float by=1.0) -> Tensor",
        "acme::other(Tensor? a, float by=1.0) -> Tensor",
        "acme::thing(Tensor a, float by=1.0) -> Tensor",
        "acme::other(Tensor a, float by=1.0) -> Tensor[]",
        "acme::other(Tensor a, float by=1.0) -> (Tensor x, Tensor y)"})
    EXPECT_EQ(refusal(now, first),
              fmt::format("acme: operator 0: first_schema is '{}', which differs from '{}' in more "
                          "than names of arguments and results; give the new one another name",
                          first, now));
  EXPECT_THAT(refusal(now, "acme::other(Tensor"), HasSubstr("acme: operator 0: "));
  EXPECT_EQ(find_operator("acme::other"), nullptr) << "nothing came of any";
}

TEST(RenamedOperator, that_is_there_already_keeps_its_first_names) {
  constexpr const char* now = "acme::kept(Tensor input) -> Tensor";
  constexpr const char* first = "acme::kept(Tensor a) -> Tensor";
  Maker maker(now, first), forgetful(now);
  register_plugin_operators(maker.plugin);
  EXPECT_EQ(forgetful.refusal(),
            "acme: the operator 'acme::kept' exists already, and was first published as "
            "'acme::kept(Tensor a) -> Tensor'; give that as its first_schema");
  Maker again(now, first);
  EXPECT_NO_THROW(register_plugin_operators(again.plugin));
  forget_plugin_operators(again.plugin);
  forget_plugin_operators(maker.plugin);
}

// Of a plugin that was built before the field came.
TEST(RenamedOperator, is_not_looked_for_behind_the_end_of_a_struct) {
  Maker maker("acme::short(Tensor input) -> Tensor", "acme::long(Tensor input) -> Tensor");
  maker.declared.h.size = offsetof(bp_custom_operator, first_schema);
  EXPECT_NO_THROW(register_plugin_operators(maker.plugin));
  EXPECT_EQ(find_operator("acme::short")->schema->hash,
            schema_hash("acme::short(Tensor input) -> Tensor"));
  forget_plugin_operators(maker.plugin);
}

}  // namespace
}  // namespace bp

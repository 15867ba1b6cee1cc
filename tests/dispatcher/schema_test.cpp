#include <gmock/gmock.h>

#include <backplane/dispatcher/schema.hpp>
#include <backplane/tensor/error.hpp>

namespace {

std::string error_in(std::string_view text) {
  bp::Schema schema;
  try {
    bp::parse_schema(text, schema);
  } catch (const bp::Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Schema, reads_names_types_and_defaults) {
  bp::Schema schema;
  bp::parse_schema("add(Tensor input, Tensor other, *, Scalar alpha=1) -> Tensor", schema);
  EXPECT_EQ(schema.name, "add");
  ASSERT_EQ(schema.arguments.size(), 3u);
  EXPECT_EQ(schema.arguments[1].name, "other");
  EXPECT_FALSE(schema.arguments[1].keyword_only);
  EXPECT_TRUE(schema.arguments[2].keyword_only);
  EXPECT_EQ(schema.arguments[2].type, bp::ArgumentType::scalar);
  EXPECT_EQ(schema.arguments[2].default_value.tag, BP_INT);
  EXPECT_EQ(schema.arguments[2].default_value.u.i, 1);
  ASSERT_EQ(schema.returns.size(), 1u);
}

TEST(Schema, reads_every_type) {
  bp::Schema schema;
  bp::parse_schema(
      "f(Tensor a, Tensor? b, Tensor[] c, Scalar d, int e, int[] f, float g, float[] h, bool i, "
      "str j, Dtype k, Device? l=None) -> (Tensor values, Tensor indices)",
      schema);
  ASSERT_EQ(schema.arguments.size(), 12u);
  EXPECT_TRUE(schema.arguments[1].optional);
  EXPECT_EQ(schema.arguments[2].type, bp::ArgumentType::tensor_list);
  EXPECT_EQ(schema.arguments[11].type, bp::ArgumentType::device);
  ASSERT_EQ(schema.returns.size(), 2u);
  EXPECT_EQ(schema.returns[1].name, "indices");
}

TEST(Schema, reads_defaults_of_every_kind) {
  bp::Schema schema;
  bp::parse_schema(
      "f(int a=-1, float b=0.5, bool c=True, str d='none', int[] e=[1, -2], int[]? f=None) -> "
      "Tensor",
      schema);
  EXPECT_EQ(schema.arguments[0].default_value.u.i, -1);
  EXPECT_EQ(schema.arguments[1].default_value.u.f, 0.5);
  EXPECT_EQ(schema.arguments[2].default_value.tag, BP_BOOLEAN);
  const bp_value& text = schema.arguments[3].default_value;
  EXPECT_EQ(std::string(static_cast<const char*>(text.u.ptr), text.aux), "none");
  const bp_value& list = schema.arguments[4].default_value;
  ASSERT_EQ(list.aux, 2u);
  EXPECT_EQ(static_cast<const std::int64_t*>(list.u.ptr)[1], -2);
  EXPECT_EQ(schema.arguments[5].default_value.tag, BP_NONE);
  EXPECT_TRUE(schema.arguments[5].has_default);
}

TEST(Schema, hashes_as_fnv_1a) {
  EXPECT_EQ(bp::schema_hash(""), 0xcbf29ce484222325ull);
  EXPECT_EQ(bp::schema_hash("a"), 0xaf63dc4c8601ec8cull);
}

TEST(Schema, quotes_text_and_column_of_a_mistake) {
  EXPECT_EQ(error_in("add(Tensor a"),
            "schema 'add(Tensor a': expected ')' at column 13; write it like 'name(Tensor "
            "input, *, Scalar alpha=1) -> Tensor'");
  for (const char* bad : {"",
                          "add",
                          "add(",
                          "add()",
                          "add() ->",
                          "add() -> int",
                          "add(Tensr a) -> Tensor",
                          "add(Tensor a, Tensor a) -> Tensor",
                          "add(Tensor a=) -> Tensor",
                          "add(int a=x) -> Tensor",
                          "add(int[] a=[1,x]) -> Tensor",
                          "add(*, *, int a) -> Tensor",
                          "add(Tensor a) -> Tensor more",
                          "add(int a=None) -> Tensor",
                          "f(Tensor?[] a) -> Tensor?[]",
                          "f(int?[] a) -> Tensor",
                          "f(Generator[] a) -> Tensor",
                          "f() -> Generator",
                          "f() -> (Tensor[], Tensor)",
                          "f() -> (Tensor[], Tensor[])"})
    EXPECT_NE(error_in(bad), "no error") << bad;
  std::string many = "f() -> (Tensor";
  for (int i = 1; i < 64; ++i) many += ", Tensor";
  EXPECT_EQ(error_in(many + ")"), "no error");
  EXPECT_THAT(error_in(many + ", Tensor)"), testing::HasSubstr("more than 64 results"));
  EXPECT_THAT(error_in("f() -> (Tensor[], Tensor)"),
              testing::HasSubstr("a result after a Tensor[], which must be the last"));
}

}  // namespace

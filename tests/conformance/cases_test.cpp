// needs: cpu
// Names of cases, and which cases there are.
#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <set>

#include <backplane/dispatcher/operator_source.hpp>
#include <backplane/dispatcher/registry.hpp>
#include <backplane/samples/row_facts.hpp>
#include <backplane/tensor/error.hpp>

#include "cases/axes.hpp"
#include "cases/derive.hpp"
#include "inputs/problem.hpp"
#include "inputs/values.hpp"

namespace bp::conform {
namespace {

Subject nobody() {
  Subject subject;
  subject.device = "nobody:0";
  return subject;
}

std::vector<Case> cases_of(Profile profile, std::vector<std::string> filters = {}) {
  Selection selection;
  selection.profile = profile;
  selection.filters = std::move(filters);
  return derive_cases(nobody(), selection);
}

TEST(cases, a_name_reads_back_as_the_same_case) {
  for (const Case& one : cases_of(Profile::quick)) {
    const std::string name = name_of(one);
    const Case again = read_case(name);
    EXPECT_EQ(name_of(again), name);
    EXPECT_EQ(again.level, one.level) << name;
    EXPECT_EQ(again.family, one.family) << name;
  }
}

TEST(cases, a_broken_name_is_refused_with_a_reason) {
  const std::pair<const char*, const char*> broken[] = {
      {"matmul", "lane"},
      {"core:matmul[f99]/m1k1n1/plain/normal/call@1", "f99"},
      {"core:matmul[f32]/m1k1n1/plain/normal@1", "form"},
      {"core:matmul[f32]/m1k1n1/plain/normal/call", "seed"},
      {"core:matmul[f32]/m1k1n1/plain/normal/call@x", "seed"},
      {"sideways:matmul[f32]/m1k1n1/plain/normal/call@1", "sideways"},
      {"core:matmul/m1k1n1/plain/normal/call@1", "brackets"}};
  for (const auto& [name, word] : broken) {
    try {
      read_case(name);
      ADD_FAILURE() << name;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
    }
  }
}

TEST(cases, every_row_has_each_dtype_with_each_class_of_layout) {
  std::map<std::string, std::set<std::string>> seen;
  for (const Case& one : cases_of(Profile::normal))
    seen[one.op].insert(std::string(short_name(one.dtype)) + " " + one.layouts);
  for (const RowFacts& facts : row_facts()) {
    const Operator& op = *find_operator(facts.name);
    const Axes axes = axes_of(op, Profile::normal);
    ASSERT_FALSE(axes.shapes.empty()) << facts.name;
    for (const Dtype dtype : axes.dtypes)
      for (const std::string& layout : axes.layouts) {
        const bool is_made_plain = layout == "own" && !axes.shapes[0].starts_with("sample:");
        EXPECT_TRUE(seen[facts.name].contains(std::string(short_name(dtype)) + " " +
                                              (is_made_plain ? "plain" : layout)))
            << facts.name << " " << short_name(dtype) << " " << layout;
      }
  }
}

TEST(cases, all_of_them_can_be_made) {
  for (const Case& one : cases_of(Profile::normal)) {
    if (one.lane == Lane::probe) continue;  // they have no problem: see probes_test.cpp
    try {
      make_problem(one);
    } catch (const Error& error) {
      ADD_FAILURE() << name_of(one) << ": " << error.what();
    }
  }
}

TEST(cases, large_shapes_reach_past_16_bits_in_each_dimension_that_a_row_names) {
  std::set<std::string> seen;
  for (const Case& one : cases_of(Profile::normal)) seen.insert(one.op + " " + one.shape);
  int patterns = 0;
  for (const RowFacts& facts : row_facts())
    for (std::string pattern : split_text(facts.large, ' ')) {
      if (pattern.find('N') == pattern.npos) continue;
      for (std::size_t at; (at = pattern.find('N')) != pattern.npos;)
        pattern.replace(at, 1, "66001");
      EXPECT_TRUE(seen.contains(std::string(facts.name) + " " + pattern)) << pattern;
      ++patterns;
    }
  EXPECT_GT(patterns, 150);
}

// Where there is a kernel, sizes between those at which kernels change their way are there too.
TEST(cases, a_kernel_gets_each_step_of_the_sizes) {
  Subject subject = nobody();
  DeclaredKernel kernel;
  kernel.op = "exp";
  subject.kernels.push_back(kernel);
  Selection selection;
  selection.filters = {"exp"};
  std::set<std::string> shapes;
  for (const Case& one : derive_cases(subject, selection)) shapes.insert(one.shape);
  for (const char* shape :
       {"s192", "s777", "s1536", "s3001", "s6400", "s20001", "s40000", "s66001"})
    EXPECT_TRUE(shapes.contains(shape)) << shape;
}

TEST(cases, what_decides_comes_in_every_dtype) {
  std::set<std::string> names;
  for (const Case& one : cases_of(Profile::normal)) names.insert(name_of(one));
  for (const char* name :
       {"core:add[f16]/s16x16/plain/specials/call@1", "core:add[f32]/s16x16/plain/specials/call@1",
        "core:exp[f64]/s257/plain/fading/call@1",
        "core:sum[bf16]/s2x3001:dim=1/plain/normal/call@1",
        "core:cast[i64]/s257:dtype=f32/plain/midpoints/call@1",
        "core:pow[f32]/s16x16/plain/powers/call@1",
        "core:cat[u8]/s1x2^17:dim=0/plain/normal/call@1",
        "core:matmul[f16]/m128k64n130/plain/exact/call@1",
        "core:copy[u8]/s65x66/transpose/normal/call@1"})
    EXPECT_TRUE(names.contains(name)) << name;
}

TEST(cases, what_decides_comes_in_no_other_dtype) {
  std::set<std::string> names;
  for (const Case& one : cases_of(Profile::normal)) names.insert(name_of(one));
  for (const char* name : {"core:cat[f64]/s1x2^17:dim=0/plain/normal/call@1",
                           "core:matmul[f64]/m128k64n130/plain/exact/call@1",
                           "core:exp[i64]/s257/plain/fading/call@1"})
    EXPECT_FALSE(names.contains(name)) << name;
}

TEST(cases, the_same_selection_gives_the_same_list) {
  EXPECT_EQ(digest_of(cases_of(Profile::quick)), digest_of(cases_of(Profile::quick)));
  EXPECT_NE(digest_of(cases_of(Profile::quick)), digest_of(cases_of(Profile::quick, {"add"})));
  EXPECT_EQ(digest_of({}), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(cases, shards_are_the_whole_without_overlap) {
  Selection selection;
  selection.profile = Profile::quick;
  std::set<std::string> all, parts;
  for (const Case& one : derive_cases(nobody(), selection)) all.insert(name_of(one));
  std::size_t count = 0;
  selection.num_shards = 3;
  for (selection.shard = 0; selection.shard < 3; ++selection.shard)
    for (const Case& one : derive_cases(nobody(), selection)) {
      parts.insert(name_of(one));
      ++count;
    }
  EXPECT_EQ(parts, all);
  EXPECT_EQ(count, all.size());
}

TEST(cases, a_filter_that_matches_nothing_is_an_error_that_quotes_it) {
  try {
    cases_of(Profile::quick, {"no_such_row*"});
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("no_such_row*"), std::string::npos) << error.what();
  }
}

TEST(cases, filters_are_globs_over_rows_and_whole_names) {
  for (const Case& one : cases_of(Profile::quick, {"soft*"}))
    EXPECT_TRUE(one.op.starts_with("soft")) << one.op;
  for (const Case& one : cases_of(Profile::quick, {"core:add[f16]*"})) {
    EXPECT_EQ(one.op, "add");
    EXPECT_EQ(one.dtype, f16);
  }
}

TEST(cases, a_quick_run_spares_the_devices_compiler) {
  Subject compiling = nobody();
  compiling.compiles = true;
  Selection quick;
  quick.profile = Profile::quick;
  std::map<std::string, std::set<Dtype>> of_row;
  std::set<Dtype> all;
  for (const Case& one : derive_cases(compiling, quick)) {
    if (one.lane == Lane::probe || one.form == "error" || one.form == "grad") continue;
    of_row[one.op].insert(one.dtype);
    all.insert(one.dtype);
  }
  EXPECT_EQ(of_row.size(), row_facts().size());
  for (const auto& [row, dtypes] : of_row) EXPECT_LE(dtypes.size(), 4u) << row;
  for (const Case& one : cases_of(Profile::quick)) {
    if (one.lane == Lane::probe) continue;
    EXPECT_TRUE(all.contains(one.dtype)) << name_of(one);
  }
}

TEST(cover, all_pairs_of_all_axes_come_up) {
  const std::vector<int> sizes = {4, 7, 3, 5};
  const auto rows = cover(sizes, groups_of(4, 2), 1);
  std::set<std::tuple<int, int, int, int>> seen;
  for (const auto& row : rows)
    for (int a = 0; a < 4; ++a)
      for (int b = a + 1; b < 4; ++b)
        seen.insert({a, b, row[static_cast<std::size_t>(a)], row[static_cast<std::size_t>(b)]});
  EXPECT_EQ(seen.size(), 28u + 12u + 20u + 21u + 35u + 15u);
  EXPECT_LE(rows.size(), 50u);  // 35 is the least
}

}  // namespace
}  // namespace bp::conform

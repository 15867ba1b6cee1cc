// Which shapes a row is tried on: sizes around powers of two, primes, zeros, ranks from 0 to 8, broadcasts; of rows with
// complicated arguments the table's own samples.
#include <backplane/core_ops/row_facts.hpp>

#include "cases/axes.hpp"
#include "inputs/draft_problem.hpp"

namespace bp::conform {
namespace {

using Texts = std::vector<std::string>;

// The first ones for the quick and normal profile, all for the full one.
Texts cut(Texts all, std::size_t at_normal, Profile profile) {
  if (profile != Profile::full && all.size() > at_normal) all.resize(at_normal);
  return all;
}

std::size_t number_of_tensors(const Operator& op) {
  std::size_t count = 0;
  for (const SchemaArgument& argument : op.schema->arguments)
    count += argument.type == ArgumentType::tensor;
  return count;
}

Texts pointwise_shapes(const Operator& op, Profile profile) {
  const std::size_t tensors = number_of_tensors(op);
  if (tensors == 1)
    return cut(
        {"s257", "s", "s3x5x7x2", "s0x5", "s1031", "s2x3x2x1x2x2x1x3", "s16x16", "s1", "s3x0",
         "s31x33", "s63", "s4x1x129", "s1024", "s7x1x1x5", "s1023", "s5", "s2x2x2x2x2x2x2x2"},
        7, profile);
  if (tensors == 3)
    return cut({"s16x16", "s", "s3x5,5,3x1", "s1,3x5,", "s0x5,1x5,", "s257", "s2x3x4x5",
                "s3x1,1x5,3x5", "s1031", "s5,4x3x5,3x1", "s33x31"},
               7, profile);
  Texts shapes = {"s16x16",
                  "s4x3x5,3x1",
                  "s",
                  "s3x1,1x5",
                  "s3x5,",
                  "s0x5,1x5",
                  "s257",
                  "s2x3x4x5",
                  "s1031",
                  "s3x5,5",
                  "s2x3x1x2x1x2x1x3,3x2x2x1x2x1x1",
                  "s1",
                  "s5,7x3x5",
                  "s1023,1",
                  "s64x1x3,1x17x1",
                  "s33x31,31",
                  "s4x0,1"};
  Texts chosen = cut(shapes, 9, profile);
  if (op.scalar_ok & 2u) chosen.push_back("s3x37,#1");
  return chosen;
}

Texts reduction_shapes(const Operator& op, Profile profile) {
  const int dim = op.schema->find("dim");
  const bool takes_list = dim >= 0 && op.schema->arguments[static_cast<std::size_t>(dim)].type ==
                                          ArgumentType::integer_list;
  Texts shapes = {
      "s5x257:dim=1",   "s257x5:dim=0:keepdim=true",  "s",         "s3x5x7x2",    "s2x0x3:dim=0",
      "s3x1031:dim=-1", "s2x3x2x1x2x2x1x3:dim=1",     "s17",       "s1x64:dim=1", "s4x33x3:dim=1",
      "s1025:dim=0",    "s2x63x2:dim=1:keepdim=true", "s7x1:dim=0"};
  if (takes_list) {
    shapes.insert(shapes.begin() + 4, "s4x5x6x3:dim=1x2");
    shapes.insert(shapes.begin() + 6, "s4x5x6x3:dim=0x3:keepdim=true");
  }
  // Nothing to choose from is an error for these (see refusals_of); all others have a value for it.
  const std::string_view name = op.name();
  if (name == "sum" || name == "mean" || name == "prod" || name == "any" || name == "all" ||
      name == "logsumexp" || name == "var")
    shapes.insert(shapes.begin() + 5, "s0x5:dim=0");
  if (name == "norm")
    for (const char* more : {"s4x6:p=1:dim=0", "s4x6:p=0", "s4x6:p=inf:dim=1", "s4x6:p=3:dim=1"})
      shapes.push_back(more);
  if (name == "var" || name == "std") shapes.push_back("s4x6:dim=1:correction=0");
  if (name == "norm") {
    for (std::string& shape : shapes)
      if (shape.find(":p=") == shape.npos) shape += ":p=2";
    std::swap(shapes[1], shapes.back());
  }
  return cut(shapes, 9, profile);
}

Texts along_shapes(const Operator& op, Profile profile) {
  Texts shapes = {"s5x257:dim=1", "s257x5:dim=0", "s",
                  "s3x5x7:dim=1", "s0x5:dim=1",   "s2x3x2x1x2x2x1x3:dim=1",
                  "s17:dim=0",    "s1:dim=0",     "s3x1031:dim=-1",
                  "s4x64:dim=1",  "s4x1x3:dim=1", "s2x1025:dim=1"};
  const std::string_view name = op.name();
  shapes[2] += ":dim=0";
  if (name == "sort") shapes.insert(shapes.begin() + 3, "s4x33:dim=1:descending=true");
  if (name == "topk") {
    shapes = {
        "s5x257:k=7", "s33x5:k=3:dim=0", "s:k=1",    "s3x5x7:k=5:dim=1", "s4x6:k=6:largest=false",
        "s17:k=1",    "s2x1031:k=64",    "s4x6:k=0", "s0x5:k=2",         "s3x100:k=100"};
  }
  return cut(shapes, 8, profile);
}

Texts matmul_shapes(const Operator& op, Profile profile) {
  Texts shapes;
  const bool batched = std::string_view(op.name()) == "bmm";
  const auto add = [&](int m, int k, int n, const char* batch) {
    shapes.push_back(std::string(batch) + "m" + std::to_string(m) + "k" + std::to_string(k) + "n" +
                     std::to_string(n));
  };
  const char* usual = batched ? "b2" : "";
  // Every rest of K by 16, and sizes of which no block is full.
  for (int k = 1; k <= 17; ++k) add(k % 3 == 0 ? 17 : 4 + k % 4, k, k % 2 == 0 ? 9 : 16, usual);
  add(1, 1, 1, usual);
  add(5, 7, 7, usual);  // square: taken for its transpose, it fits as well
  add(16, 16, 16, usual);
  add(33, 129, 65, usual);
  add(3, 63, 64, usual);
  add(65, 64, 3, usual);
  add(1, 65, 31, usual);
  add(31, 65, 1, usual);
  add(4, 0, 6, usual);
  add(0, 5, 3, usual);
  add(5, 7, 3, batched ? "b3" : "b2x3");
  if (!batched) {
    shapes.push_back("s2x1x4x5,3x5x6");
    shapes.push_back("s3x4x5,5x6");
    shapes.push_back("s4x5,3x5x6");
  }
  if (profile == Profile::full)
    for (int k : {31, 32, 47, 48, 127, 128, 255, 257}) add(7, k, 17, usual);
  return shapes;
}

Texts indexing_shapes(const Operator& op, Profile profile) {
  const std::string_view name = op.name();
  if (name == "gather")
    return cut({"s5x33,3x33:dim=0", "s4x6,4x9:dim=1", "s,:dim=0", "s3x5,0x5:dim=0",
                "s3x5x7,3x2x7:dim=1", "s257,100:dim=0", "s4x6,4x6:dim=-1:index=i32",
                "s2x1031,2x17:dim=1", "s1x1,1x9:dim=1", "s2x3x2x2,1x3x4x1:dim=2"},
               8, profile);
  if (name == "index_select")
    return cut({"s5x33,7:dim=0", "s4x6,9:dim=1", "s,1:dim=0", "s3x5,0:dim=0", "s3x5x7,4:dim=1",
                "s257,100:dim=0", "s4x6,5:dim=-1:index=i32", "s2x1031,17:dim=1"},
               8, profile);
  if (name == "scatter_add" || name == "scatter")
    return cut({"s5x33,3x33,3x33:dim=0", "s4x6,4x9,4x9:dim=1", "s,,:dim=0", "s3x5,0x5,0x5:dim=0",
                "s3x5x7,3x2x7,3x4x7:dim=1", "s257,100,100:dim=0", "s4x6,4x6,4x6:dim=-1:index=i32",
                "s2x17,2x301,2x301:dim=1", "s1x1,1x9,1x9:dim=1"},
               8, profile);
  if (name == "embedding")
    return cut({"s9x33,2x3", "s6x4,5", "s6x4,", "s6x4,0x2", "s7x1031,9", "s6x4,5:padding_idx=1",
                "s6x0,3", "s1x5,2x2x2", "s257x3,64:indices=i32"},
               8, profile);
  return cut({"s9:num_classes=5", "s3x4:num_classes=7", "s:num_classes=5", "s0x3:num_classes=4",
              "s129:num_classes=5", "s3x5:num_classes=1", "s2x3x4:num_classes=5"},
             7, profile);
}

Texts movement_shapes(const Operator& op, Profile profile) {
  const std::string_view name = op.name();
  if (name == "cat")
    return cut({"s3x5+2x5+4x5:dim=0", "s3x5+3x1:dim=1", "s7:dim=0", "s3x5+0+2x5:dim=0",
                "s2x3x4x5+2x3x1x5:dim=-2", "s257+31+1:dim=0", "s2x1031+2x3:dim=1", "s0x5+0x5:dim=0",
                "s1x2+1x2+1x2+1x2+1x2+1x2+1x2+1x2+1x2:dim=0"},
               7, profile);
  if (name == "cast") {
    Texts shapes = {"s257:dtype=f32",       "s3x5x7x2:dtype=i64", "s:dtype=f64",
                    "s0x5:dtype=i32",       "s16x16:dtype=f16",   "s33x31:dtype=bool",
                    "s1031:dtype=u8",       "s16x17:dtype=bf16",  "s3x37:dtype=i8",
                    "s257:dtype=complex64", "s129:dtype=i16",     "s64x3:dtype=u32"};
    return cut(shapes, 9, profile);
  }
  if (name == "nonzero")
    return cut({"s257", "s", "s3x5x7x2", "s0x5", "s1031", "s16x17", "s1"}, 6, profile);
  return cut({"s257", "s", "s3x5x7x2", "s0x5", "s1031", "s2x3x2x1x2x2x1x3", "s16x16", "s1",
              "s31x33", "s65x129"},
             8, profile);
}

Texts factory_shapes(const Operator& op, Profile profile) {
  const std::string_view name = op.name();
  if (name == "full")
    return cut({"s:size=257:fill_value=3", "s:size=:fill_value=1", "s:size=3x5x7:fill_value=-2",
                "s:size=0x5:fill_value=1", "s:size=1031:fill_value=0.5",
                "s:size=2x3x2x1x2x2x1x3:fill_value=7"},
               6, profile);
  if (name == "arange")
    return cut({"s:start=0:end=257", "s:start=3:end=40:step=3", "s:start=10:end=-5:step=-4",
                "s:start=0:end=0", "s:start=0:end=1:step=1", "s:start=0:end=1031",
                "s:start=2:end=3.9:step=0.125", "s:start=100:end=0:step=-1"},
               7, profile);
  return cut({"s:size=257:seed=1234:offset=0", "s:size=:seed=5:offset=1",
              "s:size=3x5x7:seed=-1:offset=8589934592", "s:size=0x5:seed=1:offset=0",
              "s:size=1031:seed=99:offset=3", "s:size=4x1025:seed=7:offset=4"},
             6, profile);
}

Texts norm_shapes(std::string_view name) {
  if (name == "layer_norm" || name == "native_layer_norm")
    return {"s5x257,257,257:normalized_shape=257", "s3x1031:normalized_shape=1031",
            "s2x3x17,3x17:normalized_shape=3x17", "s4x1,1,1:normalized_shape=1",
            "s2x64,64,64:normalized_shape=64"};
  if (name == "rms_norm" || name == "native_rms_norm")
    return {"s5x257,257:normalized_shape=257:eps=0.001",
            "s3x1031,-:normalized_shape=1031:eps=0.00001", "s4x1,1:normalized_shape=1:eps=0.1"};
  return {};
}

Texts sample_shapes(const Operator& op) {
  Texts shapes;
  const RowFacts* facts = find_row_facts(op.name());
  if (!facts) return shapes;
  for (const std::string& recipe : split_text(facts->samples, ' '))
    shapes.push_back("sample:" + recipe);
  for (std::string& more : norm_shapes(op.name())) shapes.push_back(std::move(more));
  return shapes;
}

}  // namespace

std::vector<std::string> shapes_of(const Operator& op, Profile profile) {
  const std::string_view name = op.name(), table = table_of(op);
  if (op.kind == BP_KIND_POINTWISE) return pointwise_shapes(op, profile);
  if (name == "matmul" || name == "bmm") return matmul_shapes(op, profile);
  if (name == "softmax" || name == "log_softmax" || name == "cumsum" || name == "sort" ||
      name == "topk")
    return along_shapes(op, profile);
  if (table == "reduction" || table == "statistics") return reduction_shapes(op, profile);
  if (name == "gather" || name == "index_select" || name == "scatter_add" || name == "scatter" ||
      name == "embedding" || name == "one_hot")
    return indexing_shapes(op, profile);
  if (name == "cat" || name == "copy" || name == "cast" || name == "nonzero")
    return movement_shapes(op, profile);
  if (name == "full" || name == "arange" || name.ends_with("philox"))
    return factory_shapes(op, profile);
  return sample_shapes(op);
}

}  // namespace bp::conform

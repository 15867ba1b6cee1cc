// needs: cpu slow
#include "data/loaders.hpp"

namespace bp::test {
namespace {

// More than a gibibyte of text, of which no frame could be.
TEST(LargeBatches, of_text_arrive) {
  const auto texts = std::make_shared<FunctionDataset>(3, [](std::int64_t index) -> Sample {
    return std::string(index == 1 ? (std::size_t{1} << 30) + 100 : 100000, 'a');
  });
  DataLoader loader(texts, with({.batch_size = std::nullopt}, {2, WorkerKind::process}));
  LoaderIterator epoch = loader.iterate();
  EXPECT_EQ(epoch.next()->as_text().size(), 100000u);
  const Batch large = *epoch.next();
  EXPECT_EQ(large.as_text().size(), (std::size_t{1} << 30) + 100);
  EXPECT_EQ(large.as_text().back(), 'a');
  EXPECT_EQ(epoch.next()->as_text(), std::string(100000, 'a'));
}

}  // namespace
}  // namespace bp::test

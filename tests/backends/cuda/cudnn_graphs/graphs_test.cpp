// needs: cuda
// What cuDNN is told, planned for a card that need not be on this machine.
#include <gtest/gtest.h>
#include <string>

#include "kernels/cudnn/attention_graph.hpp"
#include "kernels/cudnn/ways.hpp"
#include "sdk/fake_host.hpp"

namespace {

namespace cudnn = cuda_backend::cudnn;

// An H200, as the library itself describes one.
constexpr const char* card =
    R"({"maxGridSize":[2147483647,65535,65535],"maxBlockSize":[1024,1024,64],"regsPerBlock":65536,)"
    R"("multiProcessorCount":132,"warpSize":32,"maxSharedMemoryPerBlock":49152,)"
    R"("maxSharedMemoryPerBlockOptin":232448,"reservedSharedMemoryPerBlock":1024,)"
    R"("maxRegistersPerSM":65536,"maxCtasPerSM":32,"maxThreadsPerBlock":1024,)"
    R"("maxThreadsPerSM":2048,"pciDeviceId":6,"isTccDriver":0,"supportCoopLaunch":1,)"
    R"("totalGlobalMem":150109880320,"smClockRateKHz":1980000,"memClockRateKHz":3201000,)"
    R"("l2CacheSize":62914560,"cudaDeviceId":0,"deviceVer":900,"driverVer":13000,)"
    R"("deviceName":"NVIDIA H200"})";

class CudnnGraphs : public testing::Test {
 protected:
  void SetUp() override {
    bp::detail::the_host = &host_.table;
    library_ = cudnn::library();
    if (library_ == nullptr) GTEST_SKIP() << "cuDNN is not installed on this machine";
    if (library_->version() < 91300)
      GTEST_SKIP() << "this cuDNN plans for no card but one that is here";
    card_ = std::make_unique<cudnn::Descriptor>(*library_, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
    card_->set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
               static_cast<int64_t>(std::string(card).size() + 1), card);
    card_->finalize("a card");
  }

  cudnn::Target target() const { return {nullptr, card_.get()}; }

  // A kernel of 3 by 3 over [8, 64, 28, 28], channels last.
  cudnn::Ways convolution(cudnn::Graph::Convolution way, cudnnDataType_t type,
                          const cudnn::Wishes& wishes, int64_t channels_of_weight = 64) {
    const auto last = [](std::vector<int64_t> s) {
      cudnn::Shape shape{s, {s[1] * s[2] * s[3], 1, s[3] * s[1], s[1]}};
      return shape;
    };
    cudnn::Graph graph(*library_, CUDNN_DATA_FLOAT);
    const cudnn::Id large = graph.tensor(type, last({8, 64, 28, 28})),
                    weight = graph.tensor(type, last({128, channels_of_weight, 3, 3})),
                    small = graph.tensor(type, last({8, 128, 28, 28}));
    const int64_t one[] = {1, 1};
    try {
      graph.convolve(way, {one, one, one}, large, weight, small);
    } catch (const cudnn::Refused&) {
      refused_ = true;
    }
    return cudnn::Ways(graph, target(), wishes, "test");
  }

  static cudnn::Attention attention(bool is_causal, int64_t shared_heads) {
    const auto rows = [](int64_t heads) {
      return std::array<int64_t, 4>{heads * 256 * 64, 256 * 64, 64, 1};
    };
    return {bp::bf16,
            2,
            8,
            shared_heads,
            256,
            256,
            64,
            64,
            is_causal,
            rows(8),
            rows(shared_heads),
            rows(shared_heads)};
  }

  fake::Host host_;
  const cudnn::Library* library_ = nullptr;
  std::unique_ptr<cudnn::Descriptor> card_;
  bool refused_ = false;
};

TEST_F(CudnnGraphs, convolutions_are_known_in_all_three_ways) {
  using Way = cudnn::Graph::Convolution;
  for (const Way way : {Way::forward, Way::to_input, Way::to_weight})
    for (const cudnnDataType_t type : {CUDNN_DATA_FLOAT, CUDNN_DATA_HALF, CUDNN_DATA_BFLOAT16}) {
      const bool full = type == CUDNN_DATA_FLOAT;
      cudnn::Ways ways = convolution(way, type, {true, full, true});
      EXPECT_GE(ways.prepare(1), 1u) << static_cast<int>(way) << " of type " << type;
    }
}

TEST_F(CudnnGraphs, a_wrong_shape_is_refused_and_nothing_is_thrown) {
  cudnn::Ways ways = convolution(cudnn::Graph::Convolution::forward, CUDNN_DATA_BFLOAT16,
                                 {false, false, false}, 48);
  EXPECT_EQ(ways.prepare(8), 0u);
  EXPECT_TRUE(refused_ || !host_.log_lines().empty());
}

// Compiling attention needs a driver; the description must be complete without one.
TEST_F(CudnnGraphs, attention_is_described_both_ways) {
  for (const bool is_causal : {false, true})
    for (const int64_t shared_heads : {8, 2}) {
      const cudnn::Attention described = attention(is_causal, shared_heads);
      EXPECT_NO_THROW(cudnn::attention_graph(*library_, described).finish(target()));
      for (const bool deterministic : {false, true})
        EXPECT_NO_THROW(
            cudnn::attention_backward_graph(*library_, described, described.query, deterministic)
                .finish(target()));
    }
}

}  // namespace

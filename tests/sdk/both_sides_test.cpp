// needs: cpu
// alone: the core's headers are included, so that bp::Stream is another than in the other tests of the SDK
// plugin.hpp and the core's headers in one source: the SDK's names are those of bp::plugin, the core's those of bp. The
// rule `two_sides` includes them all, in both orders and with both compilers.
#include <complex>
#include <gtest/gtest.h>
#include <tuple>
#include <type_traits>

#include <backplane/plugin.hpp>

namespace before {  // what a plugin's own header says, that comes first
using Stream = bp::Stream;
inline constexpr auto f32 = bp::f32;
}  // namespace before

#include <backplane/runtime/device_registry.hpp>
#include <backplane/runtime/stream.hpp>
#include <backplane/tensor/check.hpp>
#include <backplane/tensors.hpp>

#include "sdk/fake_host.hpp"

namespace {

namespace sdk = bp::plugin;

// ---- Names ----

template <class A, class B> constexpr bool differ = !std::is_same_v<A, B>;

static_assert(differ<bp::Dtype, sdk::Dtype> && differ<bp::Scalar, sdk::Scalar>);
static_assert(differ<bp::Stream, sdk::Stream> && differ<bp::Call, sdk::Call>);
static_assert(differ<bp::Backend, sdk::Backend> && differ<bp::DtypeSet, sdk::DtypeSet>);
static_assert(std::is_same_v<std::remove_const_t<decltype(bp::f32)>, bp::Dtype>);

// The SDK's, and still the same when the core came after them.
static_assert(std::is_same_v<before::Stream, sdk::Stream>);
static_assert(before::f32 == sdk::f32);

// What the core has no word for can be said the short way in any source.
static_assert(std::is_same_v<bp::Identity, sdk::Identity> &&
              std::is_same_v<bp::Region, sdk::Region>);
static_assert(std::is_same_v<bp::In, sdk::In> && std::is_same_v<bp::Out, sdk::Out>);
static_assert(std::is_same_v<bp::op::add, sdk::op::add>);

// Macros of either side.
bp_code caught_by_the_sdk() {
  BP_TRY {
    BP_CHECK(false, "add: {} is too much", 3);
    return BP_OK;
  }
  BP_CATCH_ALL {
    return sdk::detail::caught().code();
  }
}

// ---- Values ----

auto dlpack(bp_dl_dtype dtype) {
  return std::tuple(dtype.code, dtype.bits, dtype.lanes);
}

// The core's dtype that means the same to DLPack as what the plugin was given.
bp::Dtype to_core(const sdk::AnyTensor& tensor) {
  for (unsigned i = 0; i < bp::num_dtypes; ++i)
    if (dlpack(bp::dl_dtype(bp::Dtype(i))) == dlpack(tensor.abi().dl.dtype)) return bp::Dtype(i);
  ADD_FAILURE() << "no dtype";
  return {};
}

TEST(BothSides, a_tensor_of_the_core_is_an_argument_of_a_kernel) {
  for (unsigned i = 0; i < bp::num_dtypes; ++i) {
    const bp::Dtype of_core = bp::Dtype(i);
    const bp::Tensor tensor = bp::empty_tensor({2, 3}, of_core, bp::host_device());
    const sdk::In in(&tensor.impl()->abi);
    EXPECT_EQ(to_core(in), of_core);
    EXPECT_EQ(in.dtype(), sdk::Dtype(bp::index(of_core)));
    EXPECT_EQ(in.itemsize(), bp::itemsize(of_core));
    EXPECT_EQ(in.numel(), tensor.numel());
    EXPECT_EQ(in.size(1), tensor.shape()[1]);
    EXPECT_TRUE(in.is(sdk::contiguous));
  }
}

TEST(BothSides, sets_of_dtypes_are_the_same_words) {
  for (unsigned i = 0; i < bp::num_dtypes; ++i) {
    const sdk::Dtype of_plugin{i};
    const bp::Dtype of_core{static_cast<std::uint8_t>(i)};
    EXPECT_EQ(bp::set_of(of_core), sdk::DtypeSet(of_plugin).bits);
    EXPECT_EQ(bp::contains(bp::dtypes::floating, of_core), sdk::floating.holds(of_plugin));
    EXPECT_EQ(bp::contains(bp::dtypes::complex, of_core), sdk::complex.holds(of_plugin));
    EXPECT_EQ(bp::contains(bp::dtypes::integral, of_core), sdk::integral.holds(of_plugin));
  }
}

TEST(BothSides, a_number_of_the_core_is_a_kernels) {
  EXPECT_EQ(sdk::Scalar(bp::Scalar(3).value()).to_int(), 3);
  EXPECT_TRUE(sdk::Scalar(bp::Scalar(true).value()).is_boolean());
  EXPECT_EQ(sdk::Scalar(bp::Scalar(2.5).value()).to_double(), 2.5);
  const bp::Scalar complex(std::complex<double>(1, -2));
  EXPECT_EQ(sdk::Scalar(complex.value()).imaginary(), complex.to_complex().imag());
}

TEST(BothSides, memory_of_a_tensor_is_a_region) {
  const bp::Tensor tensor = bp::tensor({1.0, 2.0, 3.0}, {.dtype = bp::f64});
  const bp::Storage& storage = *tensor.impl()->storage;
  const sdk::Region region{{storage.handle, storage.offset, storage.bytes}};
  EXPECT_EQ(region.address<double>()[2], 3.0);
  EXPECT_EQ(sdk::In(&tensor.impl()->abi).data<double>(), region.address<double>());
}

TEST(BothSides, a_stream_and_a_call_of_the_core_are_a_kernels) {
  const bp::Stream of_core = bp::Stream::current(bp::host_device());
  const bp::DeviceRecord& record = *of_core.impl()->record;
  const sdk::Stream stream(record.handle, of_core.impl()->raw.load());
  EXPECT_EQ(stream.native<bp_stream>(), of_core.impl()->raw.load());

  bp_call raw{};
  raw.device = record.handle;
  raw.number = 7;
  EXPECT_EQ(sdk::Call(&raw).call_number(), 7u);
}

// ---- Failures ----

TEST(BothSides, what_a_plugin_says_becomes_the_cores_error) {
  fake::Host host;
  sdk::detail::the_host = &host.table;
  const sdk::Status status = sdk::out_of_memory("%d bytes are too many", 5);
  EXPECT_EQ(bp::ErrorClass(status.code()), bp::ErrorClass::out_of_memory);
  EXPECT_EQ(fake::Host::last_message(), "5 bytes are too many");

  // And the other way: an exception of the core's ends at a plugin's edge like any other.
  EXPECT_EQ(caught_by_the_sdk(), BP_INTERNAL);
  EXPECT_EQ(fake::Host::last_message(), "the plugin threw: add: 3 is too much");
  sdk::detail::the_host = nullptr;
}

}  // namespace

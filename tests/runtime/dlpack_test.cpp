// Tensors from and for other frameworks, on devices of every sort.
#include <thread>

#include <backplane/runtime/allocator.hpp>
#include <backplane/runtime/dlpack.hpp>
#include <backplane/tensor/views.hpp>

#include "dlpack_producer.hpp"
#include "fake_plugin.hpp"

namespace bp::test {
namespace {

void be_the_host(bp_device_info& info, std::uint32_t index) {
  info.dl_device_type = BP_DL_CPU;
  info.dl_device_id = static_cast<std::int32_t>(index);
}

// A device whose memory is the host's, as DLPack's (1, 0).
struct Dlpack : testing::Test {
  Dlpack() { fake.edit_info = be_the_host; }
  Device device() { return registered().device(); }
  Registered& registered() {
    if (!registered_) registered_.emplace(fake);
    return *registered_;
  }
  Tensor tensor(std::vector<float> values) {
    Tensor made = empty_tensor({static_cast<std::int64_t>(values.size())}, f32, device());
    std::copy(values.begin(), values.end(), made.data<float>());
    return made;
  }

  FakePlugin fake;
  std::optional<Registered> registered_;
};

TEST_F(Dlpack, a_foreign_tensor_is_used_in_place_and_given_back_once) {
  device();
  Producer<Managed> theirs({1, 2, 3, 4, 5, 6}, {2, 3});
  {
    const Tensor ours = from_dlpack(theirs.get());
    EXPECT_EQ(ours.data<float>(), theirs.values.data());
    EXPECT_EQ(ours.shape()[1], 3);
    EXPECT_TRUE(ours.is_contiguous());
    const Tensor row = views::select(ours, 0, 1);
    EXPECT_EQ(row.data<float>()[0], 4);
    EXPECT_EQ(num_live_storages(device()), 1);
  }
  EXPECT_EQ(theirs.num_deleted, 1);
  EXPECT_EQ(num_live_storages(device()), 0);
}

TEST_F(Dlpack, the_versioned_form_is_the_same_with_a_version) {
  device();
  Producer<ManagedVersioned> theirs({1, 2, 3}, {3});
  theirs.managed.minor = 7;
  from_dlpack(theirs.get());
  EXPECT_EQ(theirs.num_deleted, 1);
}

TEST_F(Dlpack, a_view_keeps_foreign_memory) {
  device();
  Producer<Managed> theirs({1, 2, 3, 4}, {2, 2});
  Tensor view = views::transpose(from_dlpack(theirs.get()), 0, 1);
  EXPECT_EQ(theirs.num_deleted, 0);
  EXPECT_EQ(view.data<float>()[1], 2);
  view = {};
  EXPECT_EQ(theirs.num_deleted, 1);
}

TEST_F(Dlpack, strides_offsets_and_missing_strides_say_where_elements_are) {
  device();
  Producer<Managed> theirs({0, 1, 2, 3, 4, 5, 6, 7}, {2, 3});
  theirs.managed.tensor.byte_offset = 4;
  theirs.set_strides({1, 2});
  const Tensor ours = from_dlpack(theirs.get());
  EXPECT_EQ(ours.data<float>(), theirs.values.data() + 1);
  EXPECT_EQ(ours.strides()[1], 2);
  EXPECT_FALSE(ours.is_contiguous());
}

TEST_F(Dlpack, scalars_and_tensors_without_elements_come_in) {
  device();
  Producer<Managed> scalar({5}, {}), empty({}, {3, 0, 2});
  scalar.managed.tensor.shape = nullptr;
  empty.managed.tensor.data = reinterpret_cast<void*>(3);  // dangling, and misaligned
  empty.set_strides({-4, 9, 9});
  EXPECT_EQ(*from_dlpack(scalar.get()).data<float>(), 5);
  const Tensor ours = from_dlpack(empty.get());
  EXPECT_EQ(ours.numel(), 0);
  EXPECT_EQ(ours.shape()[2], 2);
  EXPECT_EQ(ours.strides()[2], 1);
}

TEST_F(Dlpack, strides_that_nobody_steps_along_are_not_believed) {
  device();
  Producer<Managed> theirs({1, 2}, {1, 2, 1});
  theirs.set_strides({-77, 1, 0});
  const Tensor ours = from_dlpack(theirs.get());
  EXPECT_TRUE(ours.is_contiguous());
  EXPECT_EQ(ours.data<float>()[1], 2);
}

TEST_F(Dlpack, a_producer_without_a_deleter_keeps_its_memory_itself) {
  device();
  Producer<Managed> theirs({1}, {1});
  theirs.managed.deleter = nullptr;
  EXPECT_EQ(*from_dlpack(theirs.get()).data<float>(), 1);
}

TEST_F(Dlpack, every_dtype_goes_out_and_comes_in_as_itself) {
  for (unsigned i = 0; i < num_dtypes; ++i) {
    const auto dtype = static_cast<Dtype>(i);
    const Tensor ours = empty_tensor({2}, dtype, device());
    DLManagedTensor* out = to_dlpack(ours);
    const bp_dl_dtype described = Managed::of(out)->tensor.dtype;
    EXPECT_EQ(described.bits, 8 * itemsize(dtype));
    Producer<Managed> theirs({1, 2, 3, 4, 5, 6, 7, 8}, {2});
    theirs.managed.tensor.dtype = described;
    EXPECT_EQ(from_dlpack(theirs.get()).dtype(), dtype);
    Managed::of(out)->deleter(Managed::of(out));
  }
}

// ---- Out ----

TEST_F(Dlpack, our_tensor_lives_as_long_as_the_consumer) {
  DLManagedTensor* out = nullptr;
  {
    const Tensor ours = tensor({1, 2, 3, 4});
    out = to_dlpack(views::slice(ours, 0, 1, 4, 2));
  }
  Managed& managed = *Managed::of(out);
  EXPECT_EQ(managed.tensor.device.device_type, BP_DL_CPU);
  EXPECT_EQ(managed.tensor.ndim, 1);
  EXPECT_EQ(managed.tensor.shape[0], 2);
  EXPECT_EQ(managed.tensor.strides[0], 2);
  EXPECT_EQ(managed.tensor.byte_offset, 0u);
  EXPECT_EQ(static_cast<float*>(managed.tensor.data)[2], 4);
  EXPECT_EQ(num_live_storages(device()), 1);
  std::thread([&] { managed.deleter(&managed); }).join();
  EXPECT_EQ(num_live_storages(device()), 0);
}

TEST_F(Dlpack, the_versioned_form_can_ask_for_reading_alone) {
  const Tensor ours = tensor({1});
  DlpackExport options;
  options.read_only = true;
  DLManagedTensorVersioned* out = to_dlpack_versioned(ours, options);
  ManagedVersioned& managed = *ManagedVersioned::of(out);
  EXPECT_EQ(managed.major, 1u);
  EXPECT_EQ(managed.flags, 1u);
  EXPECT_EQ(managed.tensor.data, ours.data_ptr());
  EXPECT_NE(text_of([&] { from_dlpack(out); }).find("read-only"), std::string::npos);
  DlpackImport in;
  in.accept_read_only = true;
  EXPECT_TRUE(from_dlpack(out, in).shares_storage(ours));
  EXPECT_EQ(text_of([&] { to_dlpack(ours, options); }),
            "to_dlpack: the older form of DLPack cannot say that memory is read-only; use "
            "to_dlpack_versioned");
}

TEST_F(Dlpack, our_own_tensor_comes_back_as_itself) {
  const Tensor ours = tensor({1, 2});
  const Tensor back = from_dlpack(to_dlpack(views::select(ours, 0, 1)));
  EXPECT_TRUE(back.shares_storage(ours));
  EXPECT_EQ(*back.data<float>(), 2);
  EXPECT_EQ(num_live_storages(device()), 1);
}

TEST_F(Dlpack, memory_whose_handles_are_no_addresses_comes_back_too) {
  FakePlugin opaque("opaque");
  opaque.flags = BP_DEVICE_SYNCHRONOUS;
  const Registered other(opaque);
  const Tensor ours = empty_tensor({4}, f32, other.device());
  DLManagedTensor* out = to_dlpack(ours);
  EXPECT_EQ(Managed::of(out)->tensor.device.device_type, BP_DL_EXT_DEV);
  DlpackImport options;
  options.device = device();
  EXPECT_EQ(text_of([&] { from_dlpack(out, options); }),
            "from_dlpack: the tensor is on opaque:0, not on acme:0; copy it there");
  EXPECT_TRUE(from_dlpack(out).shares_storage(ours));
}

TEST_F(Dlpack, a_backend_whose_memory_another_framework_holds_is_not_unloaded) {
  DLManagedTensor* out = to_dlpack(tensor({1, 2}));
  const std::string error = text_of([&] { unregister_backend(*registered().backend); });
  EXPECT_NE(error.find("1 tensor's storage of acme:0"), std::string::npos) << error;
  Managed::of(out)->deleter(Managed::of(out));
  Producer<Managed> theirs({1}, {1});
  Tensor ours = from_dlpack(theirs.get());
  EXPECT_THROW(unregister_backend(*registered().backend), Error);
  EXPECT_EQ(theirs.num_deleted, 0);
}

// ---- Devices ----

TEST_F(Dlpack, the_device_is_the_registered_one_that_says_so) {
  fake.num_devices = 3;
  device();
  Producer<Managed> theirs({1}, {1});
  theirs.managed.tensor.device = {BP_DL_CPU, 2};
  EXPECT_EQ(from_dlpack(theirs.get()).device(), registered().device(2));
  EXPECT_EQ(dlpack_device(registered().device(2)), (DlpackDevice{BP_DL_CPU, 2}));
}

TEST_F(Dlpack, an_unknown_device_is_an_error_that_names_both) {
  device();
  Producer<Managed> theirs({1}, {1});
  theirs.managed.tensor.device = {2, 1};
  EXPECT_EQ(
      text_of([&] { from_dlpack(theirs.get()); }),
      "from_dlpack: the tensor is on DLPack's device (2, 1), which is not a registered device; "
      "there is acme:0 (1, 0); load the backend first, for example with bp::device(name)");
  DlpackImport options;
  options.device = device();
  EXPECT_EQ(text_of([&] { from_dlpack(theirs.get(), options); }),
            "from_dlpack: the tensor is on DLPack's device (2, 1), but acme:0 is (1, 0); copy it "
            "there");
  EXPECT_EQ(theirs.num_deleted, 0) << "it was refused, and is still the caller's";
}

TEST_F(Dlpack, the_deleter_waits_for_the_streams_that_use_the_memory) {
  FakePlugin late("late");
  late.make_asynchronous();
  late.flags |= BP_DEVICE_REAL_ADDRESSES;
  late.edit_info = [](bp_device_info& info, std::uint32_t) { info.dl_device_type = 2; };
  const Registered other(late);
  Producer<ManagedVersioned> theirs({1, 2}, {2});
  theirs.managed.tensor.device = {2, 0};
  const Stream stream(other.device()), second(other.device());
  {
    const StreamGuard guard(stream);
    const Tensor ours = from_dlpack(theirs.get());
    late.give_work(stream);
    late.give_work(second);
    record_stream(ours, second);
  }
  stream.synchronize();
  EXPECT_FALSE(second.query()) << "dropping the tensor waited";
  EXPECT_EQ(theirs.num_deleted, 0);
  second.synchronize();
  EXPECT_EQ(theirs.num_deleted, 1);
}

// ---- Refused ----

struct Refused : Dlpack {
  // The error, after which the tensor must still be the caller's and nothing of it here.
  std::string error() {
    device();
    const std::string text = text_of([&] { from_dlpack(theirs.get()); });
    EXPECT_EQ(theirs.num_deleted, 0);
    EXPECT_EQ(num_live_storages(device()), 0);
    return text;
  }
  Producer<Managed> theirs{{1, 2, 3, 4}, {2, 2}};
};

TEST_F(Refused, null) {
  EXPECT_EQ(text_of([] { from_dlpack(static_cast<DLManagedTensor*>(nullptr)); }),
            "from_dlpack: the managed tensor is null");
  theirs.managed.tensor.data = nullptr;
  EXPECT_EQ(error(), "from_dlpack: the memory is null for shape [2, 2]");
}

TEST_F(Refused, elements_of_several_lanes) {
  theirs.managed.tensor.dtype.lanes = 4;
  EXPECT_EQ(error(), "from_dlpack: elements of 4 lanes; give the lanes as a dimension");
}

TEST_F(Refused, element_types_that_nobody_knows) {
  theirs.managed.tensor.dtype = {17, 4, 1};
  EXPECT_EQ(error(),
            "from_dlpack: elements of DLPack's type code 17 with 4 bits; there is no such "
            "dtype here; cast them first");
}

TEST_F(Refused, negative_strides) {
  theirs.set_strides({2, -1});
  EXPECT_EQ(error(),
            "from_dlpack: stride -1 of dimension 1 is negative; flip the elements instead");
}

TEST_F(Refused, ranks_and_shapes_out_of_range) {
  theirs.managed.tensor.ndim = 17;
  EXPECT_EQ(error(), "from_dlpack: a tensor of rank 17; at most 16 are possible");
  theirs.managed.tensor.ndim = -1;
  EXPECT_EQ(error(), "from_dlpack: a tensor of rank -1; at most 16 are possible");
  theirs.managed.tensor.ndim = 2;
  theirs.shape = {-2, 2};
  theirs.managed.tensor.shape = theirs.shape.data();
  EXPECT_NE(error().find("from_dlpack: "), std::string::npos);
  theirs.managed.tensor.shape = nullptr;
  EXPECT_EQ(error(), "from_dlpack: the shape is null for rank 2");
}

TEST_F(Refused, elements_that_are_not_aligned) {
  theirs.managed.tensor.byte_offset = 2;
  EXPECT_NE(
      error().find("which is not a multiple of the 4 bytes of float32; copy the tensor first"),
      std::string::npos);
}

TEST_F(Refused, a_major_version_that_came_later) {
  Producer<ManagedVersioned> newer({1}, {1});
  newer.managed.major = 2;
  EXPECT_EQ(
      text_of([&] { from_dlpack(newer.get()); }),
      "from_dlpack: the tensor is of DLPack 2.0, and 1.x is understood here; ask the producer "
      "for that (max_version)");
}

TEST_F(Refused, undefined_and_meta_tensors_on_the_way_out) {
  EXPECT_EQ(text_of([] { to_dlpack(Tensor()); }),
            "to_dlpack: the tensor is undefined; make one first");
  EXPECT_EQ(text_of([] {
              to_dlpack_versioned(empty_tensor({2, 3}, f32, meta_device));
            }),
            "to_dlpack_versioned: a tensor of shape [2, 3] on the meta device has no memory");
}

}  // namespace
}  // namespace bp::test

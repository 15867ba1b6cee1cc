// The hooks that PyTorch calls, and its generators.
#include "hooks.hpp"

#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <deque>
#include <memory>

#include "devices.hpp"
#include "tensors.hpp"

namespace bp::bridge {
namespace {

// PyTorch's face of a generator: the device's own, or one that this owns.
class TorchGenerator final : public c10::GeneratorImpl {
 public:
  TorchGenerator(c10::DeviceIndex index, bool is_default)
      : GeneratorImpl({device_type, index}, c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)),
        own_(is_default ? nullptr
                        : std::make_unique<Generator>(device_at(index), c10::default_rng_seed_val)),
        generator_(is_default ? &default_generator(device_at(index)) : own_.get()) {}

  Generator& ours() const { return *generator_; }
  void set_current_seed(std::uint64_t seed) override { generator_->manual_seed(seed); }
  void set_offset(std::uint64_t offset) override {
    generator_->set_state({generator_->state().seed, offset});
  }
  std::uint64_t get_offset() const override { return generator_->state().offset; }
  std::uint64_t current_seed() const override { return generator_->state().seed; }
  std::uint64_t seed() override {
    const std::uint64_t random = c10::detail::getNonDeterministicRandom();
    generator_->manual_seed(random);
    return random;
  }
  void set_state(const c10::TensorImpl& state) override {
    TORCH_CHECK(state.numel() == sizeof(PhiloxState) && state.itemsize() == 1,
                "backplane: a generator's state is ", sizeof(PhiloxState), " bytes, not ",
                state.numel(), " elements of ", state.itemsize());
    PhiloxState read;
    std::memcpy(&read, state.data(), sizeof read);
    generator_->set_state(read);
  }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
    at::Tensor bytes = at::empty({sizeof(PhiloxState)}, at::kByte);
    const PhiloxState state = generator_->state();
    std::memcpy(bytes.data_ptr(), &state, sizeof state);
    return bytes.getIntrusivePtr();
  }

 private:
  TorchGenerator* clone_impl() const override {
    auto* clone = new TorchGenerator(device().index(), false);
    clone->ours().set_state(generator_->state());
    return clone;
  }

  std::unique_ptr<Generator> own_;
  Generator* generator_;
};

struct Hooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return num_devices() > 0; }
  bool hasPrimaryContext(c10::DeviceIndex index) const override { return is_open(index); }
  void init() const override { devices(); }
  c10::DeviceIndex deviceCount() const override { return num_devices(); }
  void setCurrentDevice(c10::DeviceIndex index) const override {
    device_at(index);
    set_current_index(index);
  }
  c10::DeviceIndex getCurrentDevice() const override { return current_index(); }
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex index) const override {
    const c10::DeviceIndex before = current_index();
    setCurrentDevice(index);
    return before;
  }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex index) const override {
    return index < 0 ? current_index() : exchangeDevice(index);
  }
  const at::Generator& getDefaultGenerator(c10::DeviceIndex index) const override {
    static const auto* const all = [] {
      auto* made = new std::deque<at::Generator>;
      for (c10::DeviceIndex i = 0; i < num_devices(); ++i)
        made->push_back(at::make_generator<TorchGenerator>(i, true));
      return made;
    }();
    device_at(index);
    return (*all)[static_cast<std::size_t>(index < 0 ? current_index() : index)];
  }
  at::Generator getNewGenerator(c10::DeviceIndex index) const override {
    return at::make_generator<TorchGenerator>(index < 0 ? current_index() : index, false);
  }
  at::Device getDeviceFromPtr(void*) const override { return {device_type, current_index()}; }
  at::Allocator* getPinnedMemoryAllocator() const override {
    return c10::GetAllocator(c10::DeviceType::CPU);
  }
  void resizePrivateUse1Bytes(const c10::Storage& storage, std::size_t bytes) const override {
    resize_storage(storage, bytes);
  }
};

}  // namespace

Generator* generator_of(const at::Generator& generator) {
  TORCH_CHECK(generator.device().type() == device_type,
              "backplane: expected a generator of a backplane device, not of ", generator.device());
  return &static_cast<TorchGenerator*>(generator.unsafeGetGeneratorImpl())->ours();
}

void resize_storage(const c10::Storage& storage, std::size_t bytes) {
  Storage& before = storage_of(storage);
  Storage* after =
      with_memory([&] { return allocate_storage(device_record(before.device), bytes); });
  c10::DataPtr data = data_ptr_of(after);
  const auto kept = static_cast<std::int64_t>(std::min<std::size_t>(storage.nbytes(), bytes));
  if (kept > 0)
    copy_into(tensor_over_storage(after, {kept}, {1}, u8),
              tensor_over_storage(&before, {kept}, {1}, u8));
  storage.set_data_ptr_noswap(std::move(data));
  storage.set_nbytes(bytes);
}

void register_hooks() {
  at::RegisterPrivateUse1HooksInterface(new Hooks);  // for as long as the process lives
}

}  // namespace bp::bridge

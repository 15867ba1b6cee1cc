// Storages by their addresses: for bridges to programs that know memory by addresses alone, add to them, and hand them back.
#pragma once

#include <cstdint>

#include <backplane/tensor/tensor.hpp>

namespace bp {

// An address for the storage of `memory`, which is held until take_back_address: its own where the host can read it, and else
// the begin of a range as long as the storage, reserved for it, in which the process can neither read nor write. A storage may be given
// several. Throws bad_argument for a tensor without memory or whose address another storage has been given, as two over one block of the
// application's would, and out_of_memory where the process has no addresses left. Threads: any.
BP_API void* give_address(const Tensor& memory);

// Ends what one give_address began. False: nobody was given the address. Threads: any.
BP_API bool take_back_address(void* address);

// What lies at an address.
struct StorageAt {
  Tensor bytes;             // all of the storage, as u8; undefined where nothing of ours is
  std::int64_t offset = 0;  // of the address in it, in bytes
};

// Finds the storage that was given the address, or one in front of it by less than its size. Threads: any.
BP_API StorageAt storage_at(const void* address);

}  // namespace bp

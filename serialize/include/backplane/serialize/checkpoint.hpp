// What a program saves to continue later, in one file or a folder of them, whole after a crash at any moment.
//
//   serialize::CheckpointFolder folder("run1", {.keep = 3});
//   if (auto last = folder.load_newest()) resume(*last);
//   ...
//   folder.save({.step = step, .model = net.state_dict(), .optimizer = optimizer.state_dict()});
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <backplane/nn/state_dict.hpp>
#include <backplane/runtime/generator.hpp>
#include <backplane/state/state.hpp>

namespace bp::serialize {

// A tree in one safetensors file: tensors are its entries, under names like "model.hidden.weight", and the rest is in its
// metadata. Comes back bit for bit, doubles that are NaN or infinite included, on the host's device and without gradients.
// The same tensor in two places of the tree comes back as one; different views of one memory do not share it any more.
//
// save writes all at once or not at all, see save_file. Throws bad_argument for meta and undefined tensors and for a tree
// deeper than 200 or with a dict of more than 40000 entries. load throws bad_argument, naming the
// file, for a file that save did not write completely.
BP_API void save(const std::filesystem::path& path, const State& state);
BP_API State load(const std::filesystem::path& path);

// A module's tensors as a dict of a tree, and back. to_state_dict throws bad_argument, naming the key, for an entry that is
// not a tensor.
BP_API State to_state(const nn::StateDict& dict);
BP_API nn::StateDict to_state_dict(const State& state);

// The exact position of a source of random numbers.
BP_API State state_of(const Generator& generator);
BP_API void set_state(Generator& generator, const State& state);
// The same for several, by name. set_states needs a state for each; others stay as they are.
using NamedGenerators = std::vector<std::pair<std::string, Generator*>>;
BP_API State states_of(const NamedGenerators& generators);
BP_API void set_states(const NamedGenerators& generators, const State& states);

// All that a training run needs to continue bit for bit. Parts that it does not have stay None. Numbers drawn by default
// come from default_generator(device) of each device, so that generators are usually
// states_of({{"cpu", &default_generator(device("cpu"))}}).
struct Checkpoint {
  std::int64_t step = 0;
  nn::StateDict model = {};
  State optimizer = {}, scheduler = {}, scaler = {};
  State loader = {};  // its position
  State generators = {};
  State extra = {};  // anything else
};
BP_API State to_state(const Checkpoint& checkpoint);
// Throws bad_argument, naming what is missing, for a state that is not a checkpoint's.
BP_API Checkpoint to_checkpoint(const State& state);

struct CheckpointFolderOptions {
  std::int64_t keep = 3;  // how many of the newest to keep, at least 1
};

// A run's checkpoints, "step-000000001200.safetensors" each. One process writes at a time; any number may read meanwhile.
class BP_API CheckpointFolder {
 public:
  // Makes the folder. Throws bad_argument if it can't.
  explicit CheckpointFolder(std::filesystem::path folder, CheckpointFolderOptions options = {});

  // Writes the step's file, then removes the oldest beyond `keep` and what a killed process left half written. Throws as
  // serialize::save does; then nothing was removed.
  std::filesystem::path save(const Checkpoint& checkpoint);
  // The newest that is whole; damaged ones are skipped, and damaged() lists them. Nothing if the
  // folder has none; throws bad_argument if it has some and all are damaged, or where the system
  // refuses to open one that may be whole, for lack of permission. One that a writer removes
  // meanwhile is not damaged: the newer ones are looked for again.
  std::optional<Checkpoint> load_newest();
  // A sentence for each file that the last load_newest skipped.
  const std::vector<std::string>& damaged() const { return damaged_; }

  Checkpoint load(std::int64_t step) const;
  // Rising.
  std::vector<std::int64_t> steps() const;
  std::filesystem::path path_of(std::int64_t step) const;

 private:
  std::filesystem::path folder_;
  CheckpointFolderOptions options_;
  std::vector<std::string> damaged_;
};

}  // namespace bp::serialize

#include <bit>
#include <set>
#include <string_view>

#include <backplane/files/file_errors.hpp>
#include <backplane/serialize/checkpoint.hpp>
#include <backplane/serialize/safetensors.hpp>
#include <backplane/tensors.hpp>

#include "state_text.hpp"

namespace bp::serialize {
namespace {

// Of the metadata of a file. The second lists, one a line, tensors that are pairs of f64 in the file and complex128 here.
constexpr const char* tree_key = "backplane.state";
constexpr const char* complex_key = "backplane.complex128";

std::set<std::string> lines_of(const Metadata& metadata, const char* key) {
  std::set<std::string> lines;
  const auto found = metadata.find(key);
  if (found == metadata.end()) return lines;
  for (std::size_t at = 0; at < found->second.size();) {
    const std::size_t end = std::min(found->second.find('\n', at), found->second.size());
    lines.insert(found->second.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

Tensor complex_again(const Tensor& pairs, const std::string& name, const std::string& file) {
  BP_CHECK(pairs.dtype() == f64 && pairs.ndim() > 0 && pairs.size(-1) == 2,
           "{}: tensor {} is marked as complex128, but is {} of shape {}, not pairs of float64",
           file, files::shown(name), bp::name(pairs.dtype()), to_string(pairs.shape()));
  return view_as_complex(pairs);
}

std::uint64_t word_of(const State& state, const char* key) {
  return std::bit_cast<std::uint64_t>(state.at(key).as_int());
}

}  // namespace

void save(const std::filesystem::path& path, const State& state) {
  StateText tree = text_of(state, path.string());
  nn::StateDict tensors;
  Metadata metadata{{tree_key, std::move(tree.text)}};
  for (const auto& [name, tensor] : tree.tensors) {
    const bool is_wide = tensor.dtype() == complex128;
    if (is_wide) metadata[complex_key] += name + "\n";
    tensors.set(name, is_wide ? view_as_real(detach(tensor)) : tensor);
  }
  save_file(tensors, path, metadata);
}

State load(const std::filesystem::path& path) {
  const SafetensorsFile opened(path, {.mapped = false});
  const std::string file = path.string();
  const auto tree = opened.metadata().find(tree_key);
  BP_CHECK(tree != opened.metadata().end(),
           "{}: has only tensors, and no state; read it with load_file, or save it with "
           "serialize::save",
           file);
  nn::StateDict tensors = opened.get_tensors();
  for (const std::string& name : lines_of(opened.metadata(), complex_key)) {
    BP_CHECK(tensors.contains(name), "{}: tensor {} is missing", file, files::shown(name));
    tensors.set(name, complex_again(tensors.at(name), name, file));
  }
  const auto tensor_called = [&](const std::string& name) {
    BP_CHECK(tensors.contains(name), "{}: its state has a tensor {}, which is missing among {}",
             file, files::shown(name), tensors.size());
    return tensors.at(name);
  };
  return state_from(tree->second, tensor_called, file);
}

State to_state(const nn::StateDict& dict) {
  State made = State::dict();
  for (const auto& [name, tensor] : dict) made.set(name, State(tensor));
  return made;
}

nn::StateDict to_state_dict(const State& state) {
  nn::StateDict dict;
  if (state.is_none()) return dict;
  for (const auto& [name, value] : state.entries()) {
    BP_CHECK(value.is_tensor(),
             "to_state_dict: {} is {}, not a tensor; pass the part of the state that is a module's",
             files::shown(name), value.kind());
    dict.set(name, value.as_tensor());
  }
  return dict;
}

// A State's ints are signed: the bits are kept.
State state_of(const Generator& generator) {
  const PhiloxState now = generator.state();
  return State::dict({{"seed", State(std::bit_cast<std::int64_t>(now.seed))},
                      {"offset", State(std::bit_cast<std::int64_t>(now.offset))}});
}

void set_state(Generator& generator, const State& state) {
  generator.set_state({word_of(state, "seed"), word_of(state, "offset")});
}

State states_of(const NamedGenerators& generators) {
  State made = State::dict();
  for (const auto& [name, generator] : generators) {
    BP_CHECK(generator, "states_of: generator {} is null", files::shown(name));
    made.set(name, state_of(*generator));
  }
  return made;
}

void set_states(const NamedGenerators& generators, const State& states) {
  for (const auto& [name, generator] : generators) {
    BP_CHECK(generator, "set_states: generator {} is null", files::shown(name));
    const State& state = states.at(name);
    word_of(state, "seed"), word_of(state, "offset");  // so that nothing has changed if this throws
  }
  for (const auto& [name, generator] : generators) set_state(*generator, states.at(name));
}

State to_state(const Checkpoint& checkpoint) {
  return State::dict({{"step", State(checkpoint.step)},
                      {"model", to_state(checkpoint.model)},
                      {"optimizer", checkpoint.optimizer},
                      {"scheduler", checkpoint.scheduler},
                      {"scaler", checkpoint.scaler},
                      {"loader", checkpoint.loader},
                      {"generators", checkpoint.generators},
                      {"extra", checkpoint.extra}});
}

Checkpoint to_checkpoint(const State& state) {
  return {.step = state.at("step").as_int(),
          .model = to_state_dict(state.at("model")),
          .optimizer = state.at("optimizer"),
          .scheduler = state.at("scheduler"),
          .scaler = state.at("scaler"),
          .loader = state.at("loader"),
          .generators = state.at("generators"),
          .extra = state.at("extra")};
}

}  // namespace bp::serialize

#include <algorithm>

#include <backplane/core_ops/creation.hpp>
#include <backplane/core_ops/generated/all.hpp>
#include <backplane/data/collate.hpp>
#include <backplane/dispatcher/host_device.hpp>
#include <backplane/tensor/check.hpp>

namespace bp::data {
namespace {

// One place of the trees, in all samples.
struct Place {
  std::string path;  // "", ".image", "[0].label"
  std::vector<const Sample*> values;
  std::span<const std::int64_t> indices;

  std::string sample(std::size_t i) const {
    return fmt::format("sample {}", indices.empty() ? static_cast<std::int64_t>(i) : indices[i]);
  }
  std::string where() const { return path.empty() ? "" : fmt::format(" at {}", path); }
};

bool is_number(const Sample& value) {
  return value.is_bool() || value.is_int() || value.is_double();
}

Batch collated_tensors(const Place& place) {
  std::vector<Tensor> tensors;
  tensors.reserve(place.values.size());
  for (std::size_t i = 0; i < place.values.size(); ++i) {
    const Tensor& each = place.values[i]->as_tensor();
    BP_CHECK(each.defined(), "default_collate: {} has an undefined tensor{}", place.sample(i),
             place.where());
    if (i > 0 && !(each.shape() == tensors[0].shape()))
      throw_error(ErrorClass::bad_argument,
                  fmt::format("default_collate: {} has shape {}{} and {} has {}; make their shapes "
                              "equal, or pass a collate_fn",
                              place.sample(0), to_string(tensors[0].shape()), place.where(),
                              place.sample(i), to_string(each.shape())));
    tensors.push_back(each);
  }
  return stack(tensors);
}

Batch collated_numbers(const Place& place) {
  const auto all = [&](bool (State::*is)() const) {
    return std::all_of(place.values.begin(), place.values.end(),
                       [&](const Sample* each) { return (each->*is)(); });
  };
  const TensorOptions on_host{.device = host_device()};
  if (all(&State::is_bool)) {
    std::vector<std::uint8_t> bools;
    for (const Sample* each : place.values) bools.push_back(each->as_bool());
    return to(tensor(bools, on_host), boolean);
  }
  const auto as_whole = [](const Sample& each) {
    return each.is_bool() ? static_cast<std::int64_t>(each.as_bool()) : each.as_int();
  };
  if (std::none_of(place.values.begin(), place.values.end(),
                   [](const Sample* each) { return each->is_double(); })) {
    std::vector<std::int64_t> whole;
    for (const Sample* each : place.values) whole.push_back(as_whole(*each));
    return tensor(whole, on_host);
  }
  std::vector<double> real;
  for (const Sample* each : place.values)
    real.push_back(each->is_double() ? each->as_double() : static_cast<double>(as_whole(*each)));
  return tensor(real, on_host);
}

Batch collated(const Place& place);

Batch collated_lists(const Place& place) {
  const std::size_t length = place.values[0]->size();
  for (std::size_t i = 1; i < place.values.size(); ++i)
    BP_CHECK(
        place.values[i]->size() == length,
        "default_collate: {} has a list of {}{} and {} one of {}; lists must have the same length",
        place.sample(0), length, place.where(), place.sample(i), place.values[i]->size());
  State::List result;
  for (std::size_t at = 0; at < length; ++at) {
    Place inner{fmt::format("{}[{}]", place.path, at), {}, place.indices};
    for (const Sample* each : place.values) inner.values.push_back(&each->as_list()[at]);
    result.push_back(collated(inner));
  }
  return result;
}

Batch collated_dicts(const Place& place) {
  Batch result = State::dict();
  for (std::size_t i = 1; i < place.values.size(); ++i)
    for (const State::Entry& entry : place.values[i]->entries())
      BP_CHECK(place.values[0]->contains(entry.first),
               "default_collate: {} has the key \"{}\"{}, which {} lacks", place.sample(i),
               entry.first, place.where(), place.sample(0));
  for (const State::Entry& entry : place.values[0]->entries()) {
    Place inner{fmt::format("{}.{}", place.path, entry.first), {}, place.indices};
    for (std::size_t i = 0; i < place.values.size(); ++i) {
      const Sample* found = place.values[i]->find(entry.first);
      BP_CHECK(found, "default_collate: {} has the key \"{}\"{}, which {} lacks", place.sample(0),
               entry.first, place.where(), place.sample(i));
      inner.values.push_back(found);
    }
    result.set(entry.first, collated(inner));
  }
  return result;
}

Batch collated(const Place& place) {
  const Sample& first = *place.values[0];
  BP_CHECK(!first.is_none(),
           "default_collate: {} is None{}; leave it out, or pass a collate_fn that takes it",
           place.sample(0), place.where());
  for (std::size_t i = 1; i < place.values.size(); ++i) {
    const Sample& other = *place.values[i];
    const bool alike =
        is_number(first) ? is_number(other) : std::string_view(first.kind()) == other.kind();
    BP_CHECK(alike, "default_collate: {} has {}{} and {} has {}", place.sample(0), first.kind(),
             place.where(), place.sample(i), other.kind());
  }
  if (first.is_tensor()) return collated_tensors(place);
  if (is_number(first)) return collated_numbers(place);
  if (first.is_list()) return collated_lists(place);
  if (first.is_dict()) return collated_dicts(place);
  State::List texts;
  for (const Sample* each : place.values) texts.push_back(*each);
  return texts;
}

}  // namespace

Batch default_collate(const std::vector<Sample>& samples, std::span<const std::int64_t> indices) {
  BP_CHECK(!samples.empty(), "default_collate: got no samples");
  BP_CHECK(indices.empty() || indices.size() == samples.size(),
           "default_collate: {} samples and {} indices", samples.size(), indices.size());
  Place root{"", {}, indices};
  for (const Sample& each : samples) root.values.push_back(&each);
  return collated(root);
}

}  // namespace bp::data

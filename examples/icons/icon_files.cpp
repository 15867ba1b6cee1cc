#include "icon_files.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>

#include <backplane/backplane.hpp>
#include <backplane/data/images.hpp>
#include <backplane/data/transforms.hpp>

#include "autoencoder.hpp"

namespace icons {
namespace {

using bp::Tensor;

// What shows through is white.
Tensor read_icon(const std::string& file) {
  const Tensor bytes = bp::data::read_image(file, {.mode = bp::data::ImageMode::rgb_alpha});
  const Tensor icon = bp::cast(bytes, bp::f32) / 255.0;
  const Tensor alpha = bp::narrow(icon, 0, 3, 1);
  return bp::narrow(icon, 0, 0, 3) * alpha + (1.0 - alpha);
}

}  // namespace

std::vector<std::string> find_icons(const std::filesystem::path& folder) {
  constexpr std::size_t least = 50;
  std::set<std::string> files;
  std::error_code unreadable;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, unreadable))
    if (entry.path().extension() == ".png") files.insert(std::filesystem::canonical(entry.path()));
  if (files.size() < least)
    throw std::runtime_error(folder.string() + ": " + std::to_string(files.size()) +
                             " PNG files there; " + std::to_string(least) +
                             " at least are needed to learn from");
  return {files.begin(), files.end()};
}

bp::data::DatasetPtr icon_dataset(std::vector<std::string> files, bool random) {
  const auto size = static_cast<std::int64_t>(files.size());
  const bp::data::RandomHorizontalFlip flip(random ? 0.5 : 0);
  const bp::data::Resize resize({icon_size, icon_size});
  return std::make_shared<bp::data::FunctionDataset>(
      size, [files = std::move(files), flip, resize](std::int64_t index) -> bp::data::Sample {
        const Tensor icon = read_icon(files[static_cast<std::size_t>(index)]);
        return flip(icon.size(1) == icon_size && icon.size(2) == icon_size ? icon : resize(icon));
      });
}

}  // namespace icons

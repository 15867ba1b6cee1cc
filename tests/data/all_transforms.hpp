// One of each transform, and pictures for them.
#pragma once

#include "data/datasets.hpp"

namespace bp::test {

inline Tensor bytes_of_shape(IntList shape, std::uint64_t seed = 5) {
  Generator generator(seed);
  return to(randint(0, 256, shape, i64, std::nullopt, &generator), u8);
}
inline Tensor floats_of_shape(IntList shape, std::uint64_t seed = 5) {
  Generator generator(seed);
  return rand(shape, f64, std::nullopt, &generator);
}

inline Tensor applied(const Transform& transform, const Tensor& images, std::uint64_t seed = 1) {
  Generator generator(seed);
  return transform.apply(images, generator);
}

struct Named {
  std::string name;
  TransformPtr transform;
  bool takes_floats = true;
};

inline std::vector<Named> all_transforms() {
  return {
      {"Resize", std::make_shared<Resize>(std::vector<std::int64_t>{9, 6})},
      {"Pad", std::make_shared<Pad>(std::vector<std::int64_t>{1, 2}, 0, PaddingMode::reflect)},
      {"CenterCrop", std::make_shared<CenterCrop>(std::vector<std::int64_t>{4, 14})},
      {"RandomCrop", std::make_shared<RandomCrop>(std::vector<std::int64_t>{7, 8},
                                                  RandomCropOptions{.padding = {1}})},
      {"RandomResizedCrop", std::make_shared<RandomResizedCrop>(std::vector<std::int64_t>{6})},
      {"RandomHorizontalFlip", std::make_shared<RandomHorizontalFlip>()},
      {"RandomVerticalFlip", std::make_shared<RandomVerticalFlip>()},
      {"Grayscale", std::make_shared<Grayscale>(3)},
      {"ColorJitter", std::make_shared<ColorJitter>(ColorJitterOptions{
                          .brightness = 0.4, .contrast = 0.4, .saturation = 0.4, .hue = 0.1})},
      {"RandomAffine", std::make_shared<RandomAffine>(
                           RandomAffineOptions{.degrees = {-30, 30},
                                               .translate = {0.1, 0.2},
                                               .scale = {0.8, 1.2},
                                               .shear = {-5, 5, 0, 0},
                                               .interpolation = Interpolation::bilinear})},
      {"RandomRotation", std::make_shared<RandomRotation>(std::array<double, 2>{-90, 90})},
      {"RandomErasing", std::make_shared<RandomErasing>(RandomErasingOptions{.p = 1})},
      {"RandAugment", std::make_shared<RandAugment>(), false},
  };
}

}  // namespace bp::test

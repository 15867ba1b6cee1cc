#include "picture.hpp"

#include <algorithm>
#include <cmath>

#include <backplane/backplane.hpp>

#include "canvas.hpp"

namespace digits {
namespace {

constexpr Color black{20, 20, 20}, gray{200, 200, 200}, blue{31, 98, 181}, green{24, 128, 72},
    red{196, 40, 40};
constexpr std::int64_t margin = 20, panel = 320, cell = panel / (num_classes + 1);

// The data set's own images are the letters: one of each digit.
class Digits {
 public:
  explicit Digits(const Images& images)
      : pixels_(bp::to_vector<float>(images.pixels)),
        labels_(bp::to_vector<std::int64_t>(images.labels)) {}

  std::int64_t label(std::size_t image) const { return labels_[image]; }
  std::size_t size() const { return labels_.size(); }
  const float* pixels(std::size_t image) const { return &pixels_[image * num_pixels]; }
  // The first image of the digit that was read rightly; any, if none was.
  const float* letter(std::int64_t digit, const std::vector<std::int64_t>& predictions) const {
    std::size_t found = 0;
    for (std::size_t i = size(); i-- > 0;)
      if (labels_[i] == digit && predictions[i] == digit) found = i;
    return pixels(found);
  }

 private:
  std::vector<float> pixels_;
  std::vector<std::int64_t> labels_;
};

// The means of as many steps as share a column, on a scale of powers of ten with a line for each.
void draw_losses(Canvas& canvas, std::int64_t left, const std::vector<double>& losses) {
  constexpr double highest = 1, lowest = -4;  // powers of ten
  const auto row = [&](double loss) {
    const double power = std::clamp(std::log10(std::max(loss, 1e-30)), lowest, highest);
    return static_cast<double>(margin) + (highest - power) / (highest - lowest) * panel;
  };
  canvas.rectangle(left, margin, 1, panel, black);
  for (double power = lowest; power <= highest; ++power)
    canvas.rectangle(left, std::lround(row(std::pow(10, power))), panel, 1,
                     power == lowest ? black : gray);
  const std::size_t columns = std::min<std::size_t>(losses.size(), panel / 2);
  double last_x = 0, last_y = 0;
  for (std::size_t column = 0; column < columns; ++column) {
    const std::size_t first = column * losses.size() / columns,
                      end = (column + 1) * losses.size() / columns;
    double sum = 0;
    for (std::size_t step = first; step < end; ++step) sum += losses[step];
    const double x = static_cast<double>(left) +
                     static_cast<double>(column) * panel / static_cast<double>(columns);
    const double y = row(sum / static_cast<double>(end - first));
    if (column > 0) canvas.line(last_x, last_y, x, y, blue);
    last_x = x;
    last_y = y;
  }
}

// Rows are what an image shows, columns what it was read as; the darker a cell, the greater its share of the row.
void draw_confusion(Canvas& canvas, std::int64_t left, const Digits& digits,
                    const std::vector<std::int64_t>& predictions) {
  std::vector<double> counts(num_classes * num_classes), rows(num_classes);
  for (std::size_t i = 0; i < digits.size(); ++i) {
    ++counts[static_cast<std::size_t>(digits.label(i) * num_classes + predictions[i])];
    ++rows[static_cast<std::size_t>(digits.label(i))];
  }
  for (std::int64_t i = 0; i < num_classes; ++i) {
    const float* letter = digits.letter(i, predictions);
    canvas.image(left, margin + (i + 1) * cell, 3, letter, black);
    canvas.image(left + (i + 1) * cell, margin, 3, letter, black);
  }
  for (std::int64_t shown = 0; shown < num_classes; ++shown)
    for (std::int64_t read = 0; read < num_classes; ++read) {
      const double count = counts[static_cast<std::size_t>(shown * num_classes + read)];
      const double share = std::sqrt(count / std::max(rows[static_cast<std::size_t>(shown)], 1.0));
      const Color full = shown == read ? green : red;
      Color color;
      for (std::size_t channel = 0; channel < 3; ++channel)
        color[channel] =
            static_cast<std::uint8_t>(std::lround(245 - share * (245 - full[channel])));
      canvas.rectangle(left + (read + 1) * cell, margin + (shown + 1) * cell, cell - 2, cell - 2,
                       color);
    }
}

// Each misread image, what it shows below in green and what it was read as in red; as many as fit.
void draw_mistakes(Canvas& canvas, std::int64_t left, const Digits& digits,
                   const std::vector<std::int64_t>& predictions) {
  constexpr std::int64_t scale = 6, place = 10 * image_size, in_row = panel / place;
  std::int64_t count = 0;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (digits.label(i) == predictions[i]) continue;
    const std::int64_t x = left + count % in_row * place, y = margin + count / in_row * place;
    if (y + place > margin + panel) break;
    canvas.image(x, y, scale, digits.pixels(i), black);
    canvas.image(x, y + scale * image_size + 4, 2, digits.letter(digits.label(i), predictions),
                 green);
    canvas.image(x + 3 * image_size, y + scale * image_size + 4, 2,
                 digits.letter(predictions[i], predictions), red);
    ++count;
  }
}

}  // namespace

void write_picture(const std::filesystem::path& file, const std::vector<double>& losses,
                   const Images& held_out, const std::vector<std::int64_t>& predictions) {
  const Digits digits(held_out);
  Canvas canvas(4 * margin + 3 * panel, 2 * margin + panel);
  draw_losses(canvas, margin, losses);
  draw_confusion(canvas, 2 * margin + panel, digits, predictions);
  draw_mistakes(canvas, 3 * margin + 2 * panel, digits, predictions);
  canvas.write(file);
}

}  // namespace digits

#include "decompositions/detection.hpp"

#include <algorithm>
#include <vector>

#include <backplane/tensor/check.hpp>

#include "rules/decompositions.hpp"

namespace bp {
namespace {

// The edges of boxes, each [..., n].
struct Edges {
  Tensor left, top, right, bottom;
};

Edges edges_of(const Tensor& boxes) {
  return {select(boxes, -1, 0), select(boxes, -1, 1), select(boxes, -1, 2), select(boxes, -1, 3)};
}

Tensor area_of(const Edges& boxes) {
  return mul(sub(boxes.right, boxes.left), sub(boxes.bottom, boxes.top));
}

// [..., n, m]: the area that two boxes share, by that which they cover together.
Tensor overlaps(const Edges& first, const Edges& second) {
  const auto shared = [](const Tensor& low1, const Tensor& low2, const Tensor& high1,
                         const Tensor& high2) {
    const Tensor low = maximum(unsqueeze(low1, -1), unsqueeze(low2, -2));
    return clamp_min(sub(minimum(unsqueeze(high1, -1), unsqueeze(high2, -2)), low), 0);
  };
  const Tensor both = mul(shared(first.left, second.left, first.right, second.right),
                          shared(first.top, second.top, first.bottom, second.bottom));
  const Tensor areas = add(unsqueeze(area_of(first), -1), unsqueeze(area_of(second), -2));
  return div(both, sub(areas, both));
}

void check_boxes(const char* op, const Tensor& boxes, std::int64_t rank) {
  BP_CHECK(boxes.ndim() == rank && boxes.size(-1) == 4,
           "{}: boxes have shape {}; pass {}, of left, top, right and bottom", op,
           to_string(boxes.shape()), rank == 2 ? "[n, 4]" : "[N, n, 4]");
}

// Which boxes of each group, [groups, n, 4], the best first, remain: a box that remains takes out those behind it that it
// overlaps. `remains`, [groups, n], says which take part. Overlaps are computed for a block of boxes at a time, so that
// memory does not grow with the square of n.
Tensor remaining_boxes(const Tensor& boxes, Tensor remains, double threshold) {
  constexpr std::int64_t most_rows = 128;
  std::vector<Tensor> done;
  Tensor rest = boxes;
  while (rest.size(1) > 0) {
    const std::int64_t count = rest.size(1), rows = std::min(count, most_rows);
    const Tensor number = arange(0, count, 1, i64, boxes.device());
    const Tensor is_behind = gt(number, reshape(narrow(number, 0, 0, rows), {rows, 1}));
    const Tensor covers =
        gt(overlaps(edges_of(narrow(rest, 1, 0, rows)), edges_of(rest)), threshold);
    const Tensor spares = logical_not(logical_and(covers, is_behind));
    for (std::int64_t row = 0; row < rows; ++row)
      remains =
          where(narrow(remains, 1, row, 1), logical_and(remains, select(spares, 1, row)), remains);
    done.push_back(narrow(remains, 1, 0, rows));
    remains = narrow(remains, 1, rows, count - rows);
    rest = narrow(rest, 1, rows, count - rows);
  }
  return done.empty() ? remains : cat(done, 1);
}

// [N, n, 4] with edges in order, from two corners or from center and size; y may come first, as long as it does for all.
Tensor boxes_from_corners(const Tensor& boxes, bool are_centered) {
  const Tensor first = narrow(boxes, -1, 0, 2), second = narrow(boxes, -1, 2, 2);
  if (!are_centered) return cat({minimum(first, second), maximum(first, second)}, -1);
  const Tensor half = mul(second, 0.5);
  return cat({sub(first, half), add(first, half)}, -1);
}

}  // namespace

Tensor overlaps_of_boxes(const Tensor& boxes1, const Tensor& boxes2) {
  check_boxes("box_iou", boxes1, 2);
  check_boxes("box_iou", boxes2, 2);
  BP_CHECK(boxes1.dtype() == boxes2.dtype(), "box_iou: boxes of {} and {}; cast one of them",
           name(boxes1.dtype()), name(boxes2.dtype()));
  return in_dtype(overlaps(edges_of(widened(boxes1)), edges_of(widened(boxes2))), boxes1.dtype());
}

Tensor best_boxes(const Tensor& boxes, const Tensor& scores, double iou_threshold) {
  check_boxes("nms", boxes, 2);
  const std::int64_t count = boxes.size(0);
  BP_CHECK(scores.ndim() == 1 && scores.numel() == count,
           "nms: scores of shape {} for {} boxes; pass one for each", to_string(scores.shape()),
           count);
  const Tensor order = sort(scores, 0, true).indices;
  const Tensor sorted = unsqueeze(index_select(widened(boxes), 0, order), 0);
  const Tensor all = full({1, count}, true, boolean, boxes.device());
  const Tensor remains = remaining_boxes(sorted, all, iou_threshold);
  return index_select(order, 0, select(nonzero(reshape(remains, {count})), 1, 0));
}

Tensor best_boxes_of_classes(const Tensor& boxes, const Tensor& scores, std::int64_t most,
                             double iou_threshold, std::optional<double> score_threshold,
                             bool center_point_box) {
  constexpr const char* op = "non_max_suppression";
  check_boxes(op, boxes, 3);
  const std::int64_t batch = boxes.size(0), count = boxes.size(1);
  BP_CHECK(scores.ndim() == 3 && scores.size(0) == batch && scores.size(2) == count,
           "{}: scores of shape {} for boxes of shape {}; pass [N, classes, n]", op,
           to_string(scores.shape()), to_string(boxes.shape()));
  BP_CHECK(most >= 0, "{}: max_output_boxes_per_class is {}; pass 0 or more", op, most);
  const std::int64_t classes = scores.size(1);
  if (most == 0 || scores.numel() == 0) return full({0, 3}, 0, i64, boxes.device());
  const SortResult sorted = sort(scores, -1, true);
  const Dims lines{batch, classes, count, 4};
  const Tensor ordered = expand(unsqueeze(sorted.indices, -1), lines);
  const Tensor wide = boxes_from_corners(widened(boxes), center_point_box);
  const Tensor each = gather(expand(unsqueeze(wide, 1), lines), 2, ordered);
  const Tensor takes_part = score_threshold ? gt(sorted.values, *score_threshold)
                                            : full(scores.shape(), true, boolean, boxes.device());
  const Tensor remains =
      remaining_boxes(reshape(each, {batch * classes, count, 4}),
                      reshape(takes_part, {batch * classes, count}), iou_threshold);
  const Tensor is_early = le(cumsum(cast(remains, i64), 1), most);
  const Tensor found = nonzero(reshape(logical_and(remains, is_early), {batch, classes, count}));
  const Tensor image = select(found, 1, 0), type = select(found, 1, 1);
  const Tensor line = add(mul(image, classes), type);
  const Tensor place = add(mul(line, count), select(found, 1, 2));
  const Tensor box = index_select(reshape(sorted.indices, {-1}), 0, place);
  return stack({image, type, box}, 1);
}

}  // namespace bp

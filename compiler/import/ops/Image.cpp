//===- Image.cpp - Resampling and other operators on images ---------------===//

#include "compiler/import/OpTable.h"
#include "compiler/import/ops/Windows.h"

#include <cassert>
#include <cmath>
#include <utility>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::importer;

using nn::CoordinateMode;
using nn::NearestMode;
using nn::ResizeMode;

namespace {
/// A resize, with the parameters that versions leave out at their defaults.
struct ResizeRules {
  Ints sizes;
  Doubles scales;
  Doubles roi; ///< starts, then ends, of every dimension
  ResizeMode mode = ResizeMode::nearest;
  CoordinateMode coordinates = CoordinateMode::asymmetric;
  NearestMode nearest = NearestMode::floor;
  double cubicA = -0.75, extrapolation = 0;
  bool excludeOutside = false, antialias = false;
};
} // namespace

/// Null after a fault.
static Value createResize(Node &n, Value x, const ResizeRules &rules) {
  RankedTensorType type = n.type(rules.sizes, n.elem(x));
  if (!type)
    return nullptr;
  OpBuilder &b = n.builder();
  SmallVector<NamedAttribute> attrs = {
      n.attr("scales", b.getDenseF64ArrayAttr(rules.scales)),
      n.kind<nn::ResizeModeAttr>("mode", rules.mode),
      n.kind<nn::CoordinateModeAttr>("coordinates", rules.coordinates),
      n.kind<nn::NearestModeAttr>("nearest", rules.nearest),
      n.number("cubic_a", rules.cubicA),
      n.flag("exclude_outside", rules.excludeOutside),
      n.flag("antialias", rules.antialias),
      n.number("extrapolation", rules.extrapolation)};
  if (!rules.roi.empty())
    attrs.push_back(n.attr("roi", b.getDenseF64ArrayAttr(rules.roi)));
  return n.create<nn::ResizeOp>({x}, attrs, type);
}

/// Output sizes are floor(input * scale), the product in f32 as in other
/// engines: at 10 * 0.7 it is whole.
static bool sizesFromScales(Node &n, Value x, ArrayRef<double> scales,
                            ResizeRules &rules) {
  if (n.failed())
    return false;
  assert(int64_t(scales.size()) == n.rank(x) && rules.sizes.empty() &&
         rules.scales.empty() && "a scale for each dimension, taken once");
  for (auto [i, s] : llvm::enumerate(scales)) {
    double size = std::floor(float(n.dim(x, i)) * float(s));
    if (!(s > 0) || !(size < 1e12))
      return n.refuse("scale " + Twine(std::to_string(s)) + " of dimension " +
                          Twine(i),
                      "a positive one");
    rules.sizes.push_back(int64_t(size));
    rules.scales.push_back(s);
  }
  return true;
}

static void upsample(Node &n) {
  Value x = n.in(0);
  ResizeRules rules;
  rules.mode = n.choice("mode", "nearest", {"nearest", "linear", "bilinear"})
                   ? ResizeMode::linear
                   : ResizeMode::nearest;
  Doubles scales;
  if (n.opset() < 7)
    scales = {1, 1, n.floatAttr("height_scale", 1),
              n.floatAttr("width_scale", 1)};
  else if (n.opset() < 9)
    scales = n.floatsAttr("scales");
  else if (auto data = n.constantInput(1, "scales"))
    scales = data->asDoubles();
  if (!n.failed() && int64_t(scales.size()) != n.rank(x))
    return n.fail(Twine(scales.size()) + " scales", Twine(n.rank(x)));
  if (sizesFromScales(n, x, scales, rules))
    n.out(createResize(n, x, rules));
}

/// By whole numbers, given as an attribute.
static void nchwcUpsample(Node &n) {
  Value x = n.in(0);
  ResizeRules rules;
  rules.mode = n.choiceOf<ResizeMode>("mode", "nearest", {"nearest", "linear"});
  rules.coordinates =
      n.choiceOf<CoordinateMode>("coordinate_transformation_mode", "asymmetric",
                                 {"asymmetric", "align_corners", "half_pixel"});
  Ints factors = n.intsAttr("scales");
  if (!n.failed() && int64_t(factors.size()) != n.rank(x))
    return n.fail(Twine(factors.size()) + " scales", Twine(n.rank(x)));
  Doubles scales(factors.begin(), factors.end());
  if (sizesFromScales(n, x, scales, rules))
    n.out(createResize(n, x, rules));
}

/// The last dimension of sizes given for some axes keeps the aspect ratio.
static void keepAspect(Node &n, Value x, bool notLarger, ArrayRef<int64_t> axes,
                       ResizeRules &rules) {
  float scale = 0;
  for (int64_t a : axes) {
    float s = float(rules.sizes[a]) / float(std::max<int64_t>(n.dim(x, a), 1));
    scale = a == axes[0] ? s
            : notLarger  ? std::min(scale, s)
                         : std::max(scale, s);
  }
  for (int64_t a : axes) {
    if (!(scale * n.dim(x, a) < 1e12))
      return n.fail("sizes " + str(rules.sizes), "smaller ones");
    rules.scales[a] = scale;
    rules.sizes[a] = int64_t(std::round(scale * float(n.dim(x, a))));
  }
}

/// Before version 11, the nearest element of a dimension that shrinks is the
/// one above its coordinate (ONNX's cases of then, and ONNX Runtime, take it
/// so). Resizes these dimensions and sets their scales to 1.
static Value shrinkNearest(Node &n, Value x, Doubles &scales) {
  ResizeRules rules;
  rules.nearest = NearestMode::ceil;
  Doubles shrunk;
  for (double &s : scales)
    shrunk.push_back(s < 1 ? std::exchange(s, 1) : 1);
  if (llvm::all_of(shrunk, [](double s) { return s == 1; }) ||
      !sizesFromScales(n, x, shrunk, rules))
    return x;
  return createResize(n, x, rules);
}

static void resize(Node &n) {
  Value x = n.in(0);
  ResizeRules rules;
  rules.mode =
      n.choiceOf<ResizeMode>("mode", "nearest", {"nearest", "linear", "cubic"});
  Ints axes = n.axesFrom(0, x);
  Doubles scales;
  if (n.opset() < 11) { // asymmetric, scales only
    if (auto data = n.constantInput(1, "scales"))
      scales = data->asDoubles();
    if (!n.failed() && int64_t(scales.size()) != n.rank(x))
      return n.fail(Twine(scales.size()) + " scales", Twine(n.rank(x)));
    if (rules.mode == ResizeMode::nearest)
      x = shrinkNearest(n, x, scales);
    if (sizesFromScales(n, x, scales, rules))
      n.out(createResize(n, x, rules));
    return;
  }
  rules.coordinates = n.choiceOf<CoordinateMode>(
      "coordinate_transformation_mode", "half_pixel",
      {"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric",
       "tf_crop_and_resize", "tf_half_pixel_for_nn", "half_pixel_symmetric"});
  rules.nearest = n.choiceOf<NearestMode>(
      "nearest_mode", "round_prefer_floor",
      {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"});
  rules.cubicA = n.floatAttr("cubic_coeff_a", -0.75);
  rules.excludeOutside = n.intAttr("exclude_outside", 0) != 0;
  rules.extrapolation = n.floatAttr("extrapolation_value", 0);
  rules.antialias = n.intAttr("antialias", 0) != 0;
  if (n.hasAttr("axes"))
    axes = n.axes(n.intsAttr("axes"), n.rank(x));
  unsigned policy = n.choice("keep_aspect_ratio_policy", "stretch",
                             {"stretch", "not_larger", "not_smaller"});
  if (rules.coordinates == CoordinateMode::tf_crop_and_resize) {
    auto roi = n.constantInput(1, "roi");
    if (n.failed())
      return;
    if (roi->size() != 2 * int64_t(axes.size()))
      return n.fail(Twine(roi->size()) + " values of roi",
                    "two for each of " + Twine(axes.size()) + " axes");
    rules.roi.assign(n.rank(x), 0);
    rules.roi.append(n.rank(x), 1);
    for (auto [i, a] : llvm::enumerate(axes)) {
      rules.roi[a] = roi->asDouble(i);
      rules.roi[a + n.rank(x)] = roi->asDouble(i + axes.size());
    }
  }

  auto given = [&](unsigned i) { return n.has(i) && n.size(n.in(i)) > 0; };
  if (n.failed())
    return;
  if (given(3)) {
    Ints sizes = n.intsInput(3, "sizes");
    if (n.failed())
      return;
    if (sizes.size() != axes.size())
      return n.fail(Twine(sizes.size()) + " sizes", Twine(axes.size()));
    rules.sizes = n.shape(x);
    rules.scales.assign(n.rank(x), 1);
    for (auto [a, s] : llvm::zip(axes, sizes)) {
      if (s < 0)
        return n.fail("sizes " + str(sizes), "positive ones");
      rules.sizes[a] = s;
      rules.scales[a] = double(s) / double(std::max<int64_t>(n.dim(x, a), 1));
    }
    if (policy)
      keepAspect(n, x, policy == 1, axes, rules);
    return n.out(createResize(n, x, rules));
  }
  auto data = n.constantInput(2, "scales");
  if (n.failed())
    return;
  if (data->size() != int64_t(axes.size()))
    return n.fail(Twine(data->size()) + " scales", Twine(axes.size()));
  scales.assign(n.rank(x), 1);
  for (auto [i, a] : llvm::enumerate(axes))
    scales[a] = data->asDouble(i);
  if (sizesFromScales(n, x, scales, rules))
    n.out(createResize(n, x, rules));
}

static void gridSample(Node &n) {
  Value x = n.in(0), grid = n.in(1);
  // Names changed with 20: linear, nearest, cubic.
  static constexpr ResizeMode resizeModes[] = {
      ResizeMode::linear, ResizeMode::nearest, ResizeMode::cubic,
      ResizeMode::linear, ResizeMode::cubic};
  ResizeMode mode = resizeModes[n.choice(
      "mode", n.opset() < 20 ? "bilinear" : "linear",
      {"bilinear", "nearest", "bicubic", "linear", "cubic"})];
  static constexpr StringRef paddings[] = {"zeros", "border", "reflection"};
  unsigned padding = n.choice("padding_mode", "zeros", paddings);
  int64_t rank = n.rank(x);
  if (!n.expectRank(x, 4, n.opset() < 20 ? 4 : 5, "an input") ||
      !n.expectRank(grid, rank, rank, "a grid"))
    return;
  if (n.dim(grid, rank - 1) != rank - 2 || n.dim(grid, 0) != n.dim(x, 0))
    return n.fail("a grid " + str(n.shape(grid)),
                  "[" + Twine(n.dim(x, 0)) + ", " +
                      (rank == 5 ? "D, H, W, 3]" : "H, W, 2]"));
  n.out(n.create<nn::GridSampleOp>(
      {x, grid},
      {n.kind<nn::ResizeModeAttr>("mode", mode),
       n.attr("padding", n.builder().getStringAttr(paddings[padding])),
       n.flag("align_corners", n.intAttr("align_corners", 0) != 0)}));
}

/// Where along one side of an image of `size` pixels the `count` samples of
/// each region lie, in pixels: [regions, count]. The regions reach from `low`
/// to `high` [regions, 1], parts of the image's side.
static Value samplePlaces(Node &n, Value low, Value high, int64_t size,
                          int64_t count) {
  double last = double(size - 1);
  if (count == 1)
    return n.mul(n.mul(n.add(low, high), 0.5), last);
  Value step = n.div(n.mul(n.sub(high, low), last), double(count - 1));
  Value index =
      n.generate({1, count}, n.elem(low), [](int64_t i) { return i; });
  Value places = n.add(n.mul(low, last), n.mul(index, step));
  Value isLast = n.binary(BinaryKind::equal, index, double(count - 1));
  return n.select(isLast, n.mul(high, last), places);
}

/// Samples regions of images like TensorFlow's CropAndResize. The outermost
/// samples lie on the region's edges. A sample outside of the image is
/// extrapolation_value.
static void cropAndResize(Node &n) {
  Value x = n.in(0), rois = n.in(1), batch = n.in(2);
  bool nearest = n.choice("mode", "bilinear", {"bilinear", "nearest"});
  double outside = n.floatAttr("extrapolation_value", 0);
  Ints crop = n.intsInput(3, "crop_size");
  if (!n.expectRank(x, 4, 4, "an input") || !n.expectRank(rois, 2, 2, "rois") ||
      !n.expectShape(batch, {n.dim(rois, 0)}, "batch_indices"))
    return;
  int64_t regions = n.dim(rois, 0), channels = n.dim(x, 1);
  if (crop.size() != 2 || crop[0] < 1 || crop[1] < 1 || n.dim(rois, 1) != 4)
    return n.fail("rois " + str(n.shape(rois)) + " and crop_size " + str(crop),
                  "[R, 4] and two positive sizes");
  if (n.dim(x, 2) < 1 || n.dim(x, 3) < 1)
    return n.fail("an input " + str(n.shape(x)), "one that is not empty");
  if (!n.type({regions, channels, crop[0], crop[1]}, n.elem(x)))
    return;
  Type wide = n.elem(x).isF64() ? n.elem(x) : n.f32();
  Value corners = n.cast(rois, wide), inside;
  Values grid(2);
  for (int d = 0; d < 2; ++d) {
    double last = double(n.dim(x, 2 + d) - 1);
    Value at =
        samplePlaces(n, n.slice(corners, 1, d, 1),
                     n.slice(corners, 1, 2 + d, 1), n.dim(x, 2 + d), crop[d]);
    at = n.reshape(at, {regions, d ? 1 : crop[0], d ? crop[1] : 1});
    Value here = n.binary(BinaryKind::logical_and,
                          n.binary(BinaryKind::greater_equal, at, 0.0),
                          n.binary(BinaryKind::less_equal, at, last));
    inside = inside ? n.binary(BinaryKind::logical_and, inside, here) : here;
    if (nearest) // halves go up
      at = n.unary(UnaryKind::floor, n.add(at, 0.5));
    // The grid counts -1 and 1 at the first and last pixel.
    at = last > 0 ? n.unary(UnaryKind::affine, at, {2 / last, -1})
                  : n.mul(at, 0.0);
    grid[1 - d] = // x comes first
        n.unsqueeze(n.broadcast(at, {regions, crop[0], crop[1]}), {3});
  }
  // One image holds all regions, several are gathered for each.
  bool isOne = n.dim(x, 0) == 1;
  Value places = n.concat(grid, 3);
  Value y = n.create<nn::GridSampleOp>(
      {isOne ? x : n.gather(x, batch, 0),
       isOne ? n.reshape(places, {1, regions * crop[0], crop[1], 2}) : places},
      {n.kind<nn::ResizeModeAttr>("mode", nearest ? ResizeMode::nearest
                                                  : ResizeMode::linear),
       n.attr("padding", n.builder().getStringAttr("border")),
       n.flag("align_corners", true)});
  if (isOne)
    y = n.transpose(n.reshape(y, {channels, regions, crop[0], crop[1]}),
                    {1, 0, 2, 3});
  n.out(n.select(n.unsqueeze(inside, {1}), y, n.scalar(n.elem(x), outside)));
}

static void roiAlign(Node &n) {
  Value x = n.in(0), rois = n.in(1), batch = n.in(2);
  bool isMax = n.choice("mode", "avg", {"avg", "max"});
  // Before 16 there was no half pixel offset.
  bool halfPixel = n.opset() >= 16 &&
                   n.choice("coordinate_transformation_mode", "half_pixel",
                            {"half_pixel", "output_half_pixel"}) == 0;
  int64_t height = n.intAttr("output_height", 1);
  int64_t width = n.intAttr("output_width", 1);
  int64_t ratio = n.intAttr("sampling_ratio", 0);
  if (!n.expectRank(x, 4, 4, "an input") || !n.expectRank(rois, 2, 2, "rois") ||
      !n.expectRank(batch, 1, 1, "batch_indices"))
    return;
  if (height < 1 || width < 1 || ratio < 0 || n.dim(rois, 1) != 4 ||
      n.dim(batch, 0) != n.dim(rois, 0))
    return n.fail("rois " + str(n.shape(rois)) + " for an output of " +
                      str({height, width}),
                  "[R, 4] and positive sizes");
  if (!n.type({n.dim(rois, 0), n.dim(x, 1), height, width}, n.elem(x)))
    return;
  n.out(n.create<nn::RoiAlignOp>(
      {x, rois, batch},
      {n.kind<nn::PoolKindAttr>("kind", isMax ? nn::PoolKind::max
                                              : nn::PoolKind::average),
       n.attr("output_height", height), n.attr("output_width", width),
       n.attr("sampling_ratio", ratio),
       n.number("spatial_scale", n.floatAttr("spatial_scale", 1)),
       n.flag("half_pixel", halfPixel)}));
}

/// Crops or pads around the centre; of an odd number of elements the extra one
/// is at the end.
static void centerCropPad(Node &n) {
  Value x = n.in(0);
  Ints target = n.intsInput(1, "shape");
  Ints axes = n.hasAttr("axes") ? n.axes(n.intsAttr("axes"), n.rank(x))
                                : n.axesFrom(0, x);
  if (n.failed())
    return;
  if (target.size() != axes.size())
    return n.fail("shape " + str(target),
                  "one size for each of " + Twine(axes.size()) + " axes");
  Ints low(n.rank(x), 0), high(n.rank(x), 0);
  for (auto [a, size] : llvm::zip(axes, target)) {
    int64_t d = n.dim(x, a);
    if (size < 0 || size > (int64_t(1) << 40))
      return n.fail("shape " + str(target), "sizes");
    int64_t difference = size - d;
    low[a] = difference >= 0 ? difference / 2 : -((-difference) / 2);
    high[a] = difference - low[a];
  }
  n.out(n.pad(x, low, high));
}

/// Coordinates of an output grid under theta: a product with the normalised
/// grid of the target size, which is constant.
static void affineGrid(Node &n) {
  Value theta = n.in(0);
  Ints size = n.intsInput(1, "size");
  bool align = n.intAttr("align_corners", 0) != 0;
  if (n.failed())
    return;
  int64_t dims = int64_t(size.size()) - 2;
  if (dims < 2 || dims > 3 || n.shape(theta) != Ints{size[0], dims, dims + 1})
    return n.fail("theta " + str(n.shape(theta)) + " for size " + str(size),
                  "[N, D, D+1] with 2 or 3 spatial dimensions");
  Ints spatial(size.begin() + 2, size.end());
  int64_t points = 1;
  for (int64_t d : spatial)
    if (d < 1 || llvm::MulOverflow(points, d, points))
      return n.fail("size " + str(size), "positive sizes");
  // [D + 1, points]: x (last dimension) first, then y, z, and ones.
  Value grid = n.generate({dims + 1, points}, n.elem(theta), [&](int64_t i) {
    int64_t row = i / points, point = i % points;
    if (row == dims)
      return 1.0;
    int64_t axis = dims - 1 - row, inner = 1;
    for (int64_t d = axis + 1; d < dims; ++d)
      inner *= spatial[d];
    int64_t extent = spatial[axis], at = point / inner % extent;
    if (align)
      return extent == 1 ? 0.0 : -1 + 2.0 * at / (extent - 1);
    return -1 + (2.0 * at + 1) / extent;
  });
  Value y = n.transpose(n.matmul(theta, grid), {0, 2, 1});
  Ints result{size[0]};
  result.append(spatial);
  result.push_back(dims);
  n.out(n.reshape(y, result));
}

/// Adds columns up at the places of an image from which Im2Col took them.
static void col2Im(Node &n) {
  Value x = n.in(0);
  Ints image = n.intsInput(1, "image_shape"),
       block = n.intsInput(2, "block_shape");
  size_t rank = image.size();
  Ints strides = n.intsAttr("strides", Ints(rank, 1));
  Ints dilations = n.intsAttr("dilations", Ints(rank, 1));
  Ints pads = n.intsAttr("pads", Ints(2 * rank, 0));
  if (!n.expectRank(x, 3, 3, "an input"))
    return;
  if (rank == 0 || !windowNumbers(image, rank, 1) ||
      !windowNumbers(block, rank, 1) || !windowNumbers(strides, rank, 1) ||
      !windowNumbers(dilations, rank, 1) || !windowNumbers(pads, 2 * rank, 0))
    return n.fail("image " + str(image) + ", block " + str(block) +
                      ", strides " + str(strides) + ", dilations " +
                      str(dilations) + ", pads " + str(pads),
                  "numbers for each dimension of the image");
  Ints padded, steps;
  int64_t kernel = 1, columns = 1;
  for (size_t i = 0; i < rank; ++i) {
    padded.push_back(image[i] + pads[i] + pads[i + rank]);
    int64_t room = padded[i] - dilations[i] * (block[i] - 1) - 1;
    steps.push_back(room < 0 ? 0 : room / strides[i] + 1);
    if (llvm::MulOverflow(kernel, block[i], kernel) ||
        llvm::MulOverflow(columns, steps[i], columns))
      return n.fail("image " + str(image), "a smaller one");
  }
  int64_t batch = n.dim(x, 0);
  if (n.dim(x, 1) % kernel || n.dim(x, 2) != columns || columns == 0)
    return n.fail("an input " + str(n.shape(x)),
                  "[N, C * " + Twine(kernel) + ", " + Twine(columns) + "]");
  int64_t planes = batch * (n.dim(x, 1) / kernel);
  RankedTensorType flat = n.type(padded, n.elem(x));
  if (!flat || !n.type({planes, flat.getNumElements()}, n.elem(x)) ||
      !n.type({kernel * columns}, n.i64()))
    return;
  Ints indices(kernel * columns);
  for (int64_t i = 0; i < kernel * columns; ++i) {
    int64_t k = i / columns, c = i % columns, offset = 0, stride = 1;
    for (size_t d = rank; d-- > 0;) {
      int64_t at = c % steps[d] * strides[d] + k % block[d] * dilations[d];
      offset += at * stride;
      stride *= padded[d];
      c /= steps[d];
      k /= block[d];
    }
    indices[i] = offset;
  }
  Value places = n.broadcast(n.ints(indices), {planes, kernel * columns});
  Value sums = n.create<nn::ScatterElementsOp>(
      {n.splat({planes, flat.getNumElements()}, n.elem(x), 0), places,
       n.reshape(x, {planes, kernel * columns})},
      {n.attr("axis", int64_t(1)),
       n.kind<nn::ScatterReductionAttr>("reduction",
                                        nn::ScatterReduction::add)});
  Ints result{batch, n.dim(x, 1) / kernel}, low{0, 0}, high{0, 0};
  result.append(padded);
  for (size_t i = 0; i < rank; ++i) {
    low.push_back(-pads[i]);
    high.push_back(-pads[i + rank]);
  }
  n.out(n.pad(n.reshape(sums, result), low, high));
}

OpRows importer::imageOps() {
  static const OpRow rows[] = {
      {"AffineGrid", 20, kFloats, affineGrid, "size constant"},
      {"CenterCropPad", 18, kAll, centerCropPad, "shape constant"},
      {"Col2Im", 18, kFloats, col2Im, "image_shape, block_shape constant"},
      microsoftOp("CropAndResize", kFloats, cropAndResize,
                  "crop_size constant"),
      {"GridSample", 16, kFloats, gridSample, "2 or 3 spatial dimensions"},
      microsoftOp("GridSample", kFloats, gridSample, "2 spatial dimensions"),
      {"Resize", 10, kNumbers, resize, "scales, sizes, roi constant"},
      {"RoiAlign", 10, kFloats, roiAlign},
      {"Upsample", 1, kNumbers, upsample, "scales constant", 9},
      nchwcOp("Upsample", nchwcUpsample),
  };
  return rows;
}

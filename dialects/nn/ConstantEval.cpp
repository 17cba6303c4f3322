//===- ConstantEval.cpp - Data movement on constants ----------------------===//
#include "dialects/nn/ConstantEval.h"
#include "dialects/nn/ConstantBudget.h"
#include "dialects/nn/Layout.h"
#include "dialects/nn/StridedLoop.h"
#include "mlir/IR/DialectResourceBlobManager.h"

#include <algorithm>
#include <cstring>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::nn;

/// Bytes that a fold may add to the bundle without asking: shape arithmetic,
/// masks and small tables.
static constexpr int64_t freeBytes = 256 << 10;

bool nn::reserveResult(RankedTensorType type,
                       ArrayRef<const ConstantData *> operands, Growth growth) {
  int64_t stored = 0, size = storageSize(withLayout(type, ""));
  for (const ConstantData *operand : operands)
    stored += operand->stored().size();
  return (growth == Growth::any || size <= std::max(freeBytes, 2 * stored)) &&
         ConstantBudget::of(type.getContext()).take(size);
}

ElementsAttr nn::evalReshape(Attribute value, RankedTensorType type) {
  type = withLayout(type, "");
  if (auto resource = dyn_cast_or_null<DenseResourceElementsAttr>(value)) {
    if (resource.getShapedType().getElementType() != type.getElementType())
      return {};
    return DenseResourceElementsAttr::get(type, resource.getRawHandle());
  }
  auto dense = dyn_cast_or_null<DenseElementsAttr>(value);
  if (!dense || dense.getElementType() != type.getElementType() ||
      dense.getNumElements() != type.getNumElements())
    return {};
  return dense.reshape(type);
}

/// A constant made by copying `shape` elements of the input from `offset` with
/// `strides` (both in elements) to the whole result.
static ElementsAttr copyFrom(const ConstantData &input, int64_t offset,
                             ArrayRef<int64_t> strides, RankedTensorType type) {
  type = withLayout(type, "");
  if (input.isSplat() && type.getNumElements() > 0)
    return makeSplatOf(type, input.stored().data());
  if (!reserveResult(type, {&input}))
    return {};
  unsigned size = input.codec().size;
  return makeConstant(type, [&](MutableArrayRef<char> result) {
    copyStrided(type.getShape(), size, input.stored().data() + offset * size,
                strides, result.data(), denseStrides(type.getShape()));
  });
}

ElementsAttr nn::evalTranspose(ArrayRef<int64_t> perm,
                               const ConstantData &input,
                               RankedTensorType type) {
  SmallVector<int64_t> from = denseStrides(input.shape()), strides;
  for (int64_t dim : perm)
    strides.push_back(from[dim]);
  return copyFrom(input, 0, strides, type);
}

ElementsAttr nn::evalBroadcast(const ConstantData &input,
                               RankedTensorType type) {
  return copyFrom(input, 0, broadcastStrides(input.shape(), type.getShape()),
                  type);
}

ElementsAttr nn::evalSlice(ArrayRef<int64_t> starts, ArrayRef<int64_t> steps,
                           const ConstantData &input, RankedTensorType type) {
  SmallVector<int64_t> strides = denseStrides(input.shape());
  int64_t offset = 0;
  if (type.getNumElements() == 0)
    return makeConstant(type, ArrayRef<char>());
  for (size_t i = 0; i < strides.size(); ++i) {
    offset += starts[i] * strides[i];
    strides[i] *= type.getDimSize(i) == 1 ? 0 : steps[i];
  }
  return copyFrom(input, offset, strides, type);
}

/// Strides that read all elements of a constant as it is stored.
static SmallVector<int64_t> storedStrides(const ConstantData &input) {
  return input.isSplat() ? SmallVector<int64_t>(input.shape().size(), 0)
                         : denseStrides(input.shape());
}

/// Index `i` of an axis of `extent` elements: negative ones count from its end.
static int64_t indexAt(const ConstantData &indices, int64_t i, int64_t extent) {
  int64_t index = indices.asInt(i);
  return std::clamp<int64_t>(index < 0 ? index + extent : index, 0, extent - 1);
}

ElementsAttr nn::evalConcat(int64_t axis, ArrayRef<ConstantData> inputs,
                            RankedTensorType type) {
  type = withLayout(type, "");
  unsigned size = inputs.front().codec().size;
  SmallVector<const ConstantData *> pointers;
  bool equal = type.getNumElements() > 0;
  for (const ConstantData &input : inputs) {
    pointers.push_back(&input);
    // Not even looked at behind one that is no splat: it may be empty, with no
    // bytes at all.
    equal = equal && input.isSplat() &&
            std::memcmp(input.stored().data(), inputs.front().stored().data(),
                        size) == 0;
  }
  if (equal)
    return makeSplatOf(type, inputs.front().stored().data());
  if (!reserveResult(type, pointers))
    return {};
  return makeConstant(type, [&](MutableArrayRef<char> result) {
    SmallVector<int64_t> to = denseStrides(type.getShape());
    char *target = result.data();
    for (const ConstantData &input : inputs) {
      copyStrided(input.shape(), size, input.stored().data(),
                  storedStrides(input), target, to);
      target += input.shape()[axis] * to[axis] * size;
    }
  });
}

ElementsAttr nn::evalPad(ArrayRef<int64_t> low, const ConstantData &input,
                         const ConstantData *value, RankedTensorType type) {
  type = withLayout(type, "");
  unsigned size = input.codec().size;
  if (value && value->type().getElementType() != type.getElementType())
    return {};
  static const char zero[8] = {};
  const char *padding = value ? value->stored().data() : zero;
  if (input.isSplat() && std::memcmp(input.stored().data(), padding, size) == 0)
    return makeSplatOf(type, padding);
  if (!reserveResult(type, {&input}))
    return {};
  return makeConstant(type, [&](MutableArrayRef<char> result) {
    SmallVector<int64_t> to = denseStrides(type.getShape());
    copyStrided(type.getShape(), size, padding,
                SmallVector<int64_t>(to.size(), 0), result.data(), to);
    int64_t offset = 0;
    for (size_t i = 0; i < to.size(); ++i)
      offset += low[i] * to[i];
    copyStrided(input.shape(), size, input.stored().data(),
                storedStrides(input), result.data() + offset * size, to);
  });
}

ElementsAttr nn::evalGather(int64_t axis, const ConstantData &input,
                            const ConstantData &indices,
                            RankedTensorType type) {
  type = withLayout(type, "");
  if (type.getNumElements() > 0 && input.isSplat())
    return makeSplatOf(type, input.stored().data());
  int64_t extent = input.shape()[axis], inner = 1, outer = 1;
  if (extent == 0 && type.getNumElements() > 0)
    return {};
  if (!reserveResult(type, {&input, &indices}))
    return {};
  for (int64_t d : input.shape().take_front(axis))
    outer *= d;
  for (int64_t d : input.shape().drop_front(axis + 1))
    inner *= d;
  int64_t count = indices.type().getNumElements();
  int64_t rowBytes = inner * input.codec().size;
  return makeConstant(type, [&](MutableArrayRef<char> result) {
    if (result.empty())
      return;
    for (int64_t i = 0; i < count; ++i) {
      int64_t index = indexAt(indices, i, extent);
      for (int64_t o = 0; o < outer; ++o)
        std::memcpy(result.data() + (o * count + i) * rowBytes,
                    input.stored().data() + (o * extent + index) * rowBytes,
                    rowBytes);
    }
  });
}

ElementsAttr nn::evalScatterND(const ConstantData &input,
                               const ConstantData &indices,
                               const ConstantData &updates,
                               RankedTensorType type) {
  type = withLayout(type, "");
  if (!reserveResult(type, {&input, &updates}))
    return {};
  ArrayRef<int64_t> shape = input.shape();
  int64_t depth = indices.shape().back(), inner = 1;
  for (int64_t d : shape.drop_front(depth))
    inner *= d;
  if (type.getNumElements() == 0)
    return makeConstant(type, ArrayRef<char>());
  int64_t tuples = updates.type().getNumElements() / inner;
  unsigned size = input.codec().size;
  SmallVector<int64_t> strides = denseStrides(shape);
  auto rowStrides = [&](const ConstantData &operand) {
    return SmallVector<int64_t>(1, operand.isSplat() ? 0 : 1);
  };
  return makeConstant(type, [&](MutableArrayRef<char> result) {
    copyStrided({type.getNumElements()}, size, input.stored().data(),
                rowStrides(input), result.data(), {1});
    for (int64_t t = 0; t < tuples; ++t) {
      int64_t offset = 0;
      for (int64_t d = 0; d < depth; ++d)
        offset += indexAt(indices, t * depth + d, shape[d]) * strides[d];
      int64_t from = updates.isSplat() ? 0 : t * inner * size;
      copyStrided({inner}, size, updates.stored().data() + from,
                  rowStrides(updates), result.data() + offset * size, {1});
    }
  });
}

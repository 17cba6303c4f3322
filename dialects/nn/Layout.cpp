//===- Layout.cpp - Meaning of a layout tag -------------------------------===//

#include "dialects/nn/Layout.h"

#include "dialects/nn/NNDialect.h"
#include "dialects/nn/StridedLoop.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cassert>
#include <cstring>

using namespace mlir;
using namespace nnv12::nn;

Layout::Layout(ArrayRef<int64_t> shape, ArrayRef<Axis> axes)
    : axes_(axes), shape(shape) {
  for (Axis &axis : llvm::reverse(axes_)) {
    axis.stride = size_;
    size_ *= axis.extent;
  }
}

std::optional<Layout> Layout::parse(StringRef tag, ArrayRef<int64_t> shape) {
  SmallVector<unsigned> outer;
  SmallVector<std::pair<unsigned, int64_t>> inner; // dimension, size
  SmallVector<int64_t> blockOf(shape.size(), 1), blocks(shape.size(), 0);
  SmallVector<bool> seen(shape.size(), false), blocked(shape.size(), false);
  for (size_t i = 0; i < tag.size();) {
    if (!llvm::isDigit(tag[i])) {
      char c = tag[i++];
      unsigned dim = llvm::toLower(c) - 'a';
      if (!llvm::isAlpha(c) || dim >= shape.size() || seen[dim] ||
          !inner.empty())
        return std::nullopt;
      seen[dim] = true;
      blocked[dim] = llvm::isUpper(c);
      outer.push_back(dim);
      continue;
    }
    int64_t size = 0;
    while (i < tag.size() && llvm::isDigit(tag[i]) && size < 4096)
      size = size * 10 + (tag[i++] - '0');
    if (i == tag.size() || size < 2 || size > 4096)
      return std::nullopt;
    unsigned dim = tag[i++] - 'a';
    if (dim >= shape.size() || !blocked[dim] || ++blocks[dim] > 2)
      return std::nullopt;
    blockOf[dim] *= size;
    inner.emplace_back(dim, size);
  }
  if (llvm::is_contained(seen, false))
    return std::nullopt;
  for (unsigned d = 0; d < shape.size(); ++d)
    if (blocked[d] != (blockOf[d] != 1))
      return std::nullopt;

  SmallVector<Axis> axes;
  for (unsigned dim : outer)
    axes.push_back({dim, (int64_t)llvm::divideCeil(shape[dim], blockOf[dim]), 0,
                    blockOf[dim]});
  for (auto [dim, size] : inner) {
    blockOf[dim] /= size;
    axes.push_back({dim, size, 0, blockOf[dim]});
  }
  return Layout(shape, axes);
}

Layout Layout::dense(ArrayRef<int64_t> shape) {
  SmallVector<Axis> axes;
  for (unsigned d = 0; d < shape.size(); ++d)
    axes.push_back({d, shape[d], 0, 1});
  return Layout(shape, axes);
}

Layout Layout::of(RankedTensorType type) {
  if (auto attr = dyn_cast_or_null<LayoutAttr>(type.getEncoding()))
    if (auto layout = parse(attr.getTag(), type.getShape()))
      return *layout;
  assert(!isa_and_present<LayoutAttr>(type.getEncoding()) &&
         "the tag fits the type");
  return dense(type.getShape());
}

int64_t Layout::block(unsigned dim) const {
  for (const Axis &axis : axes_)
    if (axis.dim == dim)
      return axis.step; // the outer axis comes first
  return 1;
}

bool Layout::isPadded() const {
  return llvm::any_of(llvm::enumerate(shape), [&](auto it) {
    return it.value() % block(it.index()) != 0;
  });
}

int64_t Layout::offset(ArrayRef<int64_t> index) const {
  assert(index.size() == shape.size());
  int64_t result = 0;
  for (const Axis &axis : axes_)
    result += axis.stride * (index[axis.dim] / axis.step % axis.extent);
  assert(result >= 0 && result < size_ && "the index is inside of the shape");
  return result;
}

RankedTensorType nnv12::nn::withLayout(RankedTensorType type, StringRef tag) {
  Attribute encoding = tag.empty()
                           ? Attribute()
                           : Attribute(LayoutAttr::get(type.getContext(), tag));
  return RankedTensorType::get(type.getShape(), type.getElementType(),
                               encoding);
}

StringRef nnv12::nn::layoutTag(Type type) {
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    if (auto attr = dyn_cast_or_null<LayoutAttr>(tensor.getEncoding()))
      return attr.getTag();
  return "";
}

int64_t nnv12::nn::storageElementSize(Type elementType) {
  return llvm::divideCeil(elementType.getIntOrFloatBitWidth(), 8);
}

int64_t nnv12::nn::storageSize(RankedTensorType type) {
  return Layout::of(type).size() * storageElementSize(type.getElementType());
}

/// Copies along axis `a` of the physical array. `index` holds, per dimension,
/// the logical index reached so far.
static void packAxis(ArrayRef<Layout::Axis> axes, unsigned a,
                     size_t elementSize, ArrayRef<int64_t> shape,
                     ArrayRef<int64_t> strides, SmallVectorImpl<int64_t> &index,
                     const char *source, char *target) {
  const Layout::Axis &axis = axes[a];
  int64_t start = index[axis.dim];
  int64_t moved = 0;
  bool last = a + 1 == axes.size();
  for (int64_t i = 0; i < axis.extent; ++i, moved += axis.step) {
    if (start + moved >= shape[axis.dim])
      break; // padding stays zero
    const char *s = source + moved * strides[axis.dim] * elementSize;
    char *t = target + i * axis.stride * elementSize;
    if (last) {
      std::memcpy(t, s, elementSize);
      continue;
    }
    index[axis.dim] = start + moved;
    packAxis(axes, a + 1, elementSize, shape, strides, index, s, t);
  }
  index[axis.dim] = start;
}

void nnv12::nn::pack(RankedTensorType type, const char *source, char *target) {
  Layout layout = Layout::of(type);
  size_t elementSize = storageElementSize(type.getElementType());
  if (layout.size() == 0)
    return; // both may be null
  if (layoutTag(type).empty()) {
    std::memcpy(target, source, layout.size() * elementSize);
    return;
  }
  std::memset(target, 0, layout.size() * elementSize);
  SmallVector<int64_t> index(type.getRank(), 0);
  packAxis(layout.axes(), 0, elementSize, type.getShape(),
           denseStrides(type.getShape()), index, source, target);
}

LogicalResult
LayoutAttr::verifyEncoding(ArrayRef<int64_t> shape, Type elementType,
                           function_ref<InFlightDiagnostic()> emitError) const {
  if (Layout::parse(getTag(), shape))
    return success();
  return emitError() << "layout '" << getTag() << "' does not name each of "
                     << shape.size() << " dimensions once";
}

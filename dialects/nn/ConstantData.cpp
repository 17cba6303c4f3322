//===- ConstantData.cpp - Elements of constant tensors --------------------===//

#include "dialects/nn/ConstantData.h"

#include "dialects/nn/ElementCodec.h"
#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"
#include "dialects/nn/SmallTypes.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/Support/MathExtras.h"

#include <cassert>
#include <cstring>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::nn;

/// Constants above this many bytes are resources.
static constexpr int64_t largeBytes = 1024;

static int64_t elementCount(RankedTensorType type) {
  int64_t n = 1;
  for (int64_t d : type.getShape())
    n *= d;
  return n;
}

static ElementsAttr makeSmall(RankedTensorType type, ArrayRef<char> bytes) {
  if (bytes.empty())
    return DenseElementsAttr::get(type, ArrayRef<Attribute>());
  if (!type.getElementType().isInteger(1))
    return DenseElementsAttr::getFromRawBuffer(type, bytes);
  SmallVector<bool> bits;
  for (char c : bytes)
    bits.push_back(c != 0);
  return DenseElementsAttr::get(type, ArrayRef<bool>(bits));
}

ElementsAttr nn::makeConstant(RankedTensorType type, ArrayRef<char> bytes) {
  return makeConstant(type, [&](MutableArrayRef<char> target) {
    assert(bytes.size() == target.size() && "the bytes of all elements");
    if (!bytes.empty())
      std::memcpy(target.data(), bytes.data(), target.size());
  });
}

ElementsAttr
nn::makeConstant(RankedTensorType type,
                 llvm::function_ref<void(MutableArrayRef<char>)> fill) {
  type = withLayout(type, "");
  int64_t bytes =
      elementCount(type) * storageElementSize(type.getElementType());
  // Bools stay dense (as bits); everything else that is large is a blob.
  if (bytes <= largeBytes || type.getElementType().isInteger(1)) {
    SmallVector<char> small(bytes);
    fill(small);
    return makeSmall(type, small);
  }
  AsmResourceBlob blob = HeapAsmResourceBlob::allocate(bytes, 64);
  fill(blob.getMutableData());
  return DenseResourceElementsAttr::get(type, "constant", std::move(blob));
}

/// The 64 bits of an integer. A value outside of the type's range is clamped:
/// to convert it would be undefined.
static uint64_t integerBits(Type element, double value) {
  bool isAbove = value >= 0x1p63;
  double number = value;
  int64_t bits;
  if (isAbove && element.isUnsignedInteger(64))
    number -= 0x1p63; // exact: the difference has no more digits
  ElementCodec::get(IntegerType::get(element.getContext(), 64))
      ->storeDouble(&number, 1, reinterpret_cast<char *>(&bits));
  if (isAbove && element.isUnsignedInteger(64))
    return static_cast<uint64_t>(bits) | uint64_t(1) << 63;
  return static_cast<uint64_t>(bits);
}

ElementsAttr nn::makeSplat(RankedTensorType type, double value) {
  type = withLayout(type, "");
  Type element = type.getElementType();
  if (type.getNumElements() == 0)
    return DenseElementsAttr::get(type, ArrayRef<Attribute>());
  if (isSmall(element)) {
    char code;
    ElementCodec::get(element)->storeDouble(&value, 1, &code);
    return DenseElementsAttr::getFromRawBuffer(type, code);
  }
  Attribute attr;
  if (auto f = dyn_cast<FloatType>(element))
    attr = FloatAttr::get(f, value);
  else
    attr = IntegerAttr::get(element, APInt(element.getIntOrFloatBitWidth(),
                                           integerBits(element, value),
                                           /*isSigned=*/false,
                                           /*implicitTrunc=*/true));
  return DenseElementsAttr::get(type, attr);
}

std::optional<ConstantData> ConstantData::get(Attribute attr) {
  auto elements = dyn_cast_or_null<ElementsAttr>(attr);
  if (!elements)
    return std::nullopt;
  auto type = dyn_cast<RankedTensorType>(elements.getShapedType());
  if (!type || !type.hasStaticShape() ||
      !ElementCodec::get(type.getElementType()))
    return std::nullopt;
  ConstantData data;
  data.type_ = withLayout(type, "");
  data.size_ = elementCount(type);
  size_t elementSize = storageElementSize(type.getElementType());
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(attr)) {
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    if (!blob ||
        blob->getData().size() != static_cast<size_t>(data.size_) * elementSize)
      return std::nullopt;
    data.bytes_ = blob->getData();
    return data;
  }
  auto dense = dyn_cast<DenseElementsAttr>(attr);
  if (!dense)
    return std::nullopt;
  data.bytes_ = dense.getRawData();
  if (type.getElementType().isInteger(1)) {
    // Bits, eight in a byte, even where all are equal.
    data.isSplat_ = dense.isSplat() && data.size_ > 1;
    data.owned = std::make_shared<SmallVector<char, 0>>();
    if (data.isSplat_) {
      data.owned->push_back(dense.getSplatValue<bool>());
    } else {
      data.owned->reserve(data.size_);
      for (bool bit : dense.getValues<bool>())
        data.owned->push_back(bit);
    }
    data.bytes_ = *data.owned;
  } else {
    data.isSplat_ = dense.isSplat() && data.size_ > 1;
  }
  return data;
}

ArrayRef<char> ConstantData::bytes() const {
  if (!isSplat_)
    return bytes_;
  if (!expanded) {
    expanded = std::make_shared<SmallVector<char, 0>>();
    expanded->resize_for_overwrite(size_ * bytes_.size());
    for (int64_t i = 0; i < size_; ++i)
      std::memcpy(expanded->data() + i * bytes_.size(), bytes_.data(),
                  bytes_.size());
  }
  return *expanded;
}

std::optional<ConstantData> ConstantData::get(Value value) {
  auto constant = value ? value.getDefiningOp<ConstantOp>() : ConstantOp();
  return constant ? get(constant.getValue()) : std::nullopt;
}

double ConstantData::asDouble(int64_t i) const {
  assert((isSplat_ || (i >= 0 && i < size_)) && "an element of the constant");
  const ElementCodec *codec = ElementCodec::get(type_.getElementType());
  double value;
  codec->loadDouble(bytes_.data() + (isSplat_ ? 0 : i * codec->size), 0, 1,
                    &value);
  return value;
}

int64_t ConstantData::asInt(int64_t i) const {
  const ElementCodec *codec = ElementCodec::get(type_.getElementType());
  int64_t value;
  codec->loadInt(bytes_.data() + (isSplat_ ? 0 : i * codec->size), 0, 1,
                 &value);
  return value;
}

SmallVector<int64_t> ConstantData::asInts() const {
  SmallVector<int64_t> values(size_);
  ElementCodec::get(type_.getElementType())
      ->loadInt(bytes_.data(), isSplat_ ? 0 : 1, size_, values.data());
  return values;
}

SmallVector<double> ConstantData::asDoubles() const {
  SmallVector<double> values(size_);
  ElementCodec::get(type_.getElementType())
      ->loadDouble(bytes_.data(), isSplat_ ? 0 : 1, size_, values.data());
  return values;
}

std::optional<double> ConstantData::splat() const {
  if (size_ == 0)
    return std::nullopt;
  size_t elementSize = storageElementSize(type_.getElementType());
  for (int64_t i = 1; i < size_ && !isSplat_; ++i)
    if (std::memcmp(bytes_.data(), bytes_.data() + i * elementSize,
                    elementSize) != 0)
      return std::nullopt;
  return asDouble(0);
}

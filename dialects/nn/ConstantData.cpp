//===- ConstantData.cpp - Elements of constant tensors --------------------===//

#include "dialects/nn/ConstantData.h"

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
      type.getNumElements() * storageElementSize(type.getElementType());
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

ElementsAttr nn::makeSplatOf(RankedTensorType type, const char *element) {
  type = withLayout(type, "");
  if (type.getElementType().isInteger(1))
    return DenseElementsAttr::get(type, *element != 0);
  return DenseElementsAttr::getFromRawBuffer(
      type, ArrayRef<char>(element, storageElementSize(type.getElementType())));
}

ElementsAttr nn::makeSplat(RankedTensorType type, double value) {
  type = withLayout(type, "");
  if (type.getNumElements() == 0)
    return makeSmall(type, {});
  char element[8];
  storeNumber(type.getElementType(), value, element);
  return makeSplatOf(type, element);
}

void nn::storeNumber(Type element, double number, char *target) {
  const ElementCodec *codec = ElementCodec::get(element);
  auto integer = dyn_cast<IntegerType>(element);
  if (!integer || integer.getWidth() == 1 ||
      (integer.isUnsignedInteger(64) && number >= 0x1p63))
    return codec->storeDouble(&number, 1, target);
  int64_t wide;
  ElementCodec::get(IntegerType::get(element.getContext(), 64))
      ->storeDouble(&number, 1, reinterpret_cast<char *>(&wide));
  codec->storeInt(&wide, 1, target);
}

std::optional<ConstantData> ConstantData::get(Attribute attr) {
  auto elements = dyn_cast_or_null<ElementsAttr>(attr);
  if (!elements)
    return std::nullopt;
  auto type = dyn_cast<RankedTensorType>(elements.getShapedType());
  if (!type || !type.hasStaticShape())
    return std::nullopt;
  ConstantData data;
  data.type_ = withLayout(type, "");
  data.codec_ = ElementCodec::get(type.getElementType());
  if (!data.codec_)
    return std::nullopt;
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(attr)) {
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    if (!blob || blob->getData().size() !=
                     static_cast<size_t>(data.size()) * data.codec_->size)
      return std::nullopt;
    data.stored_ = blob->getData();
    return data;
  }
  auto dense = dyn_cast<DenseElementsAttr>(attr);
  if (!dense)
    return std::nullopt;
  data.isSplat_ = dense.isSplat() && data.size() > 0;
  data.stored_ = dense.getRawData();
  if (!type.getElementType().isInteger(1))
    return data;
  // Bits, eight in a byte, even where all are equal.
  static const char bits[2] = {0, 1};
  if (data.isSplat_) {
    data.stored_ = ArrayRef<char>(bits[dense.getSplatValue<bool>()]);
  } else {
    auto values = dense.getValues<bool>();
    data.owned =
        std::make_shared<SmallVector<char, 0>>(values.begin(), values.end());
    data.stored_ = *data.owned;
  }
  return data;
}

std::optional<ConstantData> ConstantData::get(Value value) {
  auto constant = value ? value.getDefiningOp<ConstantOp>() : ConstantOp();
  return constant ? get(constant.getValue()) : std::nullopt;
}

ArrayRef<char> ConstantData::bytes() const {
  if (!isSplat_ || size() == 1)
    return stored_;
  if (!expanded) {
    expanded = std::make_shared<SmallVector<char, 0>>();
    expanded->resize_for_overwrite(size() * stored_.size());
    for (int64_t i = 0; i < size(); ++i)
      std::memcpy(expanded->data() + i * stored_.size(), stored_.data(),
                  stored_.size());
  }
  return *expanded;
}

double ConstantData::asDouble(int64_t i) const {
  assert((isSplat_ || (i >= 0 && i < size())) && "an element of the constant");
  double value;
  codec_->loadDouble(stored_.data() + (isSplat_ ? 0 : i * codec_->size), 0, 1,
                     &value);
  return value;
}

int64_t ConstantData::asInt(int64_t i) const {
  int64_t value;
  codec_->loadInt(stored_.data() + (isSplat_ ? 0 : i * codec_->size), 0, 1,
                  &value);
  return value;
}

SmallVector<int64_t> ConstantData::asInts() const {
  SmallVector<int64_t> values(size());
  codec_->loadInt(stored_.data(), isSplat_ ? 0 : 1, size(), values.data());
  return values;
}

SmallVector<double> ConstantData::asDoubles() const {
  SmallVector<double> values(size());
  codec_->loadDouble(stored_.data(), isSplat_ ? 0 : 1, size(), values.data());
  return values;
}

std::optional<double> ConstantData::splat() const {
  // Every element is the one before it.
  if (size() == 0 ||
      stored_.drop_front(codec_->size) != stored_.drop_back(codec_->size))
    return std::nullopt;
  return asDouble(0);
}

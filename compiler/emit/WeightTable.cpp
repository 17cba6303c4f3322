//===- WeightTable.cpp - The constants of a model in the file -------------===//

#include "compiler/emit/WeightTable.h"

#include "compiler/emit/Codec.h"
#include "dialects/nn/ConstantData.h"
#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"

using namespace mlir;
using namespace nnv12;
using plan::Storage;

/// The type that says how the form's bytes lie, before any transform.
static RankedTensorType layoutOf(Value constant, Storage storage) {
  auto type = cast<RankedTensorType>(constant.getType());
  return storage == Storage::raw ? nn::withLayout(type, "") : type;
}

/// Fresh bytes at a multiple of 64: transforms may rely on it.
static std::shared_ptr<char> allocate(uint64_t size) {
  uint64_t rounded = llvm::alignTo(std::max<uint64_t>(size, 1), 64);
  return std::shared_ptr<char>(
      static_cast<char *>(std::aligned_alloc(64, rounded)), std::free);
}

WeightTable::Bytes WeightTable::bytesOf(Value constant, const StoredForm &form) {
  auto value = constant.getDefiningOp<nn::ConstantOp>().getValue();
  auto type = layoutOf(constant, form.storage);
  uint64_t size = nn::storageSize(type);
  auto data =
      std::make_shared<nn::ConstantData>(*nn::ConstantData::get(value));
  Bytes packed;
  if (nn::layoutTag(type).empty()) {
    packed = {std::shared_ptr<const void>(data, data->bytes().data()), size};
  } else {
    std::shared_ptr<char> memory = allocate(size);
    nn::pack(type, data->bytes().data(), memory.get());
    packed = {memory, size};
  }
  if (form.storage != Storage::transformed)
    return packed;
  uint64_t formSize = form.routine->weightForm(form.layer)->bytes;
  std::shared_ptr<char> memory = allocate(formSize);
  form.routine->transform(form.layer, packed.first.get(), memory.get());
  return {memory, formSize};
}

WeightTable::Place WeightTable::add(Value constant, const StoredForm &form) {
  auto value = constant.getDefiningOp<nn::ConstantOp>().getValue();
  std::string name;
  if (form.storage == Storage::transformed)
    name = form.routine->weightForm(form.layer)->name;
  Key key = {value.getAsOpaquePointer(),
             layoutOf(constant, form.storage).getAsOpaquePointer(), name,
             static_cast<unsigned>(form.codec)};
  auto [it, isNew] = places_.try_emplace(key);
  Place &place = it->second;
  if (!isNew)
    return place;
  Bytes bytes = bytesOf(constant, form);
  place = {size_, bytes.second, bytes.second, 1};
  if (form.codec == plan::Codec::zstd) {
    auto element = cast<RankedTensorType>(constant.getType()).getElementType();
    auto encoded = std::make_shared<Encoded>(
        encode(bytes.first.get(), bytes.second,
               nn::storageElementSize(element)));
    place.planes = encoded->planes;
    place.size = encoded->bytes.size();
    bytes = {std::shared_ptr<const void>(encoded, encoded->bytes.data()),
             place.size};
  }
  pieces_.push_back({bytes.first.get(), place.size});
  owned_.push_back(std::move(bytes.first));
  size_ += llvm::alignTo(place.size, alignment);
  return place;
}

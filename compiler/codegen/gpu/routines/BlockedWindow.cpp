//===- BlockedWindow.cpp - Windows over blocks of 16 channels -------------===//

#include "compiler/codegen/gpu/routines/BlockedWindow.h"

#include "llvm/Support/MathExtras.h"

#include <cassert>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;
using llvm::divideCeil;

ChannelMask::ChannelMask(GpuBuilder &k, Value first, Value channels,
                         int64_t lanes)
    : k(k) {
  if (lanes == 1) {
    isChannel = k.lessUnsigned(first, channels);
    return;
  }
  assert(lanes == 4 && "a quarter of a block");
  Type i32 = k.b.getI32Type();
  Value left = k.val(k.sub(channels, first)); // below zero behind the last one
  left = arith::IndexCastOp::create(k.b, i32, left);
  auto numbers =
      DenseIntElementsAttr::get(k.vec(4, i32), ArrayRef<int32_t>{0, 1, 2, 3});
  isChannel = k.compare(Order::slt, arith::ConstantOp::create(k.b, numbers),
                        k.broadcast(left, 4));
}

Value ChannelMask::apply(Value x) const {
  return k.select(isChannel, x, k.fconst(0, x.getType()));
}

TileMap codegen::blockedMemory(int64_t batch, int64_t blocks, int64_t pixels) {
  return TileMap::grid({{batch, blocks * pixels * block},
                        {blocks, pixels * block},
                        {pixels, block},
                        {block, 1}});
}

TileMap codegen::blockedMemory(const WindowFront &w) {
  TileMap memory = blockedMemory(
      w.wholeBatch, BlockedWindow::blocksOf(w.wholeChannels), w.outPlane());
  memory.parts[0].box.hi = {w.batch, BlockedWindow::blocksOf(w.outChannels),
                            w.outPixels(), block};
  return memory;
}

int64_t BlockedWindow::cutUnit(Operation *layer, unsigned dim) {
  ArrayRef<int64_t> shape = shapeOf(layer->getResult(0));
  if (dim == 1)
    return shape[0] == 1 ? block : 0;
  return dim == 0 || shape.size() == 4 ? 1 : 0;
}

GpuDispatch BlockedWindow::dispatch(const WindowFront &w, int64_t groups,
                                    Part part, unsigned words) {
  int64_t outBlocks = blocksOf(w.outChannels);
  GpuDispatch dispatch;
  if (part == Part::Quad) {
    dispatch = GpuDispatch::over(blockedMemory(w), {groupPixels, 1, 1});
  } else {
    // A dense result has up to a block of channels.
    TileMap memory =
        TileMap::grid({{w.wholeBatch, w.wholeChannels * w.outPlane()},
                       {w.wholeChannels, w.outPlane()},
                       {w.outPlane(), 1}});
    memory.parts[0].box.hi = {w.batch, w.outChannels, w.outPixels()};
    dispatch = GpuDispatch::over(std::move(memory), {groupPixels, block, 1});
  }
  dispatch.append({w.outPixels(), w.outPlane(), w.height * w.width,
                   blocksOf(w.channels / groups),
                   int64_t(divideCeil(blocksOf(w.wholeChannels), groups)),
                   blocksOf(w.channels), outBlocks, w.outChannels});
  assert(dispatch.push.size() == FlatWords && "a value for each word");
  dispatch.append({w.outWidth, w.height, w.width, w.kernelRows, w.kernelCols,
                   w.strideRows, w.strideCols, w.dilationRows, w.dilationCols,
                   w.top, w.left});
  assert(dispatch.push.size() == WindowWords && "a value for each word");
  dispatch.push.resize(words);
  return dispatch;
}

std::string BlockedWindow::refusal(const WindowShape &w, int64_t weights) {
  for (int64_t elements :
       {weights * w.kernelRows * w.kernelCols,
        w.batch * blocksOf(w.channels) * block * w.height * w.width,
        w.batch * blocksOf(w.outChannels) * block * w.outHeight * w.outWidth})
    if (elements * 4 > GpuTarget::maxBufferBytes)
      return GpuTarget::tooLarge;
  // No more of the first dimension, with tensors of that size.
  if (blocksOf(w.outChannels) > GpuTarget::maxGroups ||
      w.batch > GpuTarget::maxGroups)
    return GpuTarget::tooManyGroups;
  return "";
}

double BlockedWindow::groupsInTurn(int64_t count, Part part) {
  constexpr int64_t atOnce = 8;
  // An invocation's pixels are a part of the group's apart: few of them are of
  // as many invocations.
  int64_t left = count % groupPixels,
          invocations = part == Part::Pixel
                            ? left
                            : std::min(left, groupPixels / pixels) * quads;
  return double(count / groupPixels) +
         double(divideCeil(invocations, atOnce)) /
             double(divideCeil(localSize[0], atOnce));
}

void BlockedWindow::forPlace(llvm::function_ref<void()> body, Part part) {
  batch = k.groupId(GpuBuilder::Dim::Z);
  forPixels(word(OutPixels), body, part);
}

void BlockedWindow::forPixels(Value count, llvm::function_ref<void()> body,
                              Part part) {
  Value local = k.localId(Dim::X);
  if (part == Part::Pixel) {
    Value p = add(mul(k.groupId(Dim::X), groupPixels), local);
    pixel = {p};
    return k.ifThen(k.lessUnsigned(p, count), body);
  }
  quad = rem(local, quads);
  outBlock = k.groupId(Dim::Y);
  // Neighbours in the group read and write pixels side by side at once: the
  // pixels of one invocation are a quarter of the group's apart.
  Value first = add(mul(k.groupId(Dim::X), groupPixels), div(local, quads));
  k.ifThen(k.lessUnsigned(first, count), [&] {
    Value last = sub(count, 1);
    for (int64_t i = 0; i < pixels; ++i) {
      Value p = add(first, i * (groupPixels / pixels));
      isPresent.push_back(k.lessUnsigned(p, count));
      pixel.push_back(k.minUnsigned(p, last));
    }
    body();
  });
}

Values BlockedWindow::forTaps(const Values &init, TapBody body) {
  Value rows = word(KernelRows), cols = word(KernelCols);
  Four top, left;
  for (Value p : pixel) {
    Value y = div(p, word(OutWidth)), x = rem(p, word(OutWidth));
    top.push_back(sub(mul(y, word(StrideRows)), word(Top)));
    left.push_back(sub(mul(x, word(StrideCols)), word(Left)));
  }
  return k.loop(0, rows, 1, init, [&](Value r, ValueRange carried) {
    Value down = mul(r, word(DilationRows));
    Four row;
    for (Value y : top)
      row.push_back(add(y, down));
    return k.loop(0, cols, 1, Values(carried), [&](Value c, ValueRange sums) {
      Value right = mul(c, word(DilationCols));
      Four col;
      for (Value x : left)
        col.push_back(add(x, right));
      return body(add(mul(r, cols), c), row, col, sums);
    });
  });
}

void BlockedWindow::placesOf(const Four &rows, const Four &cols, Four &inside,
                             Four &place) {
  Value height = word(InHeight), width = word(InWidth), zero = k.constant(0);
  for (auto [y, x] : llvm::zip(rows, cols)) {
    Value in = both(k.lessUnsigned(y, height), k.lessUnsigned(x, width));
    Value at = add(mul(y, width), x);
    inside.push_back(in);
    place.push_back(select(in, at, zero));
  }
}

BlockedWindow::Four BlockedWindow::vectorsIn(Value plane, const Four &place) {
  Four from;
  for (Value p : place)
    from.push_back(mul(add(plane, p), quads));
  return from;
}

Values BlockedWindow::addBlock(ValueRange init, Value input, const Four &from,
                               const Four &inside, Value weights,
                               Value weight) {
  Values sums(init);
  for (int64_t q = 0; q < quads; ++q) {
    Four in;
    for (int64_t i = 0; i < pixels; ++i) {
      Value x = k.load(input, k.add(from[i], q));
      in.push_back(inside.empty() ? x
                                  : select(inside[i], x, k.fconst(0, four)));
    }
    for (int64_t lane = 0; lane < 4; ++lane) {
      Value w = k.load(weights, k.add(weight, (q * 4 + lane) * quads));
      for (int64_t i = 0; i < pixels; ++i)
        sums[i] = k.fma(k.broadcast(k.extract(in[i], lane), 4), w, sums[i]);
    }
  }
  return sums;
}

Values BlockedWindow::addTaps(ValueRange init, Value input, Value plane,
                              Value weights, Value firstTap) {
  return forTaps(Values(init), [&](Value tap, const Four &rows,
                                   const Four &cols, ValueRange sums) {
    Four inside, place;
    placesOf(rows, cols, inside, place);
    Value weight = add(mul(add(firstTap, tap), block * quads), quad);
    return addBlock(sums, input, vectorsIn(plane, place), inside, weights,
                    weight);
  });
}

void BlockedWindow::storeResults(
    Value output, llvm::function_ref<Value(int64_t, Value)> body) {
  ChannelMask mask(k, mul(add(mul(outBlock, quads), quad), 4),
                   word(OutChannels));
  for (int64_t i = 0; i < pixels; ++i)
    k.ifThen(isPresent[i], [&] {
      Value place = resultPlace(i);
      k.store(mask.apply(body(i, place)), output, place);
    });
}

Value BlockedWindow::resultPlace(int64_t i) {
  Value plane = mul(add(mul(batch, word(OutBlocks)), outBlock), word(OutPlane));
  return add(mul(add(plane, pixel[i]), quads), quad);
}

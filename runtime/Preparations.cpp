//===- Preparations.cpp - Reads, decodes and transforms -------------------===//
#include "runtime/Preparations.h"

#include "artifact/ProgramView.h"
#include "artifact/RuntimePolicy.h"
#include "runtime/Reader.h"

#include <algorithm>
#include <cassert>
#include <sys/mman.h>
#include <unistd.h>

namespace nnv12::runtime {

#ifdef NNV12_TEST_HOOKS
/// Tests delay threads here; see test/unit/runtime/LanesTest.cpp.
void (*beforePiece)() = nullptr;
#define BEFORE_PIECE() (beforePiece ? beforePiece() : (void)0)
#else
#define BEFORE_PIECE() (void)0
#endif

/// A transform goes in so many pieces, of which other threads may take the
/// rest.
static constexpr uint64_t piecesPerTransform = 16;

/// Bytes of a piece of a read between two looks whether another thread has read
/// it.
static constexpr uint64_t readAtOnce = 128 << 10;

/// How long a piece may take before a thread that waits for it computes it as
/// well. A thread that reads a page on its way also only waits for the storage,
/// and costs nothing.
static constexpr uint64_t readPatience = 1000000, patienceOfOthers = 500000;

void *addressOf(const nnv12_bundle &bundle, const bundle::Operand *operand,
                Memory memory) {
  uint8_t *base = nullptr;
  if (operand->space() == bundle::Space_Weights)
    base = const_cast<uint8_t *>(bundle.image()) +
           bundle.metadata()->segments()->Get(operand->index())->offset();
  else if (operand->space() == bundle::Space_Memory)
    base = artifact::isIn(bundle.chosenProgram(), operand,
                          bundle::MemoryKind_Arena)
               ? memory.arena
               : memory.prepared;
  return base ? base + operand->offset() : nullptr;
}

artifact::KernelFn kernelOf(const nnv12_bundle &bundle,
                            const bundle::Operation *operation) {
  const bundle::Kernel *kernel = artifact::kernelOf(bundle.target(), operation);
  return reinterpret_cast<artifact::KernelFn>(
      reinterpret_cast<uintptr_t>(bundle.code() + kernel->entry()));
}

bool Preparations::allocate(const nnv12_bundle &bundle,
                            artifact::Fault &fault) {
  const auto *source = bundle.chosenProgram()->operations();
  executes_ = artifact::numExecutes(bundle.chosenProgram());
  size_t count = source->size() - executes_, operands = 0;
  for (uint32_t i = executes_; i < source->size(); ++i)
    operands += source->Get(i)->operands()->size();
  if (!items_.allocate(count) || !operandTable_.allocate(operands))
    return fault.set(artifact::Fault::OutOfMemory, "no memory for the plan");
  for (uint32_t i = 0; i < count; ++i) {
    items_[i].operation = source->Get(executes_ + i);
    items_[i].after = items_[i].operation->after();
  }
  return true;
}

bool Preparations::create(const nnv12_bundle &bundle, Memory memory,
                          const artifact::Array<bool> &skipped, Events &events,
                          artifact::Fault &fault) {
  events_ = &events;
  if (!allocate(bundle, fault))
    return false;
  void **operands = operandTable_.data();
  for (uint32_t i = 0; i < items_.size(); ++i)
    if (!skipped[i])
      resolve(items_[i], bundle, memory, operands);
  return true;
}

void Preparations::resolve(Item &item, const nnv12_bundle &bundle,
                           Memory memory, void **&operands) {
  const bundle::Operation *operation = item.operation;
  item.operands = operands;
  for (const bundle::Operand *operand : *operation->operands())
    *operands++ = addressOf(bundle, operand, memory);
  item.forgetsSource = bundle.isMapped() && operation->last_reader() &&
                       operation->operands()->Get(1)->size() >= leastForgotten;
  item.repeats = true;
  switch (operation->kind()) {
  case bundle::OperationKind_Read:
    item.units = operation->operands()->Get(0)->size();
    item.perPiece = readPiece;
    break;
  case bundle::OperationKind_Transform:
    item.kernel = kernelOf(bundle, operation);
    item.first = operation->tile_begin();
    item.units = artifact::numTiles(operation);
    item.perPiece = (item.units + piecesPerTransform - 1) / piecesPerTransform;
    break;
  default:
    item.units = item.perPiece = 1;
    zstd_ |= operation->codec() == bundle::Codec_Zstd;
    // A decoder leaves other bytes in its result for a while; planes it decodes
    // to memory of its own.
    item.repeats = operation->planes() > 1;
    uint64_t size = operation->operands()->Get(0)->size();
    if (operation->planes() > 1 && operation->codec() != bundle::Codec_Stored &&
        size > split_)
      split_ = size;
  }
  if (item.perPiece == 0)
    item.perPiece = 1;
  // At least one, so that somebody finishes it.
  if (item.units / mostPieces >= item.perPiece)
    item.perPiece = (item.units + mostPieces - 1) / mostPieces;
  uint64_t pieces = (item.units + item.perPiece - 1) / item.perPiece;
  assert(pieces <= mostPieces);
  item.pieces = pieces ? static_cast<uint32_t>(pieces) : 1;
}

bool Preparations::areDone(const After *after) const {
  for (uint32_t i = 0; after && i < after->size(); ++i)
    if (after->Get(i) >= executes_ && !isDone(after->Get(i) - executes_))
      return false;
  return true;
}

// Clang's check of function pointers reads what stands before the function,
// which generated code does not have.
#if defined(__clang__)
__attribute__((no_sanitize("function")))
#endif
bool Preparations::compute(Item &item, uint64_t begin, uint64_t end,
                           Preparer &preparer) {
  const bundle::Operation *operation = item.operation;
  switch (operation->kind()) {
  case bundle::OperationKind_Read:
    readPages(static_cast<uint8_t *>(item.operands[0]) + begin, end - begin);
    return true;
  case bundle::OperationKind_Transform:
    item.kernel(item.operands, static_cast<int64_t>(item.first + begin),
                static_cast<int64_t>(item.first + end), preparer.scratch);
    return true;
  default:
    return preparer.decoder.decode(
        operation->codec(), operation->planes(),
        static_cast<uint8_t *>(item.operands[0]),
        operation->operands()->Get(0)->size(),
        static_cast<const uint8_t *>(item.operands[1]),
        operation->operands()->Get(1)->size());
  }
}

/// `pieces` by their bits.
void Preparations::finish(Item &item, uint64_t pieces, bool good) {
  if (!good) {
    // The preparation never becomes done, so that nobody uses its result.
    // Threads that wait for it wake up and find that the plan has failed.
    const bundle::Operation *nobody = nullptr;
    culprit_.compare_exchange_strong(nobody, item.operation);
    failed_.store(true, std::memory_order_release);
    events_->happen(Events::Preparation);
    return;
  }
  // Acquires and releases, so that a thread that sees it done sees all threads'
  // pieces.
  uint64_t all = bitsOf(0, item.pieces),
           before = item.finished.fetch_or(pieces, std::memory_order_acq_rel);
  if ((before | pieces) != all)
    return;
  // A thread that repeats the preparation has brought its source back.
  if (item.forgetsSource)
    forgetSource(item);
  if (before == all)
    return;
  doneCount_.fetch_add(1, std::memory_order_relaxed);
  item.done.store(true, std::memory_order_release);
  events_->happen(Events::Preparation);
}

/// Weights that were decoded or transformed need not stay in this process's
/// memory beside the result. In the page cache they do, as long as there is
/// room.
void Preparations::forgetSource(const Item &item) const {
  auto page = static_cast<uintptr_t>(getpagesize());
  auto begin = reinterpret_cast<uintptr_t>(item.operands[1]);
  uintptr_t end = begin + item.operation->operands()->Get(1)->size();
  begin = (begin + page - 1) & ~(page - 1);
  end &= ~(page - 1);
  if (begin < end)
    madvise(reinterpret_cast<void *>(begin), end - begin, MADV_DONTNEED);
}

bool Preparations::workOnPiece(uint32_t index, Preparer &preparer) {
  Item &item = items_[index];
  // Looking before adding keeps the counter from overflowing.
  if (!hasPieces(index))
    return false;
  assert(isReady(index) && "a preparation comes after those it waits for");
  BEFORE_PIECE();
  uint32_t piece = item.next.fetch_add(1, std::memory_order_relaxed);
  if (piece >= item.pieces)
    return false;
  item.begun.store(now(), std::memory_order_relaxed);
  BEFORE_PIECE();
  computePiece(item, piece, preparer);
  return true;
}

void Preparations::computePiece(Item &item, uint32_t piece,
                                Preparer &preparer) {
  uint64_t begin = piece * item.perPiece,
           end = std::min(begin + item.perPiece, item.units),
           bit = bitsOf(piece, piece + 1);
  // Another thread may have read these pages meanwhile; they may be of no more
  // use, and out of this process's memory.
  if (item.operation->kind() == bundle::OperationKind_Read)
    for (; end - begin > readAtOnce; begin += readAtOnce) {
      if (item.finished.load(std::memory_order_acquire) & bit)
        return;
      compute(item, begin, begin + readAtOnce, preparer);
      // Slow is not lost: two that read the same pages hinder each other.
      item.begun.store(now(), std::memory_order_relaxed);
    }
  finish(item, bit, compute(item, begin, end, preparer));
}

uint64_t Preparations::patience(uint32_t index) const {
  const Item &item = items_[index];
  if (!item.repeats)
    return Events::forever;
  uint64_t most = item.operation->kind() == bundle::OperationKind_Read
                      ? readPatience
                      : patienceOfOthers,
           held = now() - item.begun.load(std::memory_order_relaxed);
  // A piece that has just been begun may have no time yet.
  return held < most ? most - held : 0;
}

void Preparations::repeat(uint32_t index, Preparer &preparer) {
  Item &item = items_[index];
  assert(item.repeats && !hasPieces(index) && isReady(index));
  for (uint32_t piece = 0; piece < item.pieces && !hasFailed(); ++piece)
    if (!(item.finished.load(std::memory_order_acquire) >> piece & 1))
      computePiece(item, piece, preparer);
}

bool Preparations::workOnRest(uint32_t index, Preparer &leader,
                              Workers &workers) {
  Item &item = items_[index];
  if (item.operation->kind() != bundle::OperationKind_Transform ||
      workers.threads() == 1) {
    bool any = false;
    while (workOnPiece(index, leader))
      any = true;
    return any;
  }
  assert(isReady(index) && "a preparation comes after those it waits for");
  uint32_t piece = item.next.exchange(item.pieces, std::memory_order_relaxed);
  if (piece >= item.pieces)
    return false;
  item.begun.store(now(), std::memory_order_relaxed);
  BEFORE_PIECE();
  workers.run(item.kernel, item.operands, item.first + piece * item.perPiece,
              item.first + item.units);
  finish(item, bitsOf(piece, item.pieces), true);
  return true;
}

bool Preparations::reportFailure(artifact::Fault &fault) const {
  const bundle::Operation *operation = culprit_.load();
  const char *layer = operation->layer()->c_str();
  if (operation->kind() == bundle::OperationKind_Read)
    return fault.set(artifact::Fault::Io,
                     "layer '%.200s': cannot read its weights from the file",
                     layer);
  return fault.set(
      artifact::Fault::BadBundle,
      "layer '%.200s': compressed weights: damaged, expected a "
      "zstd frame of %llu bytes",
      layer,
      static_cast<unsigned long long>(operation->operands()->Get(0)->size()));
}

} // namespace nnv12::runtime

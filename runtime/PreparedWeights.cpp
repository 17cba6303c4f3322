//===- PreparedWeights.cpp - Weights that sessions share ------------------===//
#include "runtime/PreparedWeights.h"

#include "artifact/RuntimePolicy.h"
#include "runtime/Reader.h"

#include <algorithm>
#include <cassert>
#include <sys/mman.h>
#include <unistd.h>

namespace nnv12::runtime {

/// A transform goes in so many pieces, of which other threads may take the
/// rest.
static constexpr uint64_t piecesPerTransform = 16;

//===----------------------------------------------------------------------===//
// The operations
//===----------------------------------------------------------------------===//

bool WeightPreparations::create(const LoadedProgram &of, uint8_t *prepared) {
  const auto *source = of.program->operations();
  uint32_t executes = artifact::numExecutes(of.program);
  size_t count = source->size() - executes, operands = 0;
  for (uint32_t i = executes; i < source->size(); ++i)
    operands += source->Get(i)->operands()->size();
  if (!allocate(executes, count, nullptr) || !sources_.allocate(count) ||
      !operandTable_.allocate(operands))
    return false;
  void **operand = operandTable_.data();
  for (uint32_t i = 0; i < count; ++i)
    resolve(i, source->Get(executes + i), of, prepared, operand);
  return true;
}

void WeightPreparations::resolve(uint32_t index,
                                 const bundle::Operation *operation,
                                 const LoadedProgram &of, uint8_t *prepared,
                                 void **&operands) {
  static_assert(int(RecordKind::Transform) == bundle::OperationKind_Transform);
  Item &item = items_[index];
  Source &source = sources_[index];
  source.operation = operation;
  source.operands = operands;
  for (const bundle::Operand *operand : *operation->operands())
    *operands++ = of.addressOf(operand, {nullptr, prepared});
  source.forgets = of.isMapped && operation->last_reader() &&
                   operation->operands()->Get(1)->size() >= leastForgotten;
  item.after = operation->after();
  item.kind = static_cast<RecordKind>(operation->kind());
  item.repeats = true;
  switch (operation->kind()) {
  case bundle::OperationKind_Read:
    cut(item, operation->operands()->Get(0)->size(), readPiece);
    break;
  case bundle::OperationKind_Transform: {
    source.kernel = of.kernelOf(operation);
    uint64_t tiles = artifact::numTiles(operation);
    cut(item, tiles, (tiles + piecesPerTransform - 1) / piecesPerTransform);
    break;
  }
  default: {
    uint64_t size = operation->operands()->Get(0)->size();
    cut(item, 1, 1);
    zstd_ |= operation->codec() == bundle::Codec_Zstd;
    // A decoder leaves other bytes in its result for a while; planes it decodes
    // to memory of its own.
    item.repeats = operation->planes() > 1;
    if (operation->planes() > 1 && operation->codec() != bundle::Codec_Stored &&
        size > split_)
      split_ = size;
  }
  }
}

// Clang's check of function pointers reads what stands before the function,
// which generated code does not have.
#if defined(__clang__)
__attribute__((no_sanitize("function")))
#endif
Progress::End WeightPreparations::compute(uint32_t index, uint64_t begin,
                                          uint64_t end, Preparer &preparer) {
  const Source &source = sources_[index];
  const bundle::Operation *operation = source.operation;
  switch (operation->kind()) {
  case bundle::OperationKind_Read:
    readPages(static_cast<uint8_t *>(source.operands[0]) + begin, end - begin);
    return End::Done;
  case bundle::OperationKind_Transform:
    begin += operation->tile_begin();
    end += operation->tile_begin();
    source.kernel(source.operands, static_cast<int64_t>(begin),
                  static_cast<int64_t>(end), preparer.scratch);
    return End::Done;
  default:
    return preparer.decoder.decode(
               operation->codec(), operation->planes(),
               static_cast<uint8_t *>(source.operands[0]),
               operation->operands()->Get(0)->size(),
               static_cast<const uint8_t *>(source.operands[1]),
               operation->operands()->Get(1)->size())
               ? End::Done
               : End::Failed;
  }
}

bool WeightPreparations::isTiles(uint32_t index, Step &step) const {
  const Source &source = sources_[index];
  step.begin = source.operation->tile_begin();
  step.end = source.operation->tile_end();
  step.kernel = source.kernel;
  step.operands = source.operands;
  return source.kernel != nullptr;
}

/// Weights that were decoded or transformed need not stay in this process's
/// memory beside the result. In the page cache they do, as long as there is
/// room.
void WeightPreparations::ended(uint32_t index) {
  const Source &source = sources_[index];
  if (!source.forgets)
    return;
  auto page = static_cast<uintptr_t>(getpagesize());
  auto begin = reinterpret_cast<uintptr_t>(source.operands[1]);
  uintptr_t end = begin + source.operation->operands()->Get(1)->size();
  begin = (begin + page - 1) & ~(page - 1);
  end &= ~(page - 1);
  if (begin < end)
    madvise(reinterpret_cast<void *>(begin), end - begin, MADV_DONTNEED);
}

bool WeightPreparations::reportFailure(uint32_t index,
                                       artifact::Fault &fault) const {
  const bundle::Operation *operation = sources_[index].operation;
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

//===----------------------------------------------------------------------===//
// Their memory
//===----------------------------------------------------------------------===//

/// In a child process the mutex stays locked for ever if a thread of the parent
/// held it at the fork. So each process makes it anew.
void PreparedWeights::lock() {
  int32_t process = getpid(), owner = process_.load(std::memory_order_acquire);
  while (owner != process) {
    // One of the child's threads makes it, the others wait for that.
    if (owner != -process &&
        process_.compare_exchange_strong(owner, -process)) {
      if (owner)
        makeAnew();
      process_.store(process, std::memory_order_release);
    }
    owner = process_.load(std::memory_order_acquire);
  }
  pthread_mutex_lock(&mutex_);
}

/// The parent's threads are not here: begins their pieces again. Where there is
/// no session, one may have been about to join as the first, or to leave as the
/// last: nobody knows how far it was with the memory.
void PreparedWeights::makeAnew() {
  pthread_mutex_init(&mutex_, nullptr);
  early_.abandon();
  if (sessions_) {
    preparations_->restart();
    return;
  }
  preparations_ = nullptr;
  pages_.abandon();
}

bool PreparedWeights::join(const LoadedProgram &of, uint64_t own,
                           uint64_t alignment, Pages &pages, uint64_t &supplied,
                           Listener &listener) {
  lock();
  bool good = allocate(of, own, alignment, pages, supplied);
  if (good) {
    preparations_->listeners().add(listener);
    ++sessions_;
  }
  pthread_mutex_unlock(&mutex_);
  return good;
}

bool PreparedWeights::allocate(const LoadedProgram &of, uint64_t own,
                               uint64_t alignment, Pages &pages,
                               uint64_t &supplied) {
  uint64_t size = own, huge;
  if (sessions_ == 0)
    size += artifact::memorySize(of.program, bundle::MemoryKind_Prepared);
  huge = inHugePages(size);
  if (!pages.allocate(std::max(size, huge),
                      std::max(huge ? hugePageSize : uint64_t(1), alignment)))
    return false;
  if (huge)
    pages.adviseHuge(huge);
  // The huge page may reach into the prepared weights, so nobody else must have
  // joined yet.
  if (inHugePages(own) && early_.data() &&
      pages.replaceHead(early_, hugePageSize))
    supplied = hugePageSize;
  if (sessions_)
    return true;
  pages.giveTail(own, pages_);
  preparations_ = runtime::create<WeightPreparations>();
  if (preparations_ && preparations_->create(of, pages_.data()))
    return true;
  free();
  return false;
}

void PreparedWeights::free() {
  destroy(preparations_);
  preparations_ = nullptr;
  pages_.release();
}

void PreparedWeights::leave(Listener &listener) {
  lock();
  preparations_->listeners().remove(listener);
  if (--sessions_ == 0)
    free();
  pthread_mutex_unlock(&mutex_);
}

} // namespace nnv12::runtime

//===- GpuUploads.cpp - Brings weights to a GPU ---------------------------===//
#include "runtime/GpuUploads.h"

#include "runtime/gpu/DispatchCommand.h"

#include <algorithm>

namespace nnv12::runtime {

using artifact::Fault;

bool GpuUploads::create(const LoadedProgram &program, Memory host,
                        GpuDevice &device, const GpuMemory &memory,
                        Fault &fault) {
  program_ = program;
  host_ = host;
  device_ = &device;
  memory_ = &memory;
  uint64_t begin = memory_->ringBegin();
  for (Pieces &pieces : all_) {
    pieces.begin = begin;
    begin += 2 * GpuMemory::pieceBytes;
    if (!memory_->isMapped() && !pieces.commands.create(device, fault))
      return false;
  }
  return true;
}

void GpuUploads::destroy() {
  for (Pieces &pieces : all_)
    pieces.commands.destroy();
}

bool GpuUploads::isHung() const {
  return std::any_of(
      std::begin(all_), std::end(all_),
      [](const Pieces &pieces) { return pieces.commands.isHung(); });
}

/// Locks pieces that nobody uses, or else waits for some.
GpuUploads::Pieces &GpuUploads::lockPieces() {
  for (Pieces &pieces : all_)
    if (pthread_mutex_trylock(&pieces.turn) == 0)
      return pieces;
  Pieces &pieces = all_[next_.fetch_add(1, std::memory_order_relaxed) %
                        GpuMemory::numFilling];
  pthread_mutex_lock(&pieces.turn);
  return pieces;
}

bool GpuUploads::decode(const bundle::Upload *upload, const uint8_t *source,
                        uint8_t *target, Fault &fault) {
  bool isCompressed = upload->codec() == bundle::Codec_Zstd;
  Decoder decoder;
  if (isCompressed &&
      (!loadZstd(fault) ||
       !decoder.create(upload->planes() > 1 ? upload->size() : 0, fault)))
    return false;
  return decoder.decode(upload->codec(), upload->planes(), target,
                        upload->size(), source, upload->source()->size()) ||
         fault.set(Fault::BadBundle,
                   "weights for the GPU: compressed ones are damaged");
}

/// By way of two pieces: the device copies one while this fills the other.
bool GpuUploads::stage(Pieces &pieces, const uint8_t *source, uint64_t size,
                       uint64_t offset, Fault &fault) {
  const Vulkan &vk = device_->vulkan();
  const GpuBlock &staging = memory_->staging();
  while (size) {
    uint32_t piece;
    VkCommandBuffer commands;
    if (!pieces.commands.begin(piece, commands, fault))
      return false;
    uint64_t place = pieces.begin + piece * GpuMemory::pieceBytes,
             bytes = std::min(size, GpuMemory::pieceBytes);
    memcpy(staging.mapped + place, source, bytes);
    VkBufferCopy copy = {place, offset, bytes};
    vk.CmdCopyBuffer(commands, staging.buffer, memory_->prepared().buffer, 1,
                     &copy);
    recordBarrier({VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                   VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                   VK_ACCESS_SHADER_READ_BIT},
                  vk, commands);
    if (!check(memory_->flush(staging, place, bytes),
               "vkFlushMappedMemoryRanges", fault) ||
        !pieces.commands.submit(fault))
      return false;
    source += bytes;
    offset += bytes;
    size -= bytes;
  }
  return pieces.commands.finish(fault);
}

bool GpuUploads::bring(Pieces &pieces, const uint8_t *source, uint64_t size,
                       uint64_t offset, Fault &fault) {
  if (!memory_->isMapped())
    return stage(pieces, source, size, offset, fault);
  const GpuBlock &prepared = memory_->prepared();
  memcpy(prepared.mapped + offset, source, size);
  return check(memory_->flush(prepared, offset, size),
               "vkFlushMappedMemoryRanges", fault);
}

bool GpuUploads::upload(const bundle::Upload *upload, Fault &fault) {
  auto *source =
      static_cast<const uint8_t *>(program_.addressOf(upload->source(), host_));
  uint64_t size = upload->size();
  if (size == 0)
    return true;
  bool isPlain =
      upload->codec() == bundle::Codec_Stored && upload->planes() == 1;
  // A decoder reads its own output, which takes a hundred times as long in
  // memory that CPUs do not cache.
  Pages decoded;
  if (!isPlain) {
    if (!decoded.allocate(size, 64))
      return fault.set(Fault::OutOfMemory, "no memory to decompress weights");
    if (!decode(upload, source, decoded.data(), fault))
      return false;
    source = decoded.data();
  }
  Pieces &pieces = lockPieces();
  bool good = bring(pieces, source, size, upload->offset(), fault);
  pthread_mutex_unlock(&pieces.turn);
  if (good)
    count_.fetch_add(size, std::memory_order_relaxed);
  return good;
}

} // namespace nnv12::runtime

//===- GpuUploads.cpp - Brings weights to a GPU ---------------------------===//
#include "runtime/GpuUploads.h"

#include "runtime/gpu/Barrier.h"

#include <algorithm>

namespace nnv12::runtime {

using artifact::Fault;

bool GpuUploads::create(const nnv12_bundle &of, Memory from, GpuDevice &on,
                        const GpuMemory &places, Fault &fault) {
  bundle = &of;
  host = from;
  device = &on;
  memory = &places;
  uint64_t begin = memory->ringBegin();
  for (Pieces &pieces : all) {
    pieces.begin = begin;
    begin += 2 * GpuMemory::pieceBytes;
    if (!memory->isMapped() && !pieces.commands.create(on, fault))
      return false;
  }
  return true;
}

void GpuUploads::destroy() {
  for (Pieces &pieces : all)
    pieces.commands.destroy();
}

bool GpuUploads::isHung() const {
  bool hung = false;
  for (const Pieces &pieces : all)
    hung |= pieces.commands.isHung();
  return hung;
}

/// Those that nobody has, or else soon will not have.
GpuUploads::Pieces &GpuUploads::lockPieces() {
  for (Pieces &pieces : all)
    if (pthread_mutex_trylock(&pieces.turn) == 0)
      return pieces;
  Pieces &pieces =
      all[next.fetch_add(1, std::memory_order_relaxed) % GpuMemory::numFilling];
  pthread_mutex_lock(&pieces.turn);
  return pieces;
}

bool GpuUploads::decode(const bundle::Upload *upload, const uint8_t *source,
                        uint8_t *target, Fault &fault) {
  bool isCompressed = upload->codec() == bundle::Codec_Zstd;
  Decoder decoder;
  if (isCompressed &&
      (!Zstd::load(fault) ||
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
  const Vulkan &vk = device->vulkan();
  const GpuBlock &staging = memory->staging();
  while (size) {
    uint32_t piece;
    VkCommandBuffer to;
    if (!pieces.commands.begin(piece, to, fault))
      return false;
    uint64_t place = pieces.begin + piece * GpuMemory::pieceBytes,
             bytes = std::min(size, GpuMemory::pieceBytes);
    memcpy(staging.mapped + place, source, bytes);
    VkBufferCopy copy = {place, offset, bytes};
    vk.CmdCopyBuffer(to, staging.buffer, memory->prepared().buffer, 1, &copy);
    recordBarrier({VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                   VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                   VK_ACCESS_SHADER_READ_BIT},
                  vk, to);
    if (!check(memory->flush(staging, place, bytes),
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
  if (!memory->isMapped())
    return stage(pieces, source, size, offset, fault);
  const GpuBlock &prepared = memory->prepared();
  memcpy(prepared.mapped + offset, source, size);
  return check(memory->flush(prepared, offset, size),
               "vkFlushMappedMemoryRanges", fault);
}

bool GpuUploads::upload(const bundle::Upload *upload, Fault &fault) {
  auto *source =
      static_cast<const uint8_t *>(addressOf(*bundle, upload->source(), host));
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
    count.fetch_add(size, std::memory_order_relaxed);
  return good;
}

} // namespace nnv12::runtime

//===- GpuMemory.h - Where a session's bytes lie for a GPU ------*- C++ -*-===//
//
// A plan's GPU arena and prepared memory are a buffer each. Where a device
// works in the CPUs' memory, these are mapped, and the session's own arena is
// imported, if the device can. If it cannot, there is a mapped buffer for the
// session's arena to move to. Nothing of the arena is copied then. Elsewhere
// both are the device's own, and a third, mapped buffer stages all bytes that
// go there or come from there.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_RUNTIME_GPU_GPUMEMORY_H
#define NNV12_RUNTIME_GPU_GPUMEMORY_H

#include "runtime/gpu/GpuDevice.h"

namespace nnv12::runtime {

/// A buffer with memory of its own. Nothing where its size is 0.
struct GpuBlock {
  VkBuffer buffer;
  VkDeviceMemory memory;
  uint8_t *mapped; ///< null where CPUs cannot see it
  uint64_t size;
  uint64_t allocated;
  bool isCoherent;
};

class GpuMemory : artifact::NonCopyable {
public:
  /// Bytes that the program asks for.
  struct Sizes {
    uint64_t arena, prepared;
    uint64_t handedOver; ///< by a stretch, in and out, at most
    /// The session's arena: its bytes, and the alignment of the first one.
    uint64_t host, hostAlignment;
  };

  /// `arena` is the session's, of whole pages, which stays until destroy().
  /// `prepared`: another session's prepared memory, which this uses as well;
  /// null: this has its own.
  [[nodiscard]] bool create(GpuDevice &device, const Sizes &sizes,
                            uint8_t *arena, const GpuBlock *prepared,
                            artifact::Fault &fault);
  /// Before the device is released. Nothing of it may be in use any more.
  void destroy();
  /// Leaves the prepared memory to other sessions that use it.
  void leavePrepared() { blocks_[Prepared] = {}; }

  const GpuBlock &arena() const { return blocks_[Arena]; }
  const GpuBlock &prepared() const { return blocks_[Prepared]; }
  /// Hand-overs, and behind them `ringBytes` for uploads.
  const GpuBlock &staging() const { return blocks_[Staging]; }
  uint64_t ringBegin() const { return ring_; }
  /// The session's arena: `mapped` is where it lies, or shall lie. Without a
  /// buffer where the device has no such memory.
  const GpuBlock &host() const { return blocks_[Host]; }
  /// Whether the arena and prepared memory are mapped.
  bool isMapped() const { return mapped_; }
  bool hasHost() const { return host().buffer != nullptr; }

  /// After the CPU has written to a mapped block, and before it reads.
  VkResult flush(const GpuBlock &block, uint64_t offset, uint64_t size) const {
    return synchronize(device_->vulkan().FlushMappedMemoryRanges, block, offset,
                       size);
  }
  VkResult invalidate(const GpuBlock &block, uint64_t offset,
                      uint64_t size) const {
    return synchronize(device_->vulkan().InvalidateMappedMemoryRanges, block,
                       offset, size);
  }

  /// For each of so many threads two pieces, of which one is filled while the
  /// other is copied.
  static constexpr uint64_t numFilling = 2, pieceBytes = 1 << 20,
                            ringBytes = numFilling * 2 * pieceBytes;

private:
  enum Place { Arena, Prepared, Staging, Host, numPlaces };

  [[nodiscard]] bool allocate(Place place, uint64_t size,
                              artifact::Fault &fault);
  [[nodiscard]] bool createBuffer(GpuBlock &block, const void *next,
                                  VkMemoryRequirements &needs,
                                  artifact::Fault &fault);
  [[nodiscard]] bool bind(GpuBlock &block, uint64_t size, uint32_t type,
                          const void *next, artifact::Fault &fault);
  uint32_t typeFor(Place place, uint32_t allowed) const;
  uint32_t typeWith(VkMemoryPropertyFlags wanted, uint32_t allowed) const;
  void import(uint8_t *arena, uint64_t size);
  void makeHost(const Sizes &sizes);
  void destroy(GpuBlock &block);
  /// `function` flushes or invalidates.
  VkResult synchronize(PFN_vkFlushMappedMemoryRanges function,
                       const GpuBlock &block, uint64_t offset,
                       uint64_t size) const;

  GpuDevice *device_ = nullptr;
  GpuBlock blocks_[numPlaces] = {};
  uint64_t ring_ = 0;
  bool mapped_ = false;
};

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_GPU_GPUMEMORY_H

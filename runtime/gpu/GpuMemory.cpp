//===- GpuMemory.cpp - Where a session's bytes lie for a GPU --------------===//
#include "runtime/gpu/GpuMemory.h"

#include <cinttypes>

namespace nnv12::runtime {

using artifact::Fault;

namespace {
constexpr VkMemoryPropertyFlags local = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT,
                                visible = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT,
                                coherent = VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
                                cached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
constexpr uint32_t noType = ~0u;
} // namespace

/// The first type with all wanted properties; each next try wants fewer. Memory
/// that CPUs read should be cached: reading other memory takes a hundred times
/// as long.
uint32_t GpuMemory::typeFor(Place place, uint32_t allowed) const {
  static constexpr uint8_t read[] = {local | visible | coherent | cached,
                                     visible | coherent | cached,
                                     visible | cached, visible},
                           written[] = {local | visible | coherent,
                                        visible | coherent, visible, visible},
                           own[] = {local, 0, 0, 0};
  const uint8_t *wishes = place == Staging    ? read + 1
                          : !mapped_          ? own
                          : place == Prepared ? written
                                              : read;
  // CPUs compute in the session's arena, and nobody flushes it.
  uint32_t tries = place == Host ? 2 : place == Staging ? 3 : 4;
  uint32_t type = noType;
  for (uint32_t k = 0; type == noType && k < tries; ++k)
    type = typeWith(wishes[k], allowed);
  return type;
}

/// The first type with all of these properties.
uint32_t GpuMemory::typeWith(VkMemoryPropertyFlags wanted,
                             uint32_t allowed) const {
  const VkPhysicalDeviceMemoryProperties &memory = device_->memory();
  for (uint32_t i = 0; i < memory.memoryTypeCount; ++i) {
    VkMemoryPropertyFlags flags = memory.memoryTypes[i].propertyFlags;
    // Lazily allocated and protected memory are nothing for buffers.
    if ((allowed >> i & 1) && (flags & wanted) == wanted &&
        !(flags & (VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT |
                   VK_MEMORY_PROPERTY_PROTECTED_BIT)))
      return i;
  }
  return noType;
}

/// `next` is a chain of more about it, or null.
bool GpuMemory::createBuffer(GpuBlock &block, const void *next,
                             VkMemoryRequirements &needs, Fault &fault) {
  const Vulkan &vk = device_->vulkan();
  auto info =
      makeStruct<VkBufferCreateInfo>(VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO);
  info.pNext = next;
  info.size = block.size;
  info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
               VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
               VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  if (!device_->make(vk.CreateBuffer, info, block.buffer, "vkCreateBuffer",
                     fault))
    return false;
  vk.GetBufferMemoryRequirements(device_->device(), block.buffer, &needs);
  return true;
}

/// Gives the buffer memory of its own.
bool GpuMemory::bind(GpuBlock &block, uint64_t size, uint32_t type,
                     const void *next, Fault &fault) {
  const Vulkan &vk = device_->vulkan();
  auto info =
      makeStruct<VkMemoryAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO);
  info.pNext = next;
  info.allocationSize = size;
  info.memoryTypeIndex = type;
  return device_->make(vk.AllocateMemory, info, block.memory,
                       "vkAllocateMemory", fault) &&
         check(vk.BindBufferMemory(device_->device(), block.buffer,
                                   block.memory, 0),
               "vkBindBufferMemory", fault);
}

bool GpuMemory::allocate(Place place, uint64_t size, Fault &fault) {
  if (size == 0)
    return true;
  if (device_->mostAllocation() && size > device_->mostAllocation())
    return fault.set(Fault::Unsupported,
                     "%.100s allocates at most %" PRIu64
                     " bytes at once, the model needs %" PRIu64,
                     device_->name(), device_->mostAllocation(), size);
  GpuBlock &block = blocks_[place];
  block.size = size;
  VkMemoryRequirements needs;
  if (!createBuffer(block, nullptr, needs, fault))
    return false;
  block.allocated = needs.size;
  uint32_t type = typeFor(place, needs.memoryTypeBits);
  if (type == noType)
    return fault.set(Fault::Unsupported,
                     "%.100s has no memory that the CPU sees", device_->name());
  block.isCoherent =
      device_->memory().memoryTypes[type].propertyFlags & coherent;
  if (!bind(block, needs.size, type, nullptr, fault))
    return false;
  if (place != Staging && !mapped_)
    return true;
  void *address = nullptr;
  if (!check(device_->vulkan().MapMemory(device_->device(), block.memory, 0,
                                         VK_WHOLE_SIZE, 0, &address),
             "vkMapMemory", fault))
    return false;
  block.mapped = static_cast<uint8_t *>(address);
  return true;
}

/// Where it fails, hand-overs are copied.
void GpuMemory::import(uint8_t *arena, uint64_t size) {
  uint64_t unit = device_->importAlignment();
  auto address = reinterpret_cast<uintptr_t>(arena);
  if (!unit || size == 0 || address % unit)
    return;
  // The whole pages behind the arena are the session's as well.
  size = (size + unit - 1) / unit * unit;
  constexpr VkExternalMemoryHandleTypeFlagBits kind =
      VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;
  auto of = makeStruct<VkMemoryHostPointerPropertiesEXT>(
      VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT);
  if (device_->vulkan().GetMemoryHostPointerPropertiesEXT(device_->device(),
                                                          kind, arena, &of))
    return;
  Fault ignored;
  GpuBlock &block = blocks_[Host];
  block.size = size;
  auto external = makeStruct<VkExternalMemoryBufferCreateInfo>(
      VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO);
  external.handleTypes = kind;
  auto pointer = makeStruct<VkImportMemoryHostPointerInfoEXT>(
      VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT);
  pointer.handleType = kind;
  pointer.pHostPointer = arena;
  VkMemoryRequirements needs;
  uint32_t type = noType;
  if (createBuffer(block, &external, needs, ignored))
    type = typeWith(visible | coherent | cached,
                    needs.memoryTypeBits & of.memoryTypeBits);
  if (type == noType || needs.size > size ||
      !bind(block, size, type, &pointer, ignored))
    destroy(block);
  else
    block.mapped = arena;
}

#ifdef NNV12_TEST_HOOKS
/// Tests have devices copy that need not, and import or move no arena: see
/// test/unit/gpu/RealDeviceTest.cpp.
bool copiesAlways = false, importsNever = false, movesNever = false;
#else
static constexpr bool copiesAlways = false, importsNever = false,
                      movesNever = false;
#endif

/// Where it fails, hand-overs are copied.
void GpuMemory::makeHost(const Sizes &sizes) {
  // A program may have no arena.
  if (sizes.host == 0)
    return;
  Fault ignored;
  GpuBlock &block = blocks_[Host];
  if (!allocate(Host, sizes.host, ignored) ||
      reinterpret_cast<uintptr_t>(block.mapped) % sizes.hostAlignment)
    destroy(block);
}

bool GpuMemory::create(GpuDevice &device, const Sizes &sizes, uint8_t *arena,
                       const GpuBlock *prepared, Fault &fault) {
  device_ = &device;
  if (prepared)
    blocks_[Prepared] = *prepared;
  mapped_ = device.isUnified() && !copiesAlways;
  ring_ = (sizes.handedOver + artifact::gpuAlignment - 1) &
          ~(artifact::gpuAlignment - 1);
  // If all is mapped, nothing is staged but the warm-up of GpuWarmUp.h.
  uint64_t staging = !mapped_              ? ring_ + ringBytes
                     : device.isSoftware() ? artifact::gpuAlignment
                                           : 0;
  if (!allocate(Arena, sizes.arena, fault) ||
      (!prepared && !allocate(Prepared, sizes.prepared, fault)) ||
      !allocate(Staging, staging, fault))
    return false;
  if (mapped_ && !importsNever)
    import(arena, sizes.host);
  if (mapped_ && !hasHost() && !movesNever)
    makeHost(sizes);
  return true;
}

void GpuMemory::destroy(GpuBlock &block) {
  const Vulkan &vk = device_->vulkan();
  vk.DestroyBuffer(device_->device(), block.buffer, nullptr);
  vk.FreeMemory(device_->device(), block.memory, nullptr);
  block = {};
}

void GpuMemory::destroy() {
  for (GpuBlock &block : blocks_)
    if (device_)
      destroy(block);
}

VkResult GpuMemory::synchronize(PFN_vkFlushMappedMemoryRanges function,
                                const GpuBlock &block, uint64_t offset,
                                uint64_t size) const {
  if (block.isCoherent || !block.mapped || size == 0)
    return VK_SUCCESS;
  uint64_t unit = device_->facts().limits.nonCoherentAtomSize;
  auto range =
      makeStruct<VkMappedMemoryRange>(VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE);
  range.memory = block.memory;
  range.offset = offset / unit * unit;
  range.size = (offset + size + unit - 1) / unit * unit - range.offset;
  if (range.offset + range.size > block.allocated)
    range.size = VK_WHOLE_SIZE;
  return function(device_->device(), 1, &range);
}

} // namespace nnv12::runtime

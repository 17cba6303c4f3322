//===- Decoder.cpp - Decompresses weights ---------------------------------===//
#include "runtime/Decoder.h"

#include "artifact/Sizes.h"
#include "runtime/system/Threads.h"

#include <cassert>
#include <cstring>
#include <dlfcn.h>
#include <endian.h>

namespace nnv12::runtime {

static_assert(__BYTE_ORDER == __LITTLE_ENDIAN, "plane 0 is the lowest byte");

namespace {
/// The part of zstd.h that is stable since version 1.0.
struct Functions {
  void *(*createContext)();
  size_t (*freeContext)(void *context);
  size_t (*decompress)(void *context, void *target, size_t size,
                       const void *source, size_t sourceSize);
  unsigned (*isError)(size_t code);
};
} // namespace

static Functions zstd;
/// 0: not loaded yet, 1: somebody loads it, 2: loaded, 3: not to be had.
static std::atomic<uint32_t> state{0};

static bool loadFunctions() {
  static constexpr const char *names[] = {"libzstd.so.1", "libzstd.so"};
  for (const char *name : names) {
    // Never closed: unloading a library while sessions live is not safe.
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library)
      continue;
    auto find = [&](const char *symbol, auto &function) {
      void *address = dlsym(library, symbol);
      function = reinterpret_cast<std::decay_t<decltype(function)>>(address);
      return address != nullptr;
    };
    if (find("ZSTD_createDCtx", zstd.createContext) &&
        find("ZSTD_freeDCtx", zstd.freeContext) &&
        find("ZSTD_decompressDCtx", zstd.decompress) &&
        find("ZSTD_isError", zstd.isError))
      return true;
    dlclose(library);
  }
  return false;
}

bool loadZstd(artifact::Fault &fault) {
  uint32_t value = 0;
  if (state.compare_exchange_strong(value, 1)) {
    state.store(loadFunctions() ? 2 : 3);
    futexWake(state, ~0u);
  }
  // The loading of a library bounds the wait: its thread reports every end.
  while ((value = state.load()) == 1)
    futexWait(state, 1, ~0u);
  return value == 2 ||
         fault.set(artifact::Fault::Unsupported,
                   "weights: libzstd not found, which compressed weights need "
                   "(Debian package libzstd1)");
}

Decoder::~Decoder() {
  if (context_)
    zstd.freeContext(context_);
}

bool Decoder::create(uint64_t split, artifact::Fault &fault) {
  context_ = zstd.createContext();
  if (!context_ || !split_.allocate(split, 4096))
    return fault.set(artifact::Fault::OutOfMemory,
                     "no memory to decompress weights");
  return true;
}

bool Decoder::decode(bundle::Codec codec, unsigned planes, uint8_t *target,
                     size_t size, const uint8_t *source, size_t sourceSize) {
  assert(artifact::arePlanes(uint8_t(planes), size) &&
         "the verifier has checked it");
  if (codec == bundle::Codec_Zstd) {
    uint8_t *result = planes > 1 ? split_.data() : target;
    size_t found = zstd.decompress(context_, result, size, source, sourceSize);
    if (zstd.isError(found) || found != size)
      return false;
    source = result;
  }
  if (planes > 1)
    joinPlanes(planes, target, source, size);
  else if (codec == bundle::Codec_Stored && size)
    memcpy(target, source, size);
  return true;
}

/// `Element` has as many bytes as there are planes. Written so that compilers
/// make vector code of it: one store an element, no byte stores.
///
/// Two threads may do so at the same time, and one when the result is in use
/// already (runtime/Preparations.h): all store the same bytes.
template <typename Element>
__attribute__((no_sanitize("thread"))) static void
join(uint8_t *__restrict target, const uint8_t *__restrict source,
     size_t count) {
  for (size_t i = 0; i < count; ++i) {
    Element element = 0;
    for (size_t b = 0; b < sizeof(Element); ++b)
      element |= static_cast<Element>(
          static_cast<Element>(source[b * count + i]) << (8 * b));
    memcpy(target + i * sizeof(Element), &element, sizeof element);
  }
}

void joinPlanes(unsigned planes, uint8_t *target, const uint8_t *source,
                size_t size) {
  if (planes == 2)
    join<uint16_t>(target, source, size / 2);
  else if (planes == 4)
    join<uint32_t>(target, source, size / 4);
  else if (planes == 8)
    join<uint64_t>(target, source, size / 8);
  else if (size)
    memcpy(target, source, size);
}

} // namespace nnv12::runtime

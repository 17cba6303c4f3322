//===- SanitizerOptions.cpp - AddressSanitizer beside Debian's LLVM -------===//
//
// Part of every program of a sanitised build of the compiler. ASAN_OPTIONS goes
// on top of it.
//
//===----------------------------------------------------------------------===//

extern "C" __attribute__((visibility("default"), used)) const char *
__asan_default_options() {
  return
      // Tests tell a crash by its signal: an exit of 1 would look like a
      // refusal.
      "abort_on_error=1:"
      // LLVM's allocators poison what they have not given out, but only in code
      // that was compiled with the sanitizer. libLLVM was not: what it
      // allocates from the same slabs would be reported.
      "allow_user_poisoning=0";
}

/// Of LeakSanitizer: what drivers and layers keep until the process ends is
/// theirs. lavapipe loses 48 bytes of each pipeline, which the driver is told
/// to destroy; its LLVM is not the compiler's, which is 22.
extern "C" __attribute__((visibility("default"), used)) const char *
__lsan_default_suppressions() {
  return "leak:libvulkan_\nleak:libVkLayer\nleak:libLLVM-1\n";
}

/// In place of the C library's. Vulkan's loader closes drivers when the last
/// instance goes, and the driver that could not start at once. What such a
/// driver has lost would stand in reports without a name, so nothing could tell
/// it from what is lost here.
extern "C" __attribute__((visibility("default"), used)) int dlclose(void *) {
  return 0;
}

/// Tests read what programs say.
extern "C" __attribute__((visibility("default"), used)) const char *
__lsan_default_options() {
  return "print_suppressions=0";
}

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
      // LLVM's allocators poison memory that they have not given out, but only
      // in code that was compiled with the sanitizer. libLLVM was not: its own
      // allocations from the same slabs would be reported.
      "allow_user_poisoning=0";
}

/// LeakSanitizer's exceptions: drivers and layers keep memory until the process
/// ends. lavapipe loses 48 bytes of each pipeline, which the driver is told
/// to destroy; its LLVM is not the compiler's, which is 22.
extern "C" __attribute__((visibility("default"), used)) const char *
__lsan_default_suppressions() {
  return "leak:libvulkan_\nleak:libVkLayer\nleak:libLLVM-1\n";
}

/// In place of the C library's. Vulkan's loader closes drivers when the last
/// instance goes, and the driver that could not start at once. Leaks of such a
/// driver would stand in reports without a name, so nothing could tell them
/// from leaks here.
extern "C" __attribute__((visibility("default"), used)) int dlclose(void *) {
  return 0;
}

/// Tests read the output of programs.
extern "C" __attribute__((visibility("default"), used)) const char *
__lsan_default_options() {
  return "print_suppressions=0";
}

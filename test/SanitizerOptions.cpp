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

//===- BoundsReport.cpp - Reports accesses outside of operands ------------===//

#include "artifact/BoundsFault.h"
#include "tools/common/Report.h"

#include <csignal>
#include <cstdio>
#include <cstring>
#include <ucontext.h>
#include <unistd.h>

namespace nnv12::tools {
namespace {

/// Whether the instruction at which the process stopped is that of a check.
bool isBoundsFault(const ucontext_t &context, artifact::BoundsFault &fault) {
#if defined(__x86_64__)
  const greg_t *registers = context.uc_mcontext.gregs;
  unsigned char code[6];
  std::memcpy(code, reinterpret_cast<const void *>(registers[REG_RIP]),
              sizeof(code));
  uint32_t marker;
  std::memcpy(&marker, code + 2, sizeof(marker));
  if (code[0] != 0x0f || code[1] != 0x0b ||
      marker != artifact::boundsFaultMarker)
    return false;
  fault = {reinterpret_cast<const char *>(registers[REG_RDI]),
           registers[REG_RSI], registers[REG_RDX], registers[REG_RCX],
           registers[REG_R8]};
  return true;
#elif defined(__aarch64__)
  const auto *registers = context.uc_mcontext.regs;
  uint32_t code;
  std::memcpy(&code, reinterpret_cast<const void *>(context.uc_mcontext.pc),
              sizeof(code));
  if (code != artifact::boundsFaultInstruction)
    return false;
  fault = {reinterpret_cast<const char *>(registers[0]), int64_t(registers[1]),
           int64_t(registers[2]), int64_t(registers[3]), int64_t(registers[4])};
  return true;
#else
  return false;
#endif
}

void onUndefinedInstruction(int signal, siginfo_t *, void *context) {
  artifact::BoundsFault fault;
  if (!isBoundsFault(*static_cast<const ucontext_t *>(context), fault)) {
    std::signal(signal, SIG_DFL);
    return; // the instruction comes again, and ends the process
  }
  char line[1024];
  int length = snprintf(
      line, sizeof(line),
      "%s: %.700s: operand %lld: found an access to %lld bytes at offset "
      "%lld, expected one within its %lld bytes\n",
      toolName(), fault.title, static_cast<long long>(fault.operand),
      static_cast<long long>(fault.bytes), static_cast<long long>(fault.offset),
      static_cast<long long>(fault.size));
  if (write(STDERR_FILENO, line, length) != length)
    _exit(2);
  _exit(1);
}

} // namespace

void reportBoundsFaults() {
  struct sigaction action = {};
  action.sa_sigaction = onUndefinedInstruction;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGILL, &action, nullptr);
}

} // namespace nnv12::tools

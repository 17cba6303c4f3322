//===- CpuFeaturesTest.cpp - Features of this CPU -------------------------===//
#include "artifact/CpuFeatures.h"

#include <cstring>
#include <gtest/gtest.h>

using namespace nnv12::artifact;

TEST(CpuFeatures, UnknownIsAbsent) {
  CpuFeatures cpu;
  EXPECT_FALSE(cpu.has("quantum", 7));
  EXPECT_FALSE(cpu.has("", 0));
#if defined(__x86_64__)
  EXPECT_TRUE(cpu.has("sse2", 4));
  EXPECT_FALSE(cpu.has("sse2", 2));
  EXPECT_EQ(cpu.has("avx2", 4), bool(__builtin_cpu_supports("avx2")));
  EXPECT_EQ(cpu.has("avx512f", 7), bool(__builtin_cpu_supports("avx512f")));
  EXPECT_EQ(cpu.has("avx512vnni", 10),
            bool(__builtin_cpu_supports("avx512vnni")));
#else
  EXPECT_TRUE(cpu.has("neon", 4));
#endif
}

/// The C library's answers and the CPU's are the same.
TEST(CpuFeatures, BothSourcesAgree) {
  CpuFeatures library(CpuFeatures::CLibrary), cpu(CpuFeatures::Cpu);
  unsigned count = 0, there = 0;
  for (; const char *name = CpuFeatures::name(count); ++count) {
    EXPECT_EQ(library.has(name, strlen(name)), cpu.has(name, strlen(name)))
        << name;
    there += cpu.has(name, strlen(name));
  }
  EXPECT_GT(count, 20u);
  EXPECT_GT(there, 1u);
}

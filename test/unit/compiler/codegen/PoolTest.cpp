//===- PoolTest.cpp - Pooling against brute force -------------------------===//

#include "CheckLayer.h"

using namespace nnv12::test;

TEST(Pool, Windows) {
  for (bool max : {true, false})
    for (int64_t kernel : {2, 3, 5})
      for (int64_t stride : {1, 2}) {
        PoolCase x;
        x.c = 20, x.n = 2, x.h = 11, x.w = 33, x.k = kernel, x.stride = stride,
        x.max = max;
        x.low = x.high = kernel / 2;
        check(x.text(), "pool.nChw16c");
      }
}

TEST(Pool, Borders) {
  PoolCase x;
  x.max = false, x.k = 3, x.stride = 2, x.h = x.w = 12, x.low = 1, x.high = 2;
  check(x.text(), "pool.nChw16c");
  x.countPad = true;
  check(x.text(), "pool.nChw16c");
  x.dilation = 2;
  check(x.text(), "pool.nChw16c");
  x.max = true, x.countPad = false;
  check(x.text(), "pool.nChw16c");
  x = PoolCase(), x.k = 7, x.stride = 1, x.h = x.w = 7, x.max = false;
  check(x.text(), "pool.nChw16c");
  // Windows in the padding alone; padding that no window reads.
  for (auto [k, stride, low, high] : std::vector<std::array<int64_t, 4>>{
           {3, 7, 9, 8}, {2, 8, 5, 0}, {1, 100, 10, 0}}) {
    x = PoolCase(), x.h = x.w = 2, x.k = k, x.stride = stride;
    x.max = false, x.countPad = true, x.low = low, x.high = high;
    check(x.text(), "pool.nChw16c");
  }
}

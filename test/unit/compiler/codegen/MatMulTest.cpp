//===- MatMulTest.cpp - Matrix products against brute force ---------------===//

#include "CheckLayer.h"

using namespace nnv12::test;

static MatMulCase matmul(int64_t m, int64_t n, int64_t k) {
  MatMulCase x;
  x.m = m, x.n = n, x.k = k;
  return x;
}

TEST(MatMulPanels, Sizes) {
  for (int64_t m : {1, 2, 5, 33})
    for (int64_t n : {10, 16, 200})
      for (int64_t k : {7, 64}) {
        MatMulCase x = matmul(m, n, k);
        x.constant = true, x.transposeRhs = n == 200;
        check(x.text(), "matmul.panels");
      }
}

TEST(MatMulPanels, Forms) {
  MatMulCase x = matmul(6, 40, 24);
  x.constant = true, x.lhsBatch = {2, 3}, x.activation = "relu";
  check(x.text(), "matmul.panels");
  x.residual = true, x.bias = false;
  check(x.text(), "matmul.panels");
  x.lhsBatch = {}, x.transposeLhs = true;
  check(x.text(), "matmul.panels");
  x = matmul(31, 70, 1024); // copies the rows
  x.constant = true;
  check(x.text(), "matmul.panels");
}

TEST(MatMulPanels, Variants) {
  for (std::string routine : {"matmul.panels.p1", "matmul.panels.p4",
                              "matmul.panels.fine", "matmul.panels64"})
    for (int64_t m : {1, 33}) {
      MatMulCase x = matmul(m, 90, 71); // six panels, the last one partial
      x.constant = true, x.activation = "relu";
      check(x.text(), routine);
    }
}

TEST(MatMulPanels64, Forms) {
  MatMulCase x = matmul(6, 64, 24);
  x.constant = true, x.lhsBatch = {2, 3}, x.transposeRhs = true;
  check(x.text(), "matmul.panels64");
  x = matmul(20, 208, 1024); // copies the rows
  x.constant = true, x.residual = true, x.bias = false;
  check(x.text(), "matmul.panels64");
}

TEST(MatMulPacking, Sizes) {
  for (int64_t m : {1, 5, 33})
    for (int64_t n : {10, 100})
      for (int64_t k : {7, 64})
        for (bool transpose : {false, true}) {
          MatMulCase x = matmul(m, n, k);
          x.lhsBatch = x.rhsBatch = {3}, x.transposeRhs = transpose,
          x.bias = false;
          check(x.text(), "matmul.packing");
        }
}

/// Rows in more bands than one, the last of which has rows left over.
TEST(MatMulPacking, Bands) {
  for (int64_t m : {48, 61, 83})
    for (bool transpose : {false, true}) {
      MatMulCase x = matmul(m, 90, 5);
      x.lhsBatch = x.rhsBatch = {2}, x.transposeLhs = transpose;
      x.activation = "relu";
      check(x.text(), "matmul.packing");
    }
}

TEST(MatMulPacking, Broadcast) {
  MatMulCase x = matmul(6, 40, 24);
  x.lhsBatch = {2, 3}, x.rhsBatch = {1, 3};
  check(x.text(), "matmul.packing");
  x.lhsBatch = {2, 1}, x.rhsBatch = {1, 3};
  check(x.text(), "matmul.packing");
  x.lhsBatch = {1, 3}, x.rhsBatch = {3};
  check(x.text(), "matmul.packing");
  x.lhsBatch = {}, x.rhsBatch = {5}, x.transposeLhs = true;
  check(x.text(), "matmul.packing");
  x.lhsBatch = {4}, x.rhsBatch = {}, x.transposeLhs = false;
  check(x.text(), "matmul.packing");
}

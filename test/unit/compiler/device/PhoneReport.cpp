//===- PhoneReport.cpp - Prints the tables of docs/ -----------------------===//
#include "GpuTables.h"
#include "PhoneTables.h"
#include "SplitTables.h"

#include <cstdio>

int main() {
  using namespace nnv12::device;
  printf("%s\n%s\n%s\n%s\n%s\n%s\n%s\n%s", table1().c_str(), table2().c_str(),
         figure13().c_str(), gpuTable().c_str(), gpuPlansTable().c_str(),
         splitTable().c_str(), otherSplitsTable().c_str(),
         searchTable().c_str());
}

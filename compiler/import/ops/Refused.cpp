//===- Refused.cpp - Operators that are refused

#include "compiler/import/OpTable.h"

using namespace nnv12;
using namespace nnv12::importer;

OpRows importer::refusedOps() { return {}; }

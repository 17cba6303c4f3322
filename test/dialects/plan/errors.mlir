// RUN: nnv12-opt %s -split-input-file -verify-diagnostics
// What the verifiers refuse: found, expected.

// expected-error @below {{found 0 threads, expected 1 or more}}
plan.program "t" threads(0) {
}

// -----
// expected-error @below {{found an empty target}}
plan.program "" threads(1) {
}

// -----
// expected-error @below {{found a negative time, warm}}
plan.program "t" threads(1) cold(1) warm(-1) {
}

// -----
plan.program "t" threads(1) {
  // expected-error @below {{found in a plan.program, expected a stage or a lane}}
  %c = arith.constant 0 : i32
}

// -----
plan.program "t" threads(1) {
  // expected-error @below {{found layer -1, expected 0 or more}}
  %e = plan.execute -1 routine("a")
}

// -----
plan.program "t" threads(1) {
  // expected-error @below {{found operand -1, expected 0 or more}}
  %r = plan.read 0 operand(-1) storage(packed, stored)
}

// -----
plan.program "t" threads(1) {
  %r0 = plan.read 0 operand(1) storage(packed, stored)
  // expected-error @below {{layer 0 has a second plan.read}}
  %r1 = plan.read 0 operand(1) storage(packed, stored)
}

// -----
plan.program "t" threads(1) {
  %e0 = plan.execute 0 routine("a")
  // expected-error @below {{layer 0 has a second plan.execute}}
  %e1 = plan.execute 0 routine("a")
}

// -----
plan.program "t" threads(1) {
  %e0 = plan.execute 1 routine("a")
  // expected-error @below {{layer 0 comes after layer 1, expected the order of layers}}
  %e1 = plan.execute 0 routine("a")
}

// -----
plan.program "t" threads(1) {
  // expected-error @below {{layer 3 is prepared but never executed}}
  %r = plan.read 3 operand(1) storage(packed, stored)
}

// -----
plan.program "t" threads(1) {
  %r0 = plan.read 0 operand(1) storage(packed, zstd)
  // expected-error @below {{expected to be after the read of layer 1}}
  %d = plan.decode 1 after(%r0)
}

// -----
plan.program "t" threads(1) {
  %r0 = plan.read 0 operand(1) storage(packed, stored)
  // expected-error @below {{found weights that are not compressed}}
  %d = plan.decode 0 after(%r0)
}

// -----
plan.program "t" threads(1) {
  %r0 = plan.read 0 operand(1) storage(packed, zstd)
  // expected-error @below {{found compressed weights, expected a decode before}}
  %t = plan.transform 0 form("winograd4") routine("a") after(%r0)
}

// -----
plan.program "t" threads(1) {
  %r0 = plan.read 0 operand(1) storage(packed, zstd)
  // expected-error @below {{found compressed weights, expected a decode before}}
  %e = plan.execute 0 routine("a") after(%r0)
}

// -----
plan.program "t" threads(1) {
  %r0 = plan.read 0 operand(1) storage(packed, stored)
  // expected-error @below {{found packed weights, expected raw or narrow ones to make form 'packed' of}}
  %t = plan.transform 0 form("packed") routine("a") after(%r0)
}

// -----
plan.program "t" threads(1) {
  %r0 = plan.read 0 operand(1) storage(raw, stored)
  // expected-error @below {{found raw weights, expected packed ones to make form 'winograd4' of}}
  %t = plan.transform 0 form("winograd4") routine("a") after(%r0)
}

// -----
plan.program "t" threads(1) {
  // expected-error @below {{found raw weights, expected packed ones to be narrow}}
  %r0 = plan.read 0 operand(1) storage(raw, stored) narrow(q8)
}

// -----
plan.program "t" threads(1) {
  %r0 = plan.read 0 operand(1) storage(packed, stored) narrow(f16)
  // expected-error @below {{found f16 weights, expected packed ones to make form 'winograd4' of}}
  %t = plan.transform 0 form("winograd4") routine("a") after(%r0)
}

// -----
plan.program "t" threads(1) {
  %r0 = plan.read 0 operand(1) storage(packed, stored) narrow(q8)
  // expected-error @below {{found q8 weights, expected a transform to form 'packed' before}}
  %e = plan.execute 0 routine("a") after(%r0)
}

// -----
plan.program "t" threads(1) {
  %r0 = plan.read 0 operand(1) storage(transformed, stored)
  // expected-error @below {{found transformed weights, expected packed ones to make form 'winograd4' of}}
  %t = plan.transform 0 form("winograd4") routine("a") after(%r0)
}

// -----
plan.program "t" threads(1) {
  %r0 = plan.read 0 operand(1) storage(packed, stored)
  // expected-error @below {{found form 'transformed', expected 'packed' or the name of a routine's weight form}}
  %t = plan.transform 0 form("transformed") routine("a") after(%r0)
}

// -----
plan.program "t" threads(1) {
  %r0 = plan.read 0 operand(1) storage(packed, stored)
  %t0 = plan.transform 0 form("winograd4") routine("a") after(%r0)
  // expected-error @below {{layer 0 has form 'winograd4' already}}
  %t1 = plan.transform 0 form("winograd4") routine("a") after(%r0)
}

// -----
plan.program "t" threads(1) {
  %r0 = plan.read 0 operand(1) storage(packed, stored)
  // expected-error @below {{expected to be after a preparation of layer 1}}
  %t = plan.transform 1 form("winograd4") routine("a") after(%r0)
}

// -----
plan.program "t" threads(1) {
  %r0 = plan.read 0 operand(1) storage(raw, stored)
  // expected-error @below {{found raw weights, expected a transform to form 'packed' before}}
  %e = plan.execute 0 routine("a") after(%r0)
}

// -----
plan.program "t" threads(1) {
  %r0 = plan.read 0 operand(1) storage(packed, stored)
  // expected-error @below {{expected to be after the preparation of layer 0}}
  %e = plan.execute 0 routine("a")
}

// -----
plan.program "t" threads(1) {
  %e0 = plan.execute 0 routine("a")
  // expected-error @below {{found an execute to be after, expected preparations}}
  %e1 = plan.execute 1 routine("a") after(%e0)
}

// -----
plan.program "t" threads(1) {
  // expected-error @below {{layer 0 is not executed before}}
  plan.switch 0 routine("a")
}

// -----
plan.program "t" threads(1) {
  %e0 = plan.execute 0 routine("a")
  // expected-error @below {{found routine 'a', which executes the layer already}}
  plan.switch 0 routine("a")
}

// -----
plan.program "t" threads(1) {
  %e0 = plan.execute 0 routine("a")
  plan.switch 0 routine("b")
  // expected-error @below {{layer 0 has a second plan.switch}}
  plan.switch 0 routine("c")
}

// -----
plan.program "t" threads(1) {
  %e0 = plan.execute 0 routine("a")
  plan.lane execute on big queue(%e0)
  // expected-error @below {{comes after a lane, expected lanes last}}
  %e1 = plan.execute 1 routine("a")
}

// -----
plan.program "t" threads(1) {
  %e0 = plan.execute 0 routine("a")
  // expected-error @below {{found a preparation lane, expected the execute lane first}}
  plan.lane prepare on little queue()
  plan.lane execute on big queue(%e0)
}

// -----
plan.program "t" threads(1) {
  %e0 = plan.execute 0 routine("a")
  plan.lane execute on big queue(%e0)
  // expected-error @below {{found a second execute lane}}
  plan.lane execute on big queue()
}

// -----
plan.program "t" threads(1) {
  %e0 = plan.execute 0 routine("a")
  plan.lane execute on big queue(%e0)
  // expected-error @below {{found plan.execute of layer 0, which is in a lane already}}
  plan.lane prepare on little queue(%e0)
}

// -----
plan.program "t" threads(1) {
  %e0 = plan.execute 0 routine("a")
  %e1 = plan.execute 1 routine("a")
  // expected-error @below {{lacks the execute of layer 1}}
  plan.lane execute on big queue(%e0)
  plan.lane prepare on little queue(%e1)
}

// -----
plan.program "t" threads(1) {
  %e0 = plan.execute 0 routine("a")
  %e1 = plan.execute 1 routine("a")
  // expected-error @below {{found the execute of layer 1, expected that of layer 0}}
  plan.lane execute on big queue(%e1, %e0)
}

// -----
plan.program "t" threads(1) {
  // expected-error @below {{is in no lane}}
  %r0 = plan.read 0 operand(1) storage(packed, stored)
  %e0 = plan.execute 0 routine("a") after(%r0)
  plan.lane execute on big queue(%e0)
}

// -----
plan.program "t" threads(1) {
  %r0 = plan.read 0 operand(1) storage(packed, stored)
  %e0 = plan.execute 0 routine("a") after(%r0)
  plan.lane execute on big queue(%r0, %e0)
  // expected-error @below {{found plan.read of layer 0, which is in a lane already}}
  plan.lane prepare on any queue(%r0)
}

// -----
plan.program "t" threads(1) {
  %r0 = plan.read 0 operand(1) storage(packed, stored)
  %e0 = plan.execute 0 routine("a") after(%r0)
  // expected-error @below {{found an execute in the background}}
  plan.lane execute on big queue(%r0, %e0) background(%e0)
}

// -----
plan.program "t" threads(1) {
  %r0 = plan.read 0 operand(1) storage(packed, stored)
  // expected-error @below {{waits for an operation in the background}}
  %e0 = plan.execute 0 routine("a") after(%r0)
  plan.lane execute on big queue(%e0)
  plan.lane prepare on any queue() background(%r0)
}

// -----
// One lane: the execute is before what it waits for.
plan.program "t" threads(1) {
  %r0 = plan.read 0 operand(1) storage(packed, stored)
  %e0 = plan.execute 0 routine("a") after(%r0)
  // expected-error @below {{can deadlock: plan.execute of layer 0 waits for an operation that comes after it}}
  plan.lane execute on big queue(%e0, %r0)
}

// -----
// Two lanes, each waiting for the other.
plan.program "t" threads(1) {
  %r0 = plan.read 0 operand(1) storage(packed, zstd)
  %d0 = plan.decode 0 after(%r0)
  %e0 = plan.execute 0 routine("a") after(%d0)
  %r1 = plan.read 1 operand(1) storage(packed, zstd)
  %d1 = plan.decode 1 after(%r1)
  %e1 = plan.execute 1 routine("a") after(%d1)
  // expected-error @below {{can deadlock: plan.decode of layer 1 waits for an operation that comes after it}}
  plan.lane execute on big queue(%d1, %r0, %e0, %e1)
  plan.lane prepare on any queue(%d0, %r1)
}

// -----
plan.program "t" threads(1) {
  %e0 = plan.execute 0 routine("a")
  // expected-error @below {{'kind' [execute, prepare]}}
  plan.lane gpu on big queue(%e0)
}

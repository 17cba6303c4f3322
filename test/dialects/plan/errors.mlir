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
  %r = plan.read 0 operand(-1) storage(packed)
}

// -----
plan.program "t" threads(1) {
  %r0 = plan.read 0 operand(1) storage(packed)
  // expected-error @below {{layer 0 has a second plan.read}}
  %r1 = plan.read 0 operand(1) storage(packed)
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
  %r = plan.read 3 operand(1) storage(packed)
}

// -----
plan.program "t" threads(1) {
  %r0 = plan.read 0 operand(1) storage(packed+zstd)
  // expected-error @below {{expected to be after the read of layer 1}}
  %d = plan.decode 1 after(%r0)
}

// -----
plan.program "t" threads(1) {
  %r0 = plan.read 0 operand(1) storage(packed)
  // expected-error @below {{found weights that are not compressed}}
  %d = plan.decode 0 after(%r0)
}

// -----
plan.program "t" threads(1) {
  %r0 = plan.read 0 operand(1) storage(packed+zstd)
  // expected-error @below {{found compressed weights, expected a decode before}}
  %t = plan.transform 0 form("winograd4") routine("a") after(%r0)
}

// -----
plan.program "t" threads(1) {
  %r0 = plan.read 0 operand(1) storage(packed+zstd)
  // expected-error @below {{found compressed weights, expected a decode before}}
  %e = plan.execute 0 routine("a") after(%r0)
}

// -----
plan.program "t" threads(1) {
  %r0 = plan.read 0 operand(1) storage(packed)
  // expected-error @below {{found packed weights, expected raw or narrow ones to make form 'packed' of}}
  %t = plan.transform 0 form("packed") routine("a") after(%r0)
}

// -----
plan.program "t" threads(1) {
  %r0 = plan.read 0 operand(1) storage(raw)
  // expected-error @below {{found raw weights, expected packed ones to make form 'winograd4' of}}
  %t = plan.transform 0 form("winograd4") routine("a") after(%r0)
}

// -----
plan.program "t" threads(1) {
  // expected-error @below {{found form 'raw+q8', expected raw, packed, packed+q8, packed+f16, packed+f16o, packed+f16i or transformed, or one of them with +zstd}}
  %r0 = plan.read 0 operand(1) storage(raw+q8)
}

// -----
plan.program "t" threads(1) {
  // expected-error @below {{found packed+rounded weights, expected exact ones}}
  %r0 = plan.read 0 operand(1) storage(packed+rounded)
}

// -----
plan.program "t" threads(1) {
  %r0 = plan.read 0 operand(1) storage(packed+f16)
  // expected-error @below {{found packed+f16 weights, expected packed ones to make form 'winograd4' of}}
  %t = plan.transform 0 form("winograd4") routine("a") after(%r0)
}

// -----
plan.program "t" threads(1) {
  %r0 = plan.read 0 operand(1) storage(transformed)
  // expected-error @below {{found transformed weights, expected packed ones to make form 'winograd4' of}}
  %t = plan.transform 0 form("winograd4") routine("a") after(%r0)
}

// -----
plan.program "t" threads(1) {
  %r0 = plan.read 0 operand(1) storage(packed)
  // expected-error @below {{found form 'transformed', expected 'packed' or the name of a routine's weight form}}
  %t = plan.transform 0 form("transformed") routine("a") after(%r0)
}

// -----
plan.program "t" threads(1) {
  %r0 = plan.read 0 operand(1) storage(packed)
  %t0 = plan.transform 0 form("winograd4") routine("a") after(%r0)
  // expected-error @below {{layer 0 has form 'winograd4' already}}
  %t1 = plan.transform 0 form("winograd4") routine("a") after(%r0)
}

// -----
plan.program "t" threads(1) {
  %r0 = plan.read 0 operand(1) storage(packed)
  // expected-error @below {{expected to be after a preparation of layer 1}}
  %t = plan.transform 1 form("winograd4") routine("a") after(%r0)
}

// -----
plan.program "t" threads(1) {
  %r0 = plan.read 0 operand(1) storage(raw)
  // expected-error @below {{found raw weights, expected a transform to form 'packed' before}}
  %e = plan.execute 0 routine("a") after(%r0)
}

// -----
plan.program "t" threads(1) {
  %r0 = plan.read 0 operand(1) storage(packed)
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
  %r0 = plan.read 0 operand(1) storage(packed)
  %e0 = plan.execute 0 routine("a") after(%r0)
  plan.lane execute on big queue(%e0)
}

// -----
plan.program "t" threads(1) {
  %r0 = plan.read 0 operand(1) storage(packed)
  %e0 = plan.execute 0 routine("a") after(%r0)
  plan.lane execute on big queue(%r0, %e0)
  // expected-error @below {{found plan.read of layer 0, which is in a lane already}}
  plan.lane prepare on any queue(%r0)
}

// -----
plan.program "t" threads(1) {
  %r0 = plan.read 0 operand(1) storage(packed)
  %e0 = plan.execute 0 routine("a") after(%r0)
  // expected-error @below {{found an execute in the background}}
  plan.lane execute on big queue(%r0, %e0) background(%e0)
}

// -----
plan.program "t" threads(1) {
  %r0 = plan.read 0 operand(1) storage(packed)
  // expected-error @below {{waits for an operation in the background}}
  %e0 = plan.execute 0 routine("a") after(%r0)
  plan.lane execute on big queue(%e0)
  plan.lane prepare on any queue() background(%r0)
}

// -----
// One lane: the execute is before what it waits for.
plan.program "t" threads(1) {
  %r0 = plan.read 0 operand(1) storage(packed)
  %e0 = plan.execute 0 routine("a") after(%r0)
  // expected-error @below {{can deadlock: plan.execute of layer 0 waits for an operation that comes after it}}
  plan.lane execute on big queue(%e0, %r0)
}

// -----
// Two lanes, each waiting for the other.
plan.program "t" threads(1) {
  %r0 = plan.read 0 operand(1) storage(packed+zstd)
  %d0 = plan.decode 0 after(%r0)
  %e0 = plan.execute 0 routine("a") after(%d0)
  %r1 = plan.read 1 operand(1) storage(packed+zstd)
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

// -----
plan.program "t" threads(1) {
  %e0 = plan.execute 0 routine("a")
  %e1 = plan.execute 1 routine("a")
  // expected-error @below {{found no plan.device}}
  plan.gpu "vulkan1.1" profile("g") start(after_first) {
  }
}

// -----
plan.program "t" threads(1) {
  %e0 = plan.execute 0 routine("a")
  %e1 = plan.execute 1 routine("a")
  // expected-error @below {{found a negative time, cold}}
  plan.gpu "vulkan1.1" profile("g") start(at_open) cold(-1) {
    %d = plan.device
  }
}

// -----
plan.program "t" threads(1) {
  %e0 = plan.execute 0 routine("a")
  %e1 = plan.execute 1 routine("a")
  plan.gpu "vulkan1.1" profile("g") start(after_first) {
    %d = plan.device
    plan.gpu_lane queue(%d)
  }
  // expected-error @below {{found a second one}}
  plan.gpu "vulkan1.1" profile("g") start(after_first) {
    %d = plan.device
    plan.gpu_lane queue(%d)
  }
}

// -----
plan.program "t" threads(1) {
  %e0 = plan.execute 0 routine("a")
  %e1 = plan.execute 1 routine("a")
  plan.lane execute on any queue(%e0, %e1)
  // expected-error @below {{comes after a lane, expected lanes last}}
  plan.gpu "vulkan1.1" profile("g") start(after_first) {
    %d = plan.device
    plan.gpu_lane queue(%d)
  }
}

// -----
plan.program "t" threads(1) {
  %e0 = plan.execute 0 routine("a")
  %e1 = plan.execute 1 routine("a")
  plan.gpu "vulkan1.1" profile("g") start(after_first) {
    // expected-error @below {{found in a plan.gpu, expected a preparation, a stretch or a lane}}
    %x = arith.constant 0 : i32
  }
}

// -----
plan.program "t" threads(1) {
  %e0 = plan.execute 0 routine("a")
  %e1 = plan.execute 1 routine("a")
  plan.gpu "vulkan1.1" profile("g") start(after_first) {
    %d = plan.device
    // expected-error @below {{found a second one}}
    %x = plan.device
  }
}

// -----
plan.program "t" threads(1) {
  %e0 = plan.execute 0 routine("a")
  %e1 = plan.execute 1 routine("a")
  plan.gpu "vulkan1.1" profile("g") start(after_first) {
    %d = plan.device
    // expected-error @below {{found no kernels, expected one or more}}
    %p = plan.pipeline [] after(%d)
  }
}

// -----
plan.program "t" threads(1) {
  %e0 = plan.execute 0 routine("a")
  %e1 = plan.execute 1 routine("a")
  plan.gpu "vulkan1.1" profile("g") start(after_first) {
    %d = plan.device
    %p = plan.pipeline ["k"] after(%d)
    // expected-error @below {{found kernel 'k', which is made already}}
    %q = plan.pipeline ["k"] after(%d)
  }
}

// -----
plan.program "t" threads(1) {
  %e0 = plan.execute 0 routine("a")
  %e1 = plan.execute 1 routine("a")
  plan.gpu "vulkan1.1" profile("g") start(after_first) {
    %d = plan.device
    %p = plan.pipeline ["k"] after(%d)
    // expected-error @below {{expected to be after the plan.device}}
    %q = plan.pipeline ["l"] after(%p)
  }
}

// -----
plan.program "t" threads(1) {
  %e0 = plan.execute 0 routine("a")
  %e1 = plan.execute 1 routine("a")
  plan.gpu "vulkan1.1" profile("g") start(after_first) {
    %d = plan.device
    // expected-error @below {{layer 2 is not executed}}
    %u = plan.upload 2 after(%d)
  }
}

// -----
plan.program "t" threads(1) {
  %e0 = plan.execute 0 routine("a")
  %e1 = plan.execute 1 routine("a")
  plan.gpu "vulkan1.1" profile("g") start(after_first) {
    %d = plan.device
    %u = plan.upload 1 after(%d)
    // expected-error @below {{layer 1 is uploaded already}}
    %v = plan.upload 1 after(%d)
  }
}

// -----
plan.program "t" threads(1) {
  %e0 = plan.execute 0 routine("a")
  %e1 = plan.execute 1 routine("a")
  plan.gpu "vulkan1.1" profile("g") start(after_first) {
    %d = plan.device
    // expected-error @below {{found an execute to be after, expected preparations}}
    %u = plan.upload 1 after(%d, %e0)
  }
}

// -----
plan.program "t" threads(1) {
  %e0 = plan.execute 0 routine("a")
  %e1 = plan.execute 1 routine("a")
  plan.gpu "vulkan1.1" profile("g") start(after_first) {
    %d = plan.device
    // expected-error @below {{found stretch 0, but there are 0}}
    %c = plan.record 0 after(%d)
  }
}

// -----
plan.program "t" threads(1) {
  %e0 = plan.execute 0 routine("a")
  %e1 = plan.execute 1 routine("a")
  plan.gpu "vulkan1.1" profile("g") start(after_first) {
    %d = plan.device
    %p = plan.pipeline ["k"] after(%d)
    %c = plan.record 0 after(%d, %p)
    // expected-error @below {{stretch 0 is recorded already}}
    %c1 = plan.record 0 after(%d, %p)
    plan.stretch layers(0, 1) after(%c) {
      plan.dispatch 0 routine("r") kernels(["k"])
    }
  }
}

// -----
plan.program "t" threads(1) {
  %e0 = plan.execute 0 routine("a")
  %e1 = plan.execute 1 routine("a")
  plan.gpu "vulkan1.1" profile("g") start(after_first) {
    %d = plan.device
    %p = plan.pipeline ["k"] after(%d)
    // expected-error @below {{expected to be after the pipeline of kernel 'k'}}
    %c = plan.record 0 after(%d)
    plan.stretch layers(0, 1) after(%c) {
      plan.dispatch 0 routine("r") kernels(["k"])
    }
  }
}

// -----
plan.program "t" threads(1) {
  %e0 = plan.execute 0 routine("a")
  %e1 = plan.execute 1 routine("a")
  plan.gpu "vulkan1.1" profile("g") start(after_first) {
    %d = plan.device
    // expected-error @below {{lacks the dispatch of layer 0}}
    plan.stretch layers(0, 1) after(%d) {
    }
  }
}

// -----
plan.program "t" threads(1) {
  %e0 = plan.execute 0 routine("a")
  %e1 = plan.execute 1 routine("a")
  plan.gpu "vulkan1.1" profile("g") start(after_first) {
    %d = plan.device
    %p = plan.pipeline ["k"] after(%d)
    %c = plan.record 0 after(%d, %p)
    // expected-error @below {{found 0 layers, expected 1 or more}}
    plan.stretch layers(0, 0) after(%c) {
    }
  }
}

// -----
plan.program "t" threads(1) {
  %e0 = plan.execute 0 routine("a")
  %e1 = plan.execute 1 routine("a")
  plan.gpu "vulkan1.1" profile("g") start(after_first) {
    %d = plan.device
    %p = plan.pipeline ["k"] after(%d)
    %c = plan.record 0 after(%d, %p)
    plan.stretch layers(0, 1) after(%c) {
      // expected-error @below {{found layer 1, expected layer 0}}
      plan.dispatch 1 routine("r") kernels(["k"])
    }
  }
}

// -----
plan.program "t" threads(1) {
  %e0 = plan.execute 0 routine("a")
  %e1 = plan.execute 1 routine("a")
  plan.gpu "vulkan1.1" profile("g") start(after_first) {
    %d = plan.device
    %p = plan.pipeline ["k"] after(%d)
    %c = plan.record 0 after(%d, %p)
    plan.stretch layers(1, 2) after(%c) {
      plan.dispatch 1 routine("r") kernels(["k"])
      // expected-error @below {{layer 2 is not executed}}
      plan.dispatch 2 routine("r") kernels(["k"])
    }
  }
}

// -----
plan.program "t" threads(1) {
  %e0 = plan.execute 0 routine("a")
  %e1 = plan.execute 1 routine("a")
  plan.gpu "vulkan1.1" profile("g") start(after_first) {
    %d = plan.device
    %p = plan.pipeline ["k"] after(%d)
    %c = plan.record 0 after(%d, %p)
    plan.stretch layers(0, 1) after(%c) {
      // expected-error @below {{found in a plan.stretch, expected a plan.dispatch or a plan.part}}
      %x = arith.constant 0 : i32
    }
  }
}

// -----
plan.program "t" threads(1) {
  %e0 = plan.execute 0 routine("a")
  %e1 = plan.execute 1 routine("a")
  plan.gpu "vulkan1.1" profile("g") start(after_first) {
    %d = plan.device
    %p = plan.pipeline ["k"] after(%d)
    %c = plan.record 0 after(%d, %p)
    // expected-error @below {{found one of dim and at, expected both or none}}
    plan.stretch layers(0, 1) after(%c) attributes {dim = 2 : i64} {
      plan.dispatch 0 routine("r") kernels(["k"]) front(8)
      plan.part 0 routine("a") back(8)
    }
  }
}

// -----
plan.program "t" threads(1) {
  %e0 = plan.execute 0 routine("a")
  %e1 = plan.execute 1 routine("a")
  plan.gpu "vulkan1.1" profile("g") start(after_first) {
    %d = plan.device
    %p = plan.pipeline ["k"] after(%d)
    %c = plan.record 0 after(%d, %p)
    // expected-error @below {{found one of dim and at, expected both or none}}
    plan.stretch layers(0, 1) after(%c) attributes {at = 8 : i64} {
      plan.dispatch 0 routine("r") kernels(["k"])
    }
  }
}

// -----
plan.program "t" threads(1) {
  %e0 = plan.execute 0 routine("a")
  %e1 = plan.execute 1 routine("a")
  plan.gpu "vulkan1.1" profile("g") start(after_first) {
    %d = plan.device
    %p = plan.pipeline ["k"] after(%d)
    %c = plan.record 0 after(%d, %p)
    // expected-error @below {{found dimension 3, expected 0 (batch), 1 (channels) or 2 (rows)}}
    plan.stretch layers(0, 1) after(%c) split(3 at 8) {
      plan.dispatch 0 routine("r") kernels(["k"]) front(8)
      plan.part 0 routine("a") back(8)
    }
  }
}

// -----
plan.program "t" threads(1) {
  %e0 = plan.execute 0 routine("a")
  %e1 = plan.execute 1 routine("a")
  plan.gpu "vulkan1.1" profile("g") start(after_first) {
    %d = plan.device
    %p = plan.pipeline ["k"] after(%d)
    %c = plan.record 0 after(%d, %p)
    // expected-error @below {{found a cut at 0, expected 1 or more}}
    plan.stretch layers(0, 1) after(%c) split(2 at 0) {
      plan.dispatch 0 routine("r") kernels(["k"]) front(8)
      plan.part 0 routine("a") back(8)
    }
  }
}

// -----
plan.program "t" threads(1) {
  %e0 = plan.execute 0 routine("a")
  %e1 = plan.execute 1 routine("a")
  plan.gpu "vulkan1.1" profile("g") start(after_first) {
    %d = plan.device
    %p = plan.pipeline ["k"] after(%d)
    %c = plan.record 0 after(%d, %p)
    // expected-error @below {{found a cut at -1, expected 1 or more}}
    plan.stretch layers(0, 1) after(%c) split(2 at -1) {
      plan.dispatch 0 routine("r") kernels(["k"]) front(8)
      plan.part 0 routine("a") back(8)
    }
  }
}

// -----
plan.program "t" threads(1) {
  %e0 = plan.execute 0 routine("a")
  %e1 = plan.execute 1 routine("a")
  plan.gpu "vulkan1.1" profile("g") start(after_first) {
    %d = plan.device
    %p = plan.pipeline ["k"] after(%d)
    %c = plan.record 0 after(%d, %p)
    // expected-error @below {{found a split that the first inference may take, expected later ones alone}}
    plan.stretch layers(0, 1) after(%c) cold split(2 at 8) {
      plan.dispatch 0 routine("r") kernels(["k"]) front(8)
      plan.part 0 routine("a") back(8)
    }
  }
}

// -----
plan.program "t" threads(1) {
  %e0 = plan.execute 0 routine("a")
  %e1 = plan.execute 1 routine("a")
  plan.gpu "vulkan1.1" profile("g") start(after_first) {
    %d = plan.device
    %p = plan.pipeline ["k"] after(%d)
    %c = plan.record 0 after(%d, %p)
    plan.stretch layers(0, 1) after(%c) warm {
      plan.dispatch 0 routine("r") kernels(["k"])
      // expected-error @below {{found in a stretch that is not split, expected no part}}
      plan.part 0 routine("a") back(8)
    }
  }
}

// -----
plan.program "t" threads(1) {
  %e0 = plan.execute 0 routine("a")
  %e1 = plan.execute 1 routine("a")
  plan.gpu "vulkan1.1" profile("g") start(after_first) {
    %d = plan.device
    %p = plan.pipeline ["k"] after(%d)
    %c = plan.record 0 after(%d, %p)
    plan.stretch layers(0, 1) after(%c) warm {
      // expected-error @below {{found a front, expected it in a stretch that is split}}
      plan.dispatch 0 routine("r") kernels(["k"]) front(8)
    }
  }
}

// -----
plan.program "t" threads(1) {
  %e0 = plan.execute 0 routine("a")
  %e1 = plan.execute 1 routine("a")
  plan.gpu "vulkan1.1" profile("g") start(after_first) {
    %d = plan.device
    %p = plan.pipeline ["k"] after(%d)
    %c = plan.record 0 after(%d, %p)
    plan.stretch layers(0, 1) after(%c) split(2 at 8) {
      // expected-error @below {{found a front of 0 positions, expected 1 or more}}
      plan.dispatch 0 routine("r") kernels(["k"]) front(0)
      plan.part 0 routine("a") back(8)
    }
  }
}

// -----
plan.program "t" threads(1) {
  %e0 = plan.execute 0 routine("a")
  %e1 = plan.execute 1 routine("a")
  plan.gpu "vulkan1.1" profile("g") start(after_first) {
    %d = plan.device
    %p = plan.pipeline ["k"] after(%d)
    %c = plan.record 0 after(%d, %p)
    plan.stretch layers(0, 1) after(%c) split(2 at 8) {
      plan.dispatch 0 routine("r") kernels(["k"]) front(8)
      // expected-error @below {{found a part from position -1 on, expected 0 or more}}
      plan.part 0 routine("a") back(-1)
    }
  }
}

// -----
plan.program "t" threads(1) {
  %e0 = plan.execute 0 routine("a")
  %e1 = plan.execute 1 routine("a")
  plan.gpu "vulkan1.1" profile("g") start(after_first) {
    %d = plan.device
    %p = plan.pipeline ["k"] after(%d)
    %c = plan.record 0 after(%d, %p)
    plan.stretch layers(0, 2) after(%c) split(2 at 8) {
      plan.dispatch 0 routine("r") kernels(["k"]) front(8)
      plan.part 0 routine("a") back(8)
      // expected-error @below {{comes after a part, expected dispatches first}}
      plan.dispatch 1 routine("r") kernels(["k"]) front(8)
      plan.part 1 routine("a") back(8)
    }
  }
}

// -----
plan.program "t" threads(1) {
  %e0 = plan.execute 0 routine("a")
  %e1 = plan.execute 1 routine("a")
  plan.gpu "vulkan1.1" profile("g") start(after_first) {
    %d = plan.device
    %p = plan.pipeline ["k"] after(%d)
    %c = plan.record 0 after(%d, %p)
    // expected-error @below {{lacks the part of layer 1}}
    plan.stretch layers(0, 2) after(%c) split(2 at 8) {
      plan.dispatch 0 routine("r") kernels(["k"]) front(8)
      plan.dispatch 1 routine("r") kernels(["k"]) front(8)
      plan.part 0 routine("a") back(8)
    }
  }
}

// -----
plan.program "t" threads(1) {
  %e0 = plan.execute 0 routine("a")
  %e1 = plan.execute 1 routine("a")
  plan.gpu "vulkan1.1" profile("g") start(after_first) {
    %d = plan.device
    %p = plan.pipeline ["k"] after(%d)
    %c = plan.record 0 after(%d, %p)
    // expected-error @below {{lacks the part of layer 0}}
    plan.stretch layers(0, 1) after(%c) split(2 at 8) {
      plan.dispatch 0 routine("r") kernels(["k"]) front(8)
    }
  }
}

// -----
plan.program "t" threads(1) {
  %e0 = plan.execute 0 routine("a")
  %e1 = plan.execute 1 routine("a")
  plan.gpu "vulkan1.1" profile("g") start(after_first) {
    %d = plan.device
    %p = plan.pipeline ["k"] after(%d)
    %c = plan.record 0 after(%d, %p)
    plan.stretch layers(0, 2) after(%c) split(2 at 8) {
      plan.dispatch 0 routine("r") kernels(["k"]) front(8)
      plan.dispatch 1 routine("r") kernels(["k"]) front(8)
      // expected-error @below {{found layer 1, expected layer 0}}
      plan.part 1 routine("a") back(8)
      plan.part 0 routine("a") back(8)
    }
  }
}

// -----
plan.program "t" threads(1) {
  %e0 = plan.execute 0 routine("a")
  %e1 = plan.execute 1 routine("a")
  plan.gpu "vulkan1.1" profile("g") start(after_first) {
    %d = plan.device
    %p = plan.pipeline ["k"] after(%d)
    %c = plan.record 0 after(%d, %p)
    plan.stretch layers(0, 1) after(%c) split(2 at 8) {
      plan.dispatch 0 routine("r") kernels(["k"]) front(8)
      // expected-error @below {{found layer 1, expected layer 0}}
      plan.part 1 routine("a") back(8)
    }
  }
}

// -----
plan.program "t" threads(1) {
  %e0 = plan.execute 0 routine("a")
  %e1 = plan.execute 1 routine("a")
  plan.gpu "vulkan1.1" profile("g") start(after_first) {
    %d = plan.device
    %p = plan.pipeline ["k"] after(%d)
    %c = plan.record 0 after(%d, %p)
    %c1 = plan.record 1 after(%d, %p)
    plan.stretch layers(1, 1) after(%c) {
      plan.dispatch 1 routine("r") kernels(["k"])
    }
    // expected-error @below {{found it behind one that begins later, or is shorter, expected them by their first layer, the longest first}}
    plan.stretch layers(0, 1) after(%c1) {
      plan.dispatch 0 routine("r") kernels(["k"])
    }
  }
}

// -----
plan.program "t" threads(1) {
  %e0 = plan.execute 0 routine("a")
  %e1 = plan.execute 1 routine("a")
  plan.gpu "vulkan1.1" profile("g") start(after_first) {
    %d = plan.device
    %p = plan.pipeline ["k"] after(%d)
    %c = plan.record 0 after(%d, %p)
    %c1 = plan.record 1 after(%d, %p)
    plan.stretch layers(0, 2) after(%c) warm {
      plan.dispatch 0 routine("r") kernels(["k"])
      plan.dispatch 1 routine("r") kernels(["k"])
    }
    // expected-error @below {{found layer 1, which later inferences have in another stretch}}
    plan.stretch layers(1, 1) after(%c1) warm {
      plan.dispatch 1 routine("r") kernels(["k"])
    }
  }
}

// -----
plan.program "t" threads(1) {
  %e0 = plan.execute 0 routine("a")
  %e1 = plan.execute 1 routine("a")
  plan.gpu "vulkan1.1" profile("g") start(after_first) {
    %d = plan.device
    %p = plan.pipeline ["k"] after(%d)
    %c = plan.record 0 after(%d, %p)
    // expected-error @below {{expected to be after its plan.record}}
    plan.stretch layers(0, 1) after(%p) {
      plan.dispatch 0 routine("r") kernels(["k"])
    }
  }
}

// -----
plan.program "t" threads(1) {
  %e0 = plan.execute 0 routine("a")
  %e1 = plan.execute 1 routine("a")
  plan.gpu "vulkan1.1" profile("g") start(after_first) {
    %d = plan.device
    %p = plan.pipeline ["k"] after(%d)
    %c = plan.record 0 after(%d, %p)
    plan.stretch layers(0, 1) after(%c) {
      plan.dispatch 0 routine("r") kernels(["k"])
    }
    // expected-error @below {{comes after a stretch or a lane, expected preparations first}}
    %u = plan.upload 1 after(%d)
  }
}

// -----
plan.program "t" threads(1) {
  %e0 = plan.execute 0 routine("a")
  %e1 = plan.execute 1 routine("a")
  plan.gpu "vulkan1.1" profile("g") start(after_first) {
    %d = plan.device
    // expected-error @below {{is in no lane}}
    %u = plan.upload 1 after(%d)
    plan.gpu_lane queue(%d)
  }
}

// -----
plan.program "t" threads(1) {
  %e0 = plan.execute 0 routine("a")
  %e1 = plan.execute 1 routine("a")
  plan.gpu "vulkan1.1" profile("g") start(after_first) {
    %d = plan.device
    plan.gpu_lane queue(%d)
    // expected-error @below {{found plan.device, which is in a lane already}}
    plan.gpu_lane queue(%d)
  }
}

// -----
plan.program "t" threads(1) {
  %e0 = plan.execute 0 routine("a")
  %e1 = plan.execute 1 routine("a")
  plan.gpu "vulkan1.1" profile("g") start(after_first) {
    %d = plan.device
    plan.gpu_lane queue(%d)
    // expected-error @below {{found plan.execute, expected preparations of the GPU}}
    plan.gpu_lane queue(%e0)
  }
}

// -----
plan.program "t" threads(1) {
  %e0 = plan.execute 0 routine("a")
  %e1 = plan.execute 1 routine("a")
  plan.gpu "vulkan1.1" profile("g") start(after_first) {
    %d = plan.device
    %p = plan.pipeline ["k"] after(%d)
    // expected-error @below {{can deadlock: plan.pipeline waits for an operation that comes after it}}
    plan.gpu_lane queue(%p, %d)
  }
}

// -----
plan.program "t" threads(1) {
  %r0 = plan.read 0 operand(1) storage(packed)
  %e0 = plan.execute 0 routine("a") after(%r0)
  %t0 = plan.transform 0 form("f") routine("b") after(%r0)
  plan.switch 0 routine("b") after(%t0)
  plan.gpu "vulkan1.1" profile("g") start(after_first) {
    %d = plan.device
    // expected-error @below {{waits for an operation in the background}}
    %u = plan.upload 0 after(%d, %t0)
    plan.gpu_lane queue(%d, %u)
  }
  plan.lane execute on any queue(%r0, %e0) background(%t0)
}

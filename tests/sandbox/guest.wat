;; A standard library for tests: it has the interface of the real one, and `start` misbehaves as its last
;; argument asks.
(module
  (import "host" "input_length" (func $input_length (param i32) (result i32)))
  (import "host" "input_read" (func $input_read (param i32 i32)))
  (import "host" "effect_start" (func $effect_start (param i32 i32 i32 i32 i32 i32 i32) (result i32)))
  (import "host" "effect_wait" (func $effect_wait (result i64)))
  (import "host" "effect_take" (func $effect_take (param i32 i32)))
  (import "host" "log" (func $log (param i32 i32 i32 i32)))
  (import "host" "respond" (func $respond (param i32 i32)))
  (import "host" "finish" (func $finish (param i32 i32 i32)))
  (import "host" "trace_begin" (func $trace_begin (param i32 i32 i32) (result i32)))
  (import "host" "trace_pause" (func $trace_pause (param i32)))
  (import "host" "trace_resume" (func $trace_resume (param i32)))
  (import "host" "trace_end" (func $trace_end (param i32 i32 i32 i32 i32)))
  (memory (export "memory") 2)
  (table (export "__indirect_function_table") 1 funcref)
  (global (export "CURRENT_NODE") i32 (i32.const 16))
  (data (i32.const 16) "\01\00\00\00")
  (data (i32.const 64) "sleep")
  (data (i32.const 80) "http")
  (data (i32.const 96) "{\"ms\":3600000}")
  (data (i32.const 128) "null")
  (data (i32.const 144) "hash")
  (data (i32.const 160) "unknown")
  (data (i32.const 176) "hmac")

  ;; Starts the event as a request for the effect of this kind, and ends the run with the effect's result.
  (func $perform (param $kind i32) (param $kind_length i32)
    (local $length i32)
    (local.set $length (call $input_length (i32.const 0)))
    (call $input_read (i32.const 0) (i32.const 4096))
    (call $fill_nonce (i32.add (i32.const 4096) (local.get $length)))
    (drop (call $effect_start (i32.const 1) (local.get $kind) (local.get $kind_length) (i32.const 64) (i32.const 5)
      (i32.const 4096) (local.get $length)))
    (call $take))
  ;; Puts the run's nonce in place of every 32 `@` between 4096 and $end. The context is read to 32768, where
  ;; the nonce stands after `"nonce":"`.
  (func $fill_nonce (param $end i32)
    (local $at i32) (local $nonce i32)
    (call $input_read (i32.const 1) (i32.const 32768))
    (local.set $nonce (i32.const 32768))
    (block $found (loop $search
      ;; `nonce":"`
      (br_if $found (i64.eq (i64.load (local.get $nonce)) (i64.const 0x223a2265636e6f6e)))
      (local.set $nonce (i32.add (local.get $nonce) (i32.const 1)))
      (br $search)))
    (local.set $nonce (i32.add (local.get $nonce) (i32.const 8)))
    (local.set $at (i32.const 4096))
    (loop $next
      (if (i32.eq (i32.load (local.get $at)) (i32.const 0x40404040)) (then
        (memory.copy (local.get $at) (local.get $nonce) (i32.const 32))))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $at) (local.get $end)))))
  (func $take
    (local $done i64)
    (local.set $done (call $effect_wait))
    (call $effect_take (i32.wrap_i64 (i64.shr_u (local.get $done) (i64.const 32))) (i32.const 4096))
    (call $finish (i32.const 0) (i32.const 4096) (i32.wrap_i64 (local.get $done))))

  (func (export "reserve") (param i32) (result i32) (i32.const 65536))
  ;; A pattern's way to name the node that is executing.
  (func (export "node_NoOp") (param $node i32) (i32.store (i32.const 16) (local.get $node)))
  ;; A pattern's way to the misbehaviour with a number.
  (func (export "start") (param i32 i32 i32) (param $what i32)
    (local $token i32)
    ;; 0: the event is the output.
    (if (i32.eqz (local.get $what)) (then
      (call $input_read (i32.const 0) (i32.const 4096))
      (call $finish (i32.const 0) (i32.const 4096) (call $input_length (i32.const 0)))))
    ;; 1: logs for ever.
    (if (i32.eq (local.get $what) (i32.const 1)) (then
      (loop $more (call $log (i32.const 1) (i32.const 0) (i32.const 64) (i32.const 5)) (br $more))))
    ;; 2: an output of all its memory.
    (if (i32.eq (local.get $what) (i32.const 2)) (then
      (call $finish (i32.const 0) (i32.const 0) (i32.const 131072))))
    ;; 3: starts effects for ever.
    (if (i32.eq (local.get $what) (i32.const 3)) (then
      (loop $more
        (drop (call $effect_start (i32.const 1) (i32.const 64) (i32.const 5) (i32.const 64) (i32.const 5) (i32.const 96) (i32.const 14)))
        (br $more))))
    ;; 4: lengths and addresses outside of its memory.
    (if (i32.eq (local.get $what) (i32.const 4)) (then
      (call $log (i32.const 1) (i32.const 0) (i32.const -16) (i32.const -1))))
    ;; 5: waits for an hour.
    (if (i32.eq (local.get $what) (i32.const 5)) (then
      (drop (call $effect_start (i32.const 1) (i32.const 64) (i32.const 5) (i32.const 64) (i32.const 5) (i32.const 96) (i32.const 14)))
      (drop (call $effect_wait))))
    ;; 6: returns without an end.
    ;; 7: the context is the output.
    (if (i32.eq (local.get $what) (i32.const 7)) (then
      (call $input_read (i32.const 1) (i32.const 4096))
      (call $finish (i32.const 0) (i32.const 4096) (call $input_length (i32.const 1)))))
    ;; 8, 9, 10: an effect.
    (if (i32.eq (local.get $what) (i32.const 8)) (then (call $perform (i32.const 80) (i32.const 4))))
    (if (i32.eq (local.get $what) (i32.const 9)) (then (call $perform (i32.const 144) (i32.const 4))))
    (if (i32.eq (local.get $what) (i32.const 10)) (then (call $perform (i32.const 160) (i32.const 7))))
    ;; 18: the same request twice at once.
    (if (i32.eq (local.get $what) (i32.const 18)) (then
      (call $input_read (i32.const 0) (i32.const 4096))
      (drop (call $effect_start (i32.const 1) (i32.const 80) (i32.const 4) (i32.const 64) (i32.const 4)
        (i32.const 4096) (call $input_length (i32.const 0))))
      (call $perform (i32.const 80) (i32.const 4))))
    ;; 19, 20: an effect with the run's nonce in its request.
    (if (i32.eq (local.get $what) (i32.const 19)) (then (call $perform (i32.const 80) (i32.const 4))))
    (if (i32.eq (local.get $what) (i32.const 20)) (then (call $perform (i32.const 176) (i32.const 4))))
    ;; 11: a request larger than its memory.
    (if (i32.eq (local.get $what) (i32.const 11)) (then
      (drop (call $effect_start (i32.const 1) (i32.const 64) (i32.const 5) (i32.const 64) (i32.const 5) (i32.const 96) (i32.const 0x7fffffff)))))
    ;; 12: reads an input to the very end of its memory, and past it.
    (if (i32.eq (local.get $what) (i32.const 12)) (then
      (call $input_read (i32.const 0) (i32.const 131071))))
    ;; 13: waits although nothing was started.
    (if (i32.eq (local.get $what) (i32.const 13)) (then (drop (call $effect_wait))))
    ;; 14: a trace of one node with a wait, and the event as log line and output.
    (if (i32.eq (local.get $what) (i32.const 14)) (then
      (local.set $token (call $trace_begin (i32.const 1) (i32.const 64) (i32.const 5)))
      (call $trace_pause (local.get $token))
      (call $trace_resume (local.get $token))
      (call $trace_end (local.get $token) (i32.const 0) (i32.const 0) (i32.const 128) (i32.const 4))
      (call $finish (i32.const 0) (i32.const 128) (i32.const 4))))
    ;; 15: a response larger than allowed.
    (if (i32.eq (local.get $what) (i32.const 15)) (then
      (call $respond (i32.const 0) (i32.const 131072))))
    ;; 16: traces for ever.
    (if (i32.eq (local.get $what) (i32.const 16)) (then
      (loop $more
        (drop (call $trace_begin (i32.const 1) (i32.const 64) (i32.const 5)))
        (br $more))))
    ;; 17: an output that is no JSON.
    (if (i32.eq (local.get $what) (i32.const 17)) (then
      (call $finish (i32.const 0) (i32.const 64) (i32.const 5)))))
)

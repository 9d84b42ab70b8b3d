;; A tool whose first byte of data says what to do; see the dispatch in "run".
;; Anything else is echoed as the result's data.
(component
  (import "murmur:text/chunks@0.1.0" (instance $chunks
    (export "emit-chunk" (func (param "chunk" string)))
    (export "emit-thinking-chunk" (func (param "chunk" string)))))
  (import "murmur:task/task@0.1.0" (instance $task
    (export "request-input" (func (param "prompt" string) (result string)))))
  (import "wasi:cli/exit@0.2.6" (instance $exit (export "exit" (func (param "status" (result))))))
  (import "wasi:io/poll@0.2.0" (instance $poll
    (export "pollable" (type $pollable (sub resource)))
    (export "[method]pollable.block" (func (param "self" (borrow $pollable))))))
  (alias export $poll "pollable" (type $pollable))
  (import "wasi:clocks/monotonic-clock@0.2.3" (instance $clock
    (alias outer 1 $pollable (type $p))
    (export "pollable" (type $pp (eq $p)))
    (export "subscribe-duration" (func (param "when" u64) (result (own $pp))))))

  (core module $libc
    (memory (export "memory") 2)
    (global $b (mut i32) (i32.const 1024))
    (func (export "cabi_realloc") (param $old i32) (param $os i32) (param $al i32) (param $n i32) (result i32)
      (local $p i32)
      (local.set $p (i32.and (i32.add (global.get $b) (i32.sub (local.get $al) (i32.const 1))) (i32.sub (i32.const 0) (local.get $al))))
      (global.set $b (i32.add (local.get $p) (local.get $n)))
      (local.get $p)))
  (core instance $libc (instantiate $libc))
  (core func $chunk (canon lower (func $chunks "emit-chunk") (memory $libc "memory")))
  (core func $think (canon lower (func $chunks "emit-thinking-chunk") (memory $libc "memory")))
  (core func $ask (canon lower (func $task "request-input") (memory $libc "memory") (realloc (func $libc "cabi_realloc"))))
  (core func $exit (canon lower (func $exit "exit")))
  (core func $block (canon lower (func $poll "[method]pollable.block")))
  (core func $timer (canon lower (func $clock "subscribe-duration")))
  (core module $m
    (import "libc" "memory" (memory 2))
    (import "host" "chunk" (func $chunk (param i32 i32)))
    (import "host" "think" (func $think (param i32 i32)))
    (import "host" "ask" (func $ask (param i32 i32 i32)))
    (import "host" "exit" (func $exit (param i32)))
    (import "host" "block" (func $block (param i32)))
    (import "host" "timer" (func $timer (param i64) (result i32)))
    (data (i32.const 16) "wat tool" "key" "value")
    (func $recurse (call $recurse))
    (func $grow (loop $l (br_if $l (i32.ne (i32.const -1) (memory.grow (i32.const 16))))))
    (func $do (param $c i32) (param $p i32) (param $n i32)
      (if (i32.eq (local.get $c) (i32.const 117)) (then unreachable))                                ;; u
      (if (i32.eq (local.get $c) (i32.const 111)) (then (drop (i32.load (i32.const 0x7ffffff0)))))   ;; o
      (if (i32.eq (local.get $c) (i32.const 114)) (then (call $recurse)))                            ;; r
      (if (i32.eq (local.get $c) (i32.const 115)) (then (loop $l (br $l))))                          ;; s
      (if (i32.eq (local.get $c) (i32.const 103)) (then (call $grow) unreachable))                   ;; g
      (if (i32.eq (local.get $c) (i32.const 104)) (then (call $grow)))                               ;; h
      (if (i32.eq (local.get $c) (i32.const 120)) (then (call $exit (i32.const 1))))                 ;; x
      (if (i32.eq (local.get $c) (i32.const 121)) (then (call $exit (i32.const 0))))                 ;; y
      (if (i32.eq (local.get $c) (i32.const 122)) (then (call $block (call $timer (i64.const 3600000000000))))) ;; z
      (if (i32.eq (local.get $c) (i32.const 99)) (then                                               ;; c
        (call $chunk (local.get $p) (local.get $n)) (call $think (local.get $p) (i32.const 1)))))
    (func (export "run") (param $ds i32) (param $dp i32) (param $dn i32) (param $ls i32) (param $lp i32) (param $ln i32) (result i32)
      (if (i32.and (local.get $ds) (i32.ne (local.get $dn) (i32.const 0))) (then
        (call $do (i32.load8_u (local.get $dp)) (local.get $dp) (local.get $dn))
        (if (i32.eq (i32.load8_u (local.get $dp)) (i32.const 97)) (then                              ;; a
          (call $ask (local.get $dp) (local.get $dn) (i32.const 200))
          (local.set $dp (i32.load (i32.const 200)))
          (local.set $dn (i32.load (i32.const 204)))))))
      (i32.store8 (i32.const 64) (i32.const 1))                                                      ;; failed
      (i32.store (i32.const 68) (i32.const 1)) (i32.store (i32.const 72) (i32.const 16)) (i32.store (i32.const 76) (i32.const 8))
      (i32.store (i32.const 80) (local.get $ds)) (i32.store (i32.const 84) (local.get $dp)) (i32.store (i32.const 88) (local.get $dn))
      (i32.store (i32.const 92) (local.get $ls)) (i32.store (i32.const 96) (local.get $lp)) (i32.store (i32.const 100) (local.get $ln))
      (i32.store8 (i32.const 104) (i32.const 1))                                                     ;; truncated
      (i32.store (i32.const 108) (i32.const 128)) (i32.store (i32.const 112) (i32.const 1))          ;; metadata
      (i32.store (i32.const 128) (i32.const 24)) (i32.store (i32.const 132) (i32.const 3))
      (i32.store (i32.const 136) (i32.const 27)) (i32.store (i32.const 140) (i32.const 5))
      (i32.const 64)))
  (core instance $m (instantiate $m (with "libc" (instance $libc)) (with "host" (instance
    (export "chunk" (func $chunk)) (export "think" (func $think)) (export "ask" (func $ask)) (export "exit" (func $exit))
    (export "block" (func $block)) (export "timer" (func $timer))))))

  (type $status' (enum "passed" "failed" "error"))
  (type $in' (record (field "data" (option string)) (field "log-path" (option string))))
  (type $res' (record (field "status" $status') (field "summary" (option string)) (field "data" (option string)) (field "data-path" (option string)) (field "truncated" bool) (field "metadata" (list (tuple string string)))))
  (func $run' (param "input" $in') (result $res')
    (canon lift (core func $m "run") (memory $libc "memory") (realloc (func $libc "cabi_realloc"))))
  (component $wrap
    (type $status0 (enum "passed" "failed" "error"))
    (import "status" (type $status (eq $status0)))
    (type $in0 (record (field "data" (option string)) (field "log-path" (option string))))
    (import "tool-input" (type $in (eq $in0)))
    (type $res0 (record (field "status" $status) (field "summary" (option string)) (field "data" (option string)) (field "data-path" (option string)) (field "truncated" bool) (field "metadata" (list (tuple string string)))))
    (import "tool-result" (type $res (eq $res0)))
    (import "run" (func $run (param "input" $in) (result $res)))
    (export $es "status" (type $status))
    (export $ei "tool-input" (type $in))
    (type $res1 (record (field "status" $es) (field "summary" (option string)) (field "data" (option string)) (field "data-path" (option string)) (field "truncated" bool) (field "metadata" (list (tuple string string)))))
    (export $er "tool-result" (type $res1))
    (export "run" (func $run) (func (param "input" $ei) (result $er))))
  (instance $i (instantiate $wrap (with "status" (type $status')) (with "tool-input" (type $in')) (with "tool-result" (type $res')) (with "run" (func $run'))))
  (export "murmur:tool/run@0.1.0" (instance $i)))

;; A function that gives the guest bytes: calls the host's packed twin and
;; unpacks its string into memory from the guest's allocator.
;; @PARAMS@: parameters before the results' address. @SIZE@: of the results.
(module
  (import "guest" "memory" (memory $guest 0))
  (import "guest" "realloc" (func $realloc (param i32 i32 i32 i32) (result i32)))
  (import "own" "memory" (memory $own 3))
  (import "own" "call" (func $host (param @PARAMS@ i32)))
  (func (export "call") (param @PARAMS@ i32)
    (local $ret i32) (local $src i32) (local $dst i32) (local $len i32) (local $left i32) (local $y i64)
    (local.set $ret (local.get @LAST@))
    (call $host @GETS@ (i32.const 16))
    (memory.copy $guest $own (local.get $ret) (i32.const 16) (i32.const @SIZE@))
    (if (i32.load8_u $own (i32.const 16)) (then (return))) ;; an error has no bytes
    (local.set $src (i32.load $own (i32.const 20)))
    (local.set $len (i32.load $own (i32.const 24)))
    ;; Eight characters for seven bytes, and one that says how many bytes of the
    ;; last seven are none.
    (if (local.get $len) (then (local.set $left
      (i32.sub (i32.mul (i32.shr_u (local.get $len) (i32.const 3)) (i32.const 7))
        (i32.and (i32.load8_u $own (i32.sub (i32.add (local.get $src) (local.get $len)) (i32.const 1))) (i32.const 7))))))
    (local.set $dst (call $realloc (i32.const 0) (i32.const 0) (i32.const 1) (local.get $left)))
    (i32.store $guest offset=4 (local.get $ret) (local.get $dst))
    (i32.store $guest offset=8 (local.get $ret) (local.get $left))
    (loop $next
      (if (i32.eqz (local.get $left)) (then (return)))
      (local.set $y (i64.load $own (local.get $src)))
      (local.set $y (i64.or (i64.and (local.get $y) (i64.const 0x007f007f007f007f)) (i64.shr_u (i64.and (local.get $y) (i64.const 0x7f007f007f007f00)) (i64.const 1))))
      (local.set $y (i64.or (i64.and (local.get $y) (i64.const 0x00003fff00003fff)) (i64.shr_u (i64.and (local.get $y) (i64.const 0x3fff00003fff0000)) (i64.const 2))))
      (local.set $y (i64.or (i64.and (local.get $y) (i64.const 0x0fffffff)) (i64.shr_u (i64.and (local.get $y) (i64.const 0x0fffffff00000000)) (i64.const 4))))
      (if (i32.gt_u (local.get $left) (i32.const 7)) (then
        (i64.store $guest (local.get $dst) (local.get $y)) ;; the eighth byte is written again
        (local.set $src (i32.add (local.get $src) (i32.const 8)))
        (local.set $dst (i32.add (local.get $dst) (i32.const 7)))
        (local.set $left (i32.sub (local.get $left) (i32.const 7)))
        (br $next))))
    (i64.store $own (i32.const 32) (local.get $y))
    (memory.copy $guest $own (local.get $dst) (i32.const 32) (local.get $left))))

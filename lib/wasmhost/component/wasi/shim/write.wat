;; A function that takes bytes from the guest: packs them and calls the host's
;; packed twin with the string.
;; The parameters are handle, address, length, then @MORE@, then the results'
;; address. @SIZE@: of the results.
(module
  (import "guest" "memory" (memory $guest 0))
  (import "own" "memory" (memory $own 3))
  (import "own" "realloc" (func $room (param i32 i32 i32 i32) (result i32)))
  (import "own" "call" (func $host (param i32 i32 i32 @MORE@ i32)))
  (func (export "call") (param $self i32) (param $src i32) (param $left i32) (param @MORE@ i32)
    (local $o i32) (local $block i32) (local $len i32) (local $y i64)
    (if (local.get $left) (then
      ;; More than can be packed is refused before the length overflows.
      (if (i32.gt_u (local.get $left) (i32.const 0x400000)) (then unreachable))
      (local.set $len (i32.add (i32.shl (i32.div_u (i32.add (local.get $left) (i32.const 6)) (i32.const 7)) (i32.const 3)) (i32.const 1)))
      (local.set $block (call $room (i32.const 0) (i32.const 0) (i32.const 1) (local.get $len)))
      (local.set $o (local.get $block))
      (loop $next
        (if (i32.gt_u (local.get $left) (i32.const 7))
          (then (local.set $y (i64.load $guest (local.get $src))))
          (else
            (i64.store $own (i32.const 32) (i64.const 0))
            (memory.copy $own $guest (i32.const 32) (local.get $src) (local.get $left))
            (local.set $y (i64.load $own (i32.const 32)))))
        (local.set $y (i64.or (i64.and (local.get $y) (i64.const 0x0fffffff)) (i64.shl (i64.and (local.get $y) (i64.const 0x00fffffff0000000)) (i64.const 4))))
        (local.set $y (i64.or (i64.and (local.get $y) (i64.const 0x00003fff00003fff)) (i64.shl (i64.and (local.get $y) (i64.const 0x0fffc0000fffc000)) (i64.const 2))))
        (local.set $y (i64.or (i64.and (local.get $y) (i64.const 0x007f007f007f007f)) (i64.shl (i64.and (local.get $y) (i64.const 0x3f803f803f803f80)) (i64.const 1))))
        (i64.store $own (local.get $o) (local.get $y))
        (local.set $o (i32.add (local.get $o) (i32.const 8)))
        (local.set $src (i32.add (local.get $src) (i32.const 7)))
        (if (i32.gt_u (local.get $left) (i32.const 7)) (then
          (local.set $left (i32.sub (local.get $left) (i32.const 7)))
          (br $next))))
      (i32.store8 $own (local.get $o) (i32.sub (i32.const 0x37) (local.get $left))))) ;; '0' + 7 - left
    (call $host (local.get $self) (local.get $block) (local.get $len) @GETS@ (i32.const 16))
    (memory.copy $guest $own (local.get @LAST@) (i32.const 16) (i32.const @SIZE@))))

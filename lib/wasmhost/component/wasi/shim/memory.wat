;; The memory that packed bytes are in, on their way between guest and host. One
;; call is under way at a time, and each has one block: every allocation is that
;; block, from 64 on. 16 to 31 are the host's results, 32 to 39 a scratch word.
(module
  (memory (export "memory") 3)
  (func (export "realloc") (param $old i32) (param $old-size i32) (param $align i32) (param $size i32) (result i32)
    (local $pages i32)
    ;; What the host is asked to take in one call must not grow with the guest.
    (if (i32.gt_u (local.get $size) (i32.const 0x500000)) (then unreachable))
    (local.set $pages (i32.shr_u (i32.add (local.get $size) (i32.const 0x1007f)) (i32.const 16)))
    (if (i32.gt_u (local.get $pages) (memory.size))
      (then (if (i32.eq (memory.grow (i32.sub (local.get $pages) (memory.size))) (i32.const -1)) (then unreachable))))
    (i32.const 64)))

;; A script capsule that runs git with the arguments "log" and "" and the variable
;; A=b, then traps unless the answer is what shell_test.go makes it, or the error
;; that says there is no shell.
(component
  (import "murmur:shell/execute@0.1.0" (instance $shell
    (type $res0 (record (field "exit-code" s32) (field "stdout" string) (field "stderr" string) (field "truncated" bool) (field "full-output-path" (option string))))
    (export "shell-result" (type $res (eq $res0)))
    (export "run" (func (param "binary" string) (param "args" (list string)) (param "env" (list (tuple string string))) (result (result $res (error string)))))))
  (core module $libc
    (memory (export "memory") 2)
    (global $b (mut i32) (i32.const 4096))
    (func (export "cabi_realloc") (param $old i32) (param $os i32) (param $al i32) (param $n i32) (result i32)
      (local $p i32)
      (local.set $p (i32.and (i32.add (global.get $b) (i32.sub (local.get $al) (i32.const 1))) (i32.sub (i32.const 0) (local.get $al))))
      (global.set $b (i32.add (local.get $p) (local.get $n)))
      (local.get $p)))
  (core instance $libc (instantiate $libc))
  (core func $run (canon lower (func $shell "run") (memory $libc "memory") (realloc (func $libc "cabi_realloc"))))
  (core module $m
    (import "libc" "memory" (memory 2))
    (import "h" "run" (func $run (param i32 i32 i32 i32 i32 i32 i32)))
    (data (i32.const 16) "gitlogAb")
    (func $want (param i32 i32) (if (i32.ne (local.get 0) (local.get 1)) (then unreachable)))
    (func (export "run")
      ;; git = 16+3, log = 19+3; the list ["log", ""] at 64, [("A", "b")] at 96
      (i32.store (i32.const 64) (i32.const 19)) (i32.store (i32.const 68) (i32.const 3))
      (i32.store (i32.const 72) (i32.const 0)) (i32.store (i32.const 76) (i32.const 0))
      (i32.store (i32.const 96) (i32.const 22)) (i32.store (i32.const 100) (i32.const 1))
      (i32.store (i32.const 104) (i32.const 23)) (i32.store (i32.const 108) (i32.const 1))
      (call $run (i32.const 16) (i32.const 3) (i32.const 64) (i32.const 2) (i32.const 96) (i32.const 1) (i32.const 256))
      (if (i32.load8_u (i32.const 256)) (then
        ;; the reason has 29 bytes
        (call $want (i32.load (i32.const 264)) (i32.const 29))
        (return)))
      (call $want (i32.load (i32.const 260)) (i32.const -7))
      (call $want (i32.load (i32.const 268)) (i32.const 3))
      (call $want (i32.load (i32.const 276)) (i32.const 0))
      (call $want (i32.load8_u (i32.const 280)) (i32.const 1))
      (call $want (i32.load8_u (i32.const 284)) (i32.const 1))
      (call $want (i32.load (i32.const 292)) (i32.const 8))))
  (core instance $m (instantiate $m (with "libc" (instance $libc)) (with "h" (instance (export "run" (func $run))))))
  (func $main (canon lift (core func $m "run")))
  (instance $i (export "run" (func $main)))
  (export "murmur:capsule/run@0.1.0" (instance $i)))

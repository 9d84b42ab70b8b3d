package wasi

import (
	"bytes"
	"context"
	"os"
	"testing"

	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/lib/wasmhost/wasmtime"
)

// moverText is a guest that moves bytes between its memory and a file "f" of the
// first directory: write and read take the total and the size of each call.
const moverText = `(component
  (import "wasi:io/error@0.2.3" (instance $ioerror (export "error" (type (sub resource)))))
  (alias export $ioerror "error" (type $error))
  (import "wasi:io/streams@0.2.3" (instance $streams
    (export "error" (type $e (eq $error)))
    (export "input-stream" (type $in (sub resource)))
    (export "output-stream" (type $out (sub resource)))
    (type $se (variant (case "last-operation-failed" (own $e)) (case "closed")))
    (export "stream-error" (type $stream-error (eq $se)))
    (export "[method]input-stream.blocking-read" (func (param "self" (borrow $in)) (param "len" u64) (result (result (list u8) (error $stream-error)))))
    (export "[method]output-stream.blocking-write-and-flush" (func (param "self" (borrow $out)) (param "contents" (list u8)) (result (result (error $stream-error)))))))
  (alias export $streams "input-stream" (type $input))
  (alias export $streams "output-stream" (type $output))
  (import "wasi:filesystem/types@0.2.3" (instance $fs
    (export "descriptor" (type $d (sub resource)))
    (export "input-stream" (type $in (eq $input)))
    (export "output-stream" (type $out (eq $output)))
    (type $ec (enum "access" "would-block" "already" "bad-descriptor" "busy" "deadlock" "quota" "exist" "file-too-large" "illegal-byte-sequence" "in-progress" "interrupted" "invalid" "io" "is-directory" "loop" "too-many-links" "message-size" "name-too-long" "no-device" "no-entry" "no-lock" "insufficient-memory" "insufficient-space" "not-directory" "not-empty" "not-recoverable" "unsupported" "no-tty" "no-such-device" "overflow" "not-permitted" "pipe" "read-only" "invalid-seek" "text-file-busy" "cross-device"))
    (export "error-code" (type $error-code (eq $ec)))
    (type $df (flags "read" "write" "file-integrity-sync" "data-integrity-sync" "requested-write-sync" "mutate-directory"))
    (export "descriptor-flags" (type $descriptor-flags (eq $df)))
    (type $pf (flags "symlink-follow"))
    (export "path-flags" (type $path-flags (eq $pf)))
    (type $of (flags "create" "directory" "exclusive" "truncate"))
    (export "open-flags" (type $open-flags (eq $of)))
    (export "[method]descriptor.open-at" (func (param "self" (borrow $d)) (param "path-flags" $path-flags) (param "path" string) (param "open-flags" $open-flags) (param "flags" $descriptor-flags) (result (result (own $d) (error $error-code)))))
    (export "[method]descriptor.read-via-stream" (func (param "self" (borrow $d)) (param "offset" u64) (result (result (own $in) (error $error-code)))))
    (export "[method]descriptor.write-via-stream" (func (param "self" (borrow $d)) (param "offset" u64) (result (result (own $out) (error $error-code)))))))
  (alias export $fs "descriptor" (type $descriptor))
  (import "wasi:filesystem/preopens@0.2.3" (instance $pre
    (export "descriptor" (type $d (eq $descriptor)))
    (export "get-directories" (func (result (list (tuple (own $d) string)))))))
  (core module $memory
    (memory (export "memory") 8)
    (data (i32.const 8) "f")
    (global $next (mut i32) (i32.const 1024))
    (func (export "realloc") (param i32 i32 i32 i32) (result i32)
      (if (i32.gt_u (local.get 3) (i32.const 64)) (then (return (i32.const 65536))))
      (global.set $next (i32.add (global.get $next) (i32.const 64)))
      (global.get $next)))
  (core instance $m (instantiate $memory))
  (alias core export $m "memory" (core memory $mem))
  (alias core export $m "realloc" (core func $realloc))
  (core func $dirs (canon lower (func $pre "get-directories") (memory $mem) (realloc $realloc)))
  (core func $open (canon lower (func $fs "[method]descriptor.open-at") (memory $mem)))
  (core func $reader (canon lower (func $fs "[method]descriptor.read-via-stream") (memory $mem)))
  (core func $writer (canon lower (func $fs "[method]descriptor.write-via-stream") (memory $mem)))
  (core func $read (canon lower (func $streams "[method]input-stream.blocking-read") (memory $mem) (realloc $realloc)))
  (core func $write (canon lower (func $streams "[method]output-stream.blocking-write-and-flush") (memory $mem)))
  (core module $code
    (import "m" "memory" (memory 8))
    (import "w" "dirs" (func $dirs (param i32)))
    (import "w" "open" (func $open (param i32 i32 i32 i32 i32 i32 i32)))
    (import "w" "reader" (func $reader (param i32 i64 i32)))
    (import "w" "writer" (func $writer (param i32 i64 i32)))
    (import "w" "read" (func $read (param i32 i64 i32)))
    (import "w" "write" (func $write (param i32 i32 i32 i32)))
    (func $file (result i32)
      (call $dirs (i32.const 16))
      (call $open (i32.load (i32.load (i32.const 16))) (i32.const 0) (i32.const 8) (i32.const 1) (i32.const 1) (i32.const 3) (i32.const 16))
      (if (i32.load8_u (i32.const 16)) (then unreachable))
      (i32.load (i32.const 20)))
    (func (export "write") (param $total i32) (param $size i32) (result i32)
      (local $s i32)
      (call $writer (call $file) (i64.const 0) (i32.const 16))
      (if (i32.load8_u (i32.const 16)) (then unreachable))
      (local.set $s (i32.load (i32.const 20)))
      (loop $next
        (call $write (local.get $s) (i32.const 65536) (local.get $size) (i32.const 16))
        (if (i32.load8_u (i32.const 16)) (then unreachable))
        (br_if $next (i32.gt_s (local.tee $total (i32.sub (local.get $total) (local.get $size))) (i32.const 0))))
      (i32.const 0))
    (func (export "read") (param $total i32) (param $size i32) (result i32)
      (local $s i32) (local $n i32)
      (call $reader (call $file) (i64.const 0) (i32.const 16))
      (if (i32.load8_u (i32.const 16)) (then unreachable))
      (local.set $s (i32.load (i32.const 20)))
      (loop $next
        (call $read (local.get $s) (i64.extend_i32_u (local.get $size)) (i32.const 16))
        (if (i32.eqz (i32.load8_u (i32.const 16))) (then
          (local.set $n (i32.add (local.get $n) (i32.load (i32.const 24))))
          (br $next))))
      (local.get $n)))
  (core instance $c (instantiate $code (with "m" (instance $m)) (with "w" (instance
    (export "dirs" (func $dirs)) (export "open" (func $open)) (export "reader" (func $reader)) (export "writer" (func $writer)) (export "read" (func $read)) (export "write" (func $write))))))
  (func (export "write") (param "total" u32) (param "size" u32) (result u32) (canon lift (core func $c "write")))
  (func (export "read") (param "total" u32) (param "size" u32) (result u32) (canon lift (core func $c "read"))))`

// BenchmarkBytes moves 3 MiB; plain is the component as it is.
func BenchmarkBytes(b *testing.B) {
	p := needEngine(b)
	e, _ := testEngine()
	plain, err := wasmtime.Wat(moverText)
	if err != nil {
		b.Fatal(err)
	}
	wrapped, err := Wrap(plain)
	if err != nil || bytes.Equal(plain, wrapped) {
		b.Fatal("not wrapped", err)
	}
	const total = 3 << 20
	for _, way := range []struct {
		name string
		wasm []byte
	}{{"plain", plain}, {"wrapped", wrapped}} {
		c, err := e.Compile(way.wasm)
		if err != nil {
			b.Fatal(err)
		}
		for _, op := range []string{"write", "read"} {
			for _, size := range []int{4096, Chunk} {
				b.Run(way.name+"/"+op+"-"+map[int]string{4096: "4KiB", Chunk: "64KiB"}[size], func(b *testing.B) {
					dir, path := testDir(b)
					if err := os.WriteFile(path+"/f", make([]byte, total), 0o600); err != nil {
						b.Fatal(err)
					}
					b.SetBytes(total)
					for b.Loop() {
						in := New(Config{Dirs: []wasmhost.Dir{dir}})
						s := e.NewStore(wasmtime.StoreConfig{Data: in})
						i, err := p.linker.Instantiate(context.Background(), s, c)
						if err != nil {
							b.Fatal(err)
						}
						ix, err := c.Index("", op)
						if err != nil {
							b.Fatal(err)
						}
						f, err := i.Func(ix)
						if err != nil {
							b.Fatal(err)
						}
						r, err := f.Call(context.Background(), 1, uint32(total), uint32(size))
						if err != nil || op == "read" && r[0] != uint32(total) {
							b.Fatal(r, err)
						}
						s.Close()
						in.Close()
						ix.Close()
					}
				})
			}
		}
	}
}

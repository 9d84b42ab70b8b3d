// Package core runs guests that are WebAssembly core modules: WASI preview 1
// and the interface murmur:core@0.1.0. It is the wasmhost.Engine for the bytes
// `00 61 73 6d 01 00 00 00` (WIT-5).
//
// It promises that a guest holds nothing but what its call grants: the folders
// of Instance.Dirs, of which no link leads out; the variables of Instance.Env;
// requests through Instance.HTTP; the functions of Instance.Imports its kind is
// meant for. A call ends within its limits, also inside a loop that calls
// nothing and inside a host function that waits (WIT-64, CON-262), and is told
// apart as deadline, cancellation, limit, exit or trap (WIT-32).
//
// It never decides a policy, and knows nothing of artifacts, sessions or traces.
// Everything a guest or a caller can notice is decided here, once; the engine
// below is behind package runner: wasmtime in a build with cgo, wazero in one
// without (WIT-68).
//
// # Which failure is it
//
// The first that holds, as CON-263 asks:
//
//  1. a defect of a host function: HostPanic;
//  2. a growth of memory that was refused because of limits.memory_bytes:
//     LimitReached, whatever the guest did after it. Each engine takes the memory
//     of an instance from an allocator of ours, which is asked for each growth the
//     module's own maximum allows; so a refusal is known, not guessed from the
//     trap that follows;
//  3. an output over its limit, a second respond: BadOutput;
//  4. the guest called proc_exit: Exited, or success for status 0;
//  5. the call's context ended: Canceled or DeadlinePassed;
//  6. anything else: Trapped.
//
// Growth of a table beyond limits.table_elements is refused too, but no engine
// reports such a refusal: a guest that then traps is reported as Trapped. No
// compiler the project knows of emits table.grow.
package core

// Package wasip1 is a host of WASI preview 1, for whatever engine runs the guest:
// all 46 functions of wasi_snapshot_preview1 over a linear memory that is handed
// in with each call (WIT-61 to WIT-63).
//
// An engine takes the functions from Funcs, makes a Host for each instance, and
// calls Func.Call with the memory as it is at that moment and the arguments as raw
// words. What a guest sees of files is the directories of its Host, each held by
// an os.Root, which follows no name, link or ".." out of it (WIT-60). What is
// neither a file, a directory nor a link is never opened, so that no open or read
// waits for somebody else.
//
// A guest may pass anything: no argument makes a function panic, reach outside the
// memory or outside the directories, or hold more than a bounded number of files.
// The package opens no sockets, starts no processes and no goroutines.
//
// Layouts, numbers and names are those of
// https://github.com/WebAssembly/WASI/blob/main/legacy/preview1/docs.md; where that
// text is silent, a function answers what Go's and C's run-time libraries expect.
package wasip1

// Module is the name under which guests import the functions.
const Module = "wasi_snapshot_preview1"

// Package worker runs commands in a process that was confined once and for all
// (CON section 10). The worker is the importing program itself without its Go
// runtime: re-executed under the name mur-worker, it takes over before the runtime
// starts, or a holder, which has none, forks it. Single-threaded it confines itself as its first packets say, answers ready, and then
// forks and executes one command after another with descriptors it is handed.
// Whatever it starts inherits the confinement; whatever a command leaves behind
// is killed before the next one; and when its client goes, everything goes.
//
// Why C: Landlock domains and capabilities belong to threads, a Go program has
// many before main, and a single-threaded process forks in a fraction of the
// time.
//
// On another system than Linux, and in a build without cgo, there is nothing a
// process could confine itself to: a set-up that asks for it is refused by name,
// and the commands of any other are started from here, each a child of its own
// with its limits, in a session of its own (CON-7, CON-289).
//
// The package decides nothing: which rules, which filter, which limits is its
// caller's. A worker serves one command at a time (CON-281).
package worker

// Package netns makes a network namespace one in which every destination is local
// (CON-202). It is C for processes that are forked and must not enter the Go
// runtime: the holder, which keeps such a namespace, and the probe, which tries
// whether one can be had. It calls nothing that takes a lock.
package netns

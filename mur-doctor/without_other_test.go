//go:build !linux

package main

// play does nothing: only Linux has mechanisms to take away.
func play() {}

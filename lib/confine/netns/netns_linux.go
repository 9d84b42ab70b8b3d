//go:build linux && cgo

package netns

import "C" // netns_linux.c is linked into whoever imports this

module github.com/mur-capsules/mur/examples

go 1.26.0

require (
	github.com/tetratelabs/wazero v1.12.0
	golang.org/x/sys v0.44.0 // indirect
)

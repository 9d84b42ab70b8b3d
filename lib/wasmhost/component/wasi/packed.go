package wasi

import "github.com/mur-capsules/mur/lib/wasmhost/component/wasmtime"

func packedInterfaces() []wasmtime.Interface { return nil }

package wasi

import (
	"strings"

	"github.com/mur-capsules/mur/lib/wasmhost/wasmtime"
)

// The sockets are linked so that guests load, and every call that could fail
// answers access-denied (WIT-26). No guest ever holds a socket, for none can be
// created, so the methods on one can not be reached; they answer the same.
const (
	tcpMethods = `start-bind finish-bind start-connect finish-connect start-listen finish-listen accept
		local-address remote-address is-listening address-family set-listen-backlog-size keep-alive-enabled
		set-keep-alive-enabled keep-alive-idle-time set-keep-alive-idle-time keep-alive-interval
		set-keep-alive-interval keep-alive-count set-keep-alive-count hop-limit set-hop-limit
		receive-buffer-size set-receive-buffer-size send-buffer-size set-send-buffer-size subscribe shutdown`
	udpMethods = `start-bind finish-bind stream local-address remote-address address-family unicast-hop-limit
		set-unicast-hop-limit receive-buffer-size set-receive-buffer-size send-buffer-size
		set-send-buffer-size subscribe`
)

var (
	typeNetwork       = wasmtime.NewResourceType()
	typeResolveStream = wasmtime.NewResourceType()
	typeTCPSocket     = wasmtime.NewResourceType()
	typeUDPSocket     = wasmtime.NewResourceType()
	typeDatagramsIn   = wasmtime.NewResourceType()
	typeDatagramsOut  = wasmtime.NewResourceType()
)

func socketInterfaces() []wasmtime.Interface {
	deny := func(*call, []val) (val, error) { return wasmtime.Err(enum("access-denied")), nil }
	denied := func(resource, names string) funcs {
		m := funcs{}
		for n := range strings.FieldsSeq(names) {
			m["[method]"+resource+"."+n] = deny
		}
		return m
	}
	lookup := denied("resolve-address-stream", "resolve-next-address subscribe")
	lookup["resolve-addresses"] = deny
	udp := denied("udp-socket", udpMethods)
	for _, more := range []funcs{denied("incoming-datagram-stream", "receive subscribe"), denied("outgoing-datagram-stream", "check-send send subscribe")} {
		for n, f := range more {
			udp[n] = f
		}
	}
	return []wasmtime.Interface{
		{Name: "sockets/network", Resources: resources{"network": typeNetwork}, Funcs: funcs{"network-error-code": none}},
		{Name: "sockets/instance-network", Funcs: funcs{"instance-network": func(c *call, a []val) (val, error) { return c.Own(typeNetwork, nil), nil }}},
		{Name: "sockets/ip-name-lookup", Resources: resources{"resolve-address-stream": typeResolveStream}, Funcs: lookup},
		{Name: "sockets/tcp", Resources: resources{"tcp-socket": typeTCPSocket}, Funcs: denied("tcp-socket", tcpMethods)},
		{Name: "sockets/tcp-create-socket", Funcs: funcs{"create-tcp-socket": deny}},
		{Name: "sockets/udp", Resources: resources{"udp-socket": typeUDPSocket, "incoming-datagram-stream": typeDatagramsIn, "outgoing-datagram-stream": typeDatagramsOut}, Funcs: udp},
		{Name: "sockets/udp-create-socket", Funcs: funcs{"create-udp-socket": deny}},
	}
}

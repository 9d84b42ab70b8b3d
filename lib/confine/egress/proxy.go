package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"github.com/mur-capsules/mur/lib/policy"
)

// Bounds of CON-223 and CON-227.
const (
	connectTimeout = 15 * time.Second
	lookupTimeout  = 5 * time.Second
	idleTimeout    = 300 * time.Second
	maxConns       = 128
	maxMessage     = 4096
)

// Refusal is a connection that was refused, or an allowed one that could not be
// made (Err set).
type Refusal struct {
	Host    string
	Port    int
	Missing string
	Err     error
}

// Proxy serves the sockets of one session's namespace from outside of it.
type Proxy struct {
	rules policy.Rules
	names *Names
	ipv6  bool
	note  func(Refusal)
	dial  func(ctx context.Context, network, address string) (net.Conn, error)

	slots chan struct{}
	wg    sync.WaitGroup
	close []io.Closer
	ctx   context.Context
	stop  context.CancelFunc
}

// Sockets are what Open made inside of the namespace, handed out of it.
type Sockets struct {
	Listeners []net.Listener
	DNS       []*net.UDPConn
	IPv6      bool
}

// Serve starts the proxy over sockets. note hears every refusal, from several
// goroutines. Close ends it.
func Serve(s Sockets, rules policy.Rules, note func(Refusal)) *Proxy {
	ctx, stop := context.WithCancel(context.Background())
	d := &net.Dialer{Timeout: connectTimeout}
	p := &Proxy{rules: rules, names: NewNames(rules), ipv6: s.IPv6, note: note, dial: d.DialContext, slots: make(chan struct{}, maxConns), ctx: ctx, stop: stop}
	for _, l := range s.Listeners {
		p.close = append(p.close, l)
		p.wg.Go(func() { p.accept(l) })
	}
	for _, c := range s.DNS {
		p.close = append(p.close, c)
		p.wg.Go(func() { p.serveDNS(c) })
	}
	return p
}

// Close ends every connection and waits for all goroutines.
func (p *Proxy) Close() {
	p.stop()
	for _, c := range p.close {
		_ = c.Close()
	}
	p.wg.Wait()
}

func (p *Proxy) accept(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		select {
		case p.slots <- struct{}{}:
			p.wg.Go(func() {
				defer func() { <-p.slots }()
				p.serve(c)
			})
		default:
			_ = c.Close() // CON-223: too many at a time
		}
	}
}

func (p *Proxy) serve(c net.Conn) {
	defer c.Close()
	dst, err := netip.ParseAddrPort(c.LocalAddr().String())
	if err != nil {
		return
	}
	d := Decide(p.rules, p.names, dst)
	if d.Host == "" {
		p.note(Refusal{Host: p.shown(dst), Port: int(dst.Port()), Missing: d.Missing})
		return
	}
	up, err := p.reach(d.Host, int(dst.Port()))
	if err != nil {
		p.note(Refusal{Host: d.Host, Port: int(dst.Port()), Err: err})
		return
	}
	defer up.Close()
	stop := context.AfterFunc(p.ctx, func() { _ = c.Close(); _ = up.Close() })
	defer stop()
	splice(c, up)
}

func (p *Proxy) shown(dst netip.AddrPort) string {
	if name, ok := p.names.byAddr[dst.Addr().Unmap()]; ok {
		return name
	}
	return dst.Addr().Unmap().String()
}

// reach resolves a listed name outside and dials it, now that a connection to
// it was allowed.
func (p *Proxy) reach(host string, port int) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(p.ctx, lookupTimeout+connectTimeout)
	defer cancel()
	hosts := []string{host}
	if host == "localhost" {
		hosts = []string{loopback[0].String(), loopback[1].String()}
	}
	var errs []error
	for _, h := range hosts {
		conn, err := p.dial(ctx, "tcp", net.JoinHostPort(h, strconv.Itoa(port)))
		if err == nil {
			return conn, nil
		}
		errs = append(errs, fmt.Errorf("dial: %w", err))
	}
	return nil, errors.Join(errs...)
}

// splice copies both ways, keeping half-closes, until both ends are done or
// nothing moved for the idle time (CON-220, CON-223).
func splice(a, b net.Conn) {
	var wg sync.WaitGroup
	idle := time.AfterFunc(idleTimeout, func() { _ = a.Close(); _ = b.Close() })
	defer idle.Stop()
	one := func(dst, src net.Conn) {
		buf := make([]byte, 32<<10)
		for {
			n, err := src.Read(buf)
			idle.Reset(idleTimeout)
			if n > 0 {
				if _, werr := dst.Write(buf[:n]); werr != nil {
					_ = src.Close()
					break
				}
			}
			if err != nil {
				break
			}
		}
		if half, ok := dst.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		}
	}
	wg.Go(func() { one(a, b) })
	wg.Go(func() { one(b, a) })
	wg.Wait()
}

func (p *Proxy) serveDNS(c *net.UDPConn) {
	buf, oob := make([]byte, maxMessage), make([]byte, 256)
	for {
		n, oobn, _, from, err := c.ReadMsgUDPAddrPort(buf, oob)
		if err != nil {
			return
		}
		if reply := answer(p.names, buf[:n], p.ipv6); reply != nil {
			// The command asked some resolver: the answer must come from its address.
			_, _, _ = c.WriteMsgUDPAddrPort(reply, sourceOf(oob[:oobn]), from)
		}
	}
}

package attempt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/sys/unix"
)

// patience bounds a connection of a probe.
const patience = 3 * time.Second

// dial connects to an address literal.
func dial(address string) (net.Conn, error) {
	d := net.Dialer{Timeout: patience}
	return d.DialContext(context.Background(), "tcp", address)
}

// greeted says whether a connection was served: the suite's services send a byte
// first. "closed" is a connection that was taken and ended without a byte.
func greeted(c net.Conn) string {
	_ = c.SetDeadline(time.Now().Add(patience))
	_, err := c.Read(make([]byte, 1))
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		return "closed"
	default:
		return word(err)
	}
}

func connect(address string, first []byte) string {
	c, err := dial(address)
	if err != nil {
		return word(err)
	}
	defer c.Close()
	if len(first) > 0 {
		_, _ = c.Write(first)
	}
	return greeted(c)
}

// resolve asks SERVER for NAME and returns the response code and what was
// answered.
func resolve(server, name string, t dnsmessage.Type) (dnsmessage.RCode, []netip.Addr, int, error) {
	q, err := dnsmessage.NewName(name + ".")
	if err != nil {
		return 0, nil, 0, err
	}
	m := dnsmessage.Message{Header: dnsmessage.Header{ID: 7, RecursionDesired: true},
		Questions: []dnsmessage.Question{{Name: q, Type: t, Class: dnsmessage.ClassINET}}}
	wire, err := m.Pack()
	if err != nil {
		return 0, nil, 0, err
	}
	c, err := net.Dial("udp", server)
	if err != nil {
		return 0, nil, 0, err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(patience))
	if _, err := c.Write(wire); err != nil {
		return 0, nil, 0, err
	}
	buf := make([]byte, 4096)
	n, err := c.Read(buf)
	if err != nil {
		return 0, nil, 0, err
	}
	if err := m.Unpack(buf[:n]); err != nil {
		return 0, nil, 0, err
	}
	var out []netip.Addr
	for _, a := range m.Answers {
		switch r := a.Body.(type) {
		case *dnsmessage.AResource:
			out = append(out, netip.AddrFrom4(r.A))
		case *dnsmessage.AAAAResource:
			out = append(out, netip.AddrFrom16(r.AAAA))
		}
	}
	return m.RCode, out, len(m.Answers), nil
}

var types = map[string]dnsmessage.Type{"A": dnsmessage.TypeA, "AAAA": dnsmessage.TypeAAAA, "TXT": dnsmessage.TypeTXT, "MX": dnsmessage.TypeMX, "ANY": dnsmessage.TypeALL}

const resolver = "127.0.0.1:53"

func init() {
	add("connect", func(a []string) string { return connect(a[0], nil) })
	// connects and speaks first: TEXT
	add("connect-saying", func(a []string) string { return connect(a[0], []byte(a[1])) })
	// asks for NAME and TYPE: NXDOMAIN, "NOERROR n" with the number of answers
	add("dns", func(a []string) string {
		server := resolver
		if len(a) > 2 {
			server = a[2]
		}
		code, _, n, err := resolve(server, a[0], types[a[1]])
		switch {
		case err != nil:
			return word(err)
		case code == dnsmessage.RCodeNameError:
			return "NXDOMAIN"
		case code == dnsmessage.RCodeSuccess:
			return fmt.Sprintf("NOERROR %d", n)
		default:
			return code.String()
		}
	})
	// asks twice: the same address, and connects to it
	add("connect-name", func(a []string) string {
		var first netip.Addr
		for range 2 {
			_, addrs, _, err := resolve(resolver, a[0], types[a[2]])
			if err != nil || len(addrs) != 1 {
				return fmt.Sprintf("%d answers %v", len(addrs), err)
			}
			if first.IsValid() && first != addrs[0] {
				return "another address"
			}
			first = addrs[0]
		}
		return connect(net.JoinHostPort(first.String(), a[1]), nil)
	})
	add("udp", func(a []string) string {
		c, err := net.Dial("udp", a[0])
		if err != nil {
			return word(err)
		}
		defer c.Close()
		_, err = c.Write([]byte(a[1]))
		return word(err)
	})
	// opens N connections at once: how many live. Fewer than are owed may be so because
	// connections of the attempts before still end, so it tries again then.
	add("crowd", func(a []string) string {
		n, _ := strconv.Atoi(a[1])
		alive := crowd(a[0], n)
		for range 4 {
			if alive >= crowded {
				break
			}
			time.Sleep(time.Second)
			alive = crowd(a[0], n)
		}
		return fmt.Sprintf("ok:%d", alive)
	})
	// serves itself on the loopback of its own network
	add("loopback", func([]string) string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return word(err)
		}
		defer l.Close()
		go func() {
			if c, err := l.Accept(); err == nil {
				_, _ = c.Write([]byte("x"))
				c.Close()
			}
		}()
		return connect(l.Addr().String(), nil)
	})
	// names of the network interfaces with an address, by ioctl
	add("interfaces", func([]string) string {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return word(err)
		}
		defer unix.Close(fd)
		const size = 40 // of struct ifreq
		buf := make([]byte, 64*size)
		conf := struct {
			length int32
			_      int32
			buf    uintptr
		}{int32(len(buf)), 0, uintptr(unsafe.Pointer(&buf[0]))}
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCGIFCONF, uintptr(unsafe.Pointer(&conf))); errno != 0 {
			return word(errno)
		}
		var names []string
		for i := 0; i+size <= int(conf.length); i += size {
			names = append(names, unix.ByteSliceToString(buf[i:i+16]))
		}
		return "ok:" + strings.Join(names, " ")
	})
	add("add-address", func([]string) string {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return word(err)
		}
		defer unix.Close(fd)
		ifr, err := unix.NewIfreq("lo")
		if err == nil {
			err = ifr.SetInet4Addr([]byte{10, 9, 8, 7})
		}
		if err == nil {
			_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCSIFADDR, uintptr(unsafe.Pointer(ifr)))
			return number(errno)
		}
		return word(err)
	})
	add("socket", func(a []string) string {
		var v [3]int
		for i := range v {
			v[i], _ = strconv.Atoi(a[i])
		}
		fd, err := unix.Socket(v[0], v[1], v[2])
		if err == nil {
			unix.Close(fd)
		}
		return word(err)
	})
	// socket(2) with garbage in the high half of the domain
	add("socket-garbage", func(a []string) string {
		domain, _ := strconv.Atoi(a[0])
		fd, _, errno := unix.RawSyscall(unix.SYS_SOCKET, uintptr(domain)|0xdead<<32, unix.SOCK_DGRAM, 0)
		if errno == 0 {
			unix.Close(int(fd))
		}
		return number(errno)
	})
	// connects to a Unix socket; a leading @ is an abstract one
	add("unix", func(a []string) string {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return "socket: " + word(err)
		}
		defer unix.Close(fd)
		return word(unix.Connect(fd, &unix.SockaddrUnix{Name: a[0]}))
	})
	add("bind-unix", func(a []string) string {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return "socket: " + word(err)
		}
		defer unix.Close(fd)
		return word(unix.Bind(fd, &unix.SockaddrUnix{Name: a[0]}))
	})
	add("datagram-pair", func(a []string) string {
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return "socketpair: " + word(err)
		}
		defer unix.Close(fds[0])
		defer unix.Close(fds[1])
		return word(unix.Sendto(fds[0], []byte("x"), 0, &unix.SockaddrUnix{Name: a[0]}))
	})
	// passes a descriptor through a pair of stream sockets
	add("pass", func([]string) string {
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return "socketpair: " + word(err)
		}
		defer unix.Close(fds[0])
		defer unix.Close(fds[1])
		if err := unix.Sendmsg(fds[0], []byte("x"), unix.UnixRights(int(os.Stdout.Fd())), nil, 0); err != nil {
			return word(err)
		}
		oob := make([]byte, 64)
		_, n, _, _, err := unix.Recvmsg(fds[1], make([]byte, 1), oob, unix.MSG_CMSG_CLOEXEC)
		if err != nil {
			return word(err)
		}
		messages, err := unix.ParseSocketControlMessage(oob[:n])
		if err != nil || len(messages) != 1 {
			return "no descriptor"
		}
		return "ok"
	})
}

// crowded is how many connections may live at once (CON-223).
const crowded = 128

// crowd opens n connections at once and counts those that are greeted.
func crowd(addr string, n int) int {
	var wg sync.WaitGroup
	var mu sync.Mutex
	alive, over := 0, false
	hold := make(chan struct{})
	for range n {
		wg.Go(func() {
			c, err := dial(addr)
			if err != nil {
				return
			}
			defer c.Close()
			if greeted(c) == "ok" {
				mu.Lock()
				if !over {
					alive++
				}
				mu.Unlock()
			}
			<-hold
		})
	}
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		mu.Lock()
		full := alive >= crowded
		mu.Unlock()
		if full {
			time.Sleep(100 * time.Millisecond) // in which one more would be greeted
			break
		}
	}
	mu.Lock()
	over = true
	mu.Unlock()
	close(hold)
	wg.Wait()
	return alive
}

package escape

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// serve greets whoever connects with a byte and holds the connection.
func (g *ground) serve(network, address string) (int, error) {
	l, err := net.Listen(network, address)
	if err != nil {
		return 0, err
	}
	g.closers = append(g.closers, func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = c.Write([]byte("x"))
				_, _ = io.Copy(io.Discard, c)
			}()
		}
	}()
	if a, ok := l.Addr().(*net.TCPAddr); ok {
		return a.Port, nil
	}
	return 0, nil
}

// services are what listens on the host: by TCP, UDP and Unix sockets, and as
// System V memory and a POSIX queue.
func (g *ground) services() error {
	local, err := g.serve("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	g.set("LOCAL", strconv.Itoa(local))
	name, address, open := g.named()
	g.set("NAME", name)
	g.set("OPEN", strconv.Itoa(open))
	if address == "" {
		g.lacks("NAMED", "this host has no name of its own for an address that is not localhost")
	} else {
		g.set("NAMED", bracket(address))
	}
	g.set("CLOSED", strconv.Itoa(open-1))
	g.set("ADDRESS", bracket(ownAddress()))
	g.set("AAAA", "AAAA")
	if l, err := net.Listen("tcp6", "[::1]:0"); err != nil {
		g.lacks("AAAA", "this host has no IPv6: "+err.Error())
		delete(g.facts, "AAAA")
	} else {
		l.Close()
	}
	udp, err := net.ListenPacket("udp", ":0")
	if err != nil {
		return err
	}
	g.closers = append(g.closers, func() { _ = udp.Close() })
	g.got = make(chan string, 16)
	go func() {
		buf := make([]byte, 64)
		for {
			n, _, err := udp.ReadFrom(buf)
			if err != nil {
				return
			}
			select {
			case g.got <- string(buf[:n]):
			default:
			}
		}
	}()
	_, port, _ := net.SplitHostPort(udp.LocalAddr().String())
	g.set("UDP", port)

	path := filepath.Join(g.facts["OUT"], "socket")
	if _, err := g.serve("unix", path); err != nil {
		return err
	}
	if err := os.Chmod(path, 0o777); err != nil {
		return err
	}
	g.set("SOCKET", path)
	abstract := fmt.Sprintf("@mur-escape-%d", os.Getpid())
	if _, err := g.serve("unix", abstract); err != nil {
		return err
	}
	g.set("ABSTRACT", abstract)
	g.shared()
	g.set("CGROUP", "/sys/fs/cgroup")
	for _, d := range []string{"pids", "memory", "unified"} {
		if _, err := os.Stat(filepath.Join("/sys/fs/cgroup", d, "cgroup.procs")); err == nil {
			g.set("CGROUP", filepath.Join("/sys/fs/cgroup", d))
			break
		}
	}
	return nil
}

func bracket(ip string) string {
	if strings.Contains(ip, ":") {
		return "[" + ip + "]"
	}
	return ip
}

// named serves on the address of a name of this host that is neither localhost
// nor an address of it, if there is one; else of localhost.
func (g *ground) named() (name, address string, port int) {
	host, _ := os.Hostname()
	for _, n := range []string{strings.ToLower(host), "ip6-localhost", "ip6-loopback"} {
		ips, err := net.DefaultResolver.LookupHost(context.Background(), n)
		if n == "" || n == "localhost" || err != nil || len(ips) == 0 {
			continue
		}
		if port, err := g.serve("tcp", net.JoinHostPort(ips[0], "0")); err == nil {
			return n, ips[0], port
		}
	}
	port, _ = g.serve("tcp", "127.0.0.1:0")
	return "localhost", "", port
}

// ownAddress is an address of this host that is no loopback, if there is one.
func ownAddress() string {
	addrs, err := net.InterfaceAddrs()
	if err == nil {
		for _, a := range addrs {
			if n, ok := a.(*net.IPNet); ok && !n.IP.IsLoopback() && n.IP.To4() != nil {
				return n.IP.String()
			}
		}
	}
	return "127.0.0.1"
}

// shared makes a segment and a queue that every user may open.
func (g *ground) shared() {
	key := 0x6d750000 | os.Getpid()&0xffff
	if id, err := unix.SysvShmGet(key, 4096, unix.IPC_CREAT|unix.IPC_EXCL|0o666); err != nil {
		g.lacks("SHM", "no System V memory can be made: "+err.Error())
	} else {
		g.set("SHM", strconv.Itoa(key))
		g.closers = append(g.closers, func() { _, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil) })
	}
	name := fmt.Sprintf("mur-escape-%d", os.Getpid())
	p, _ := unix.BytePtrFromString(name)
	old := unix.Umask(0)
	fd, _, errno := unix.Syscall6(unix.SYS_MQ_OPEN, uintptr(unsafe.Pointer(p)), unix.O_RDWR|unix.O_CREAT|unix.O_EXCL, 0o666, 0, 0, 0)
	unix.Umask(old)
	if errno != 0 {
		g.lacks("QUEUE", "no POSIX queue can be made: "+errno.Error())
		return
	}
	_ = unix.Close(int(fd))
	g.set("QUEUE", name)
	g.closers = append(g.closers, func() {
		_, _, _ = unix.Syscall(unix.SYS_MQ_UNLINK, uintptr(unsafe.Pointer(p)), 0, 0)
	})
}

// victim is a process of the same user outside.
func (g *ground) victim() error {
	if g.facts["SLEEP"] == "" {
		g.lacks("VICTIM", g.missing["SLEEP"])
		return nil
	}
	cmd := exec.Command(g.facts["SLEEP"], "600")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Credential: g.cred}
	runtime.LockOSThread() // the signal is sent when the starting thread ends
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		return err
	}
	g.set("VICTIM", strconv.Itoa(cmd.Process.Pid))
	g.closers = append(g.closers, func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return nil
}

// alive tells whether the victim still runs.
func (g *ground) alive() bool {
	text, err := os.ReadFile("/proc/" + g.facts["VICTIM"] + "/stat")
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	return !strings.HasPrefix(rest, "Z")
}

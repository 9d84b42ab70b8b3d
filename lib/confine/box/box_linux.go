//go:build linux && cgo

package box

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/opencontainers/cgroups"
	_ "github.com/opencontainers/cgroups/devices" // without it the library refuses device rules
	devices "github.com/opencontainers/cgroups/devices/config"
	"github.com/opencontainers/runc/libcontainer"
	"github.com/opencontainers/runc/libcontainer/configs"
	"github.com/opencontainers/runc/libcontainer/configs/validate"
	_ "github.com/opencontainers/runc/libcontainer/nsenter" // the library's early stage
	"github.com/opencontainers/runc/libcontainer/specconv"
	"github.com/sirupsen/logrus"
	"golang.org/x/sys/unix"
)

// Init hands over to libcontainer when this process is its init. A program that
// starts boxes calls it as the very first thing in main (CON-137).
func Init() {
	if len(os.Args) > 1 && os.Args[1] == "init" && os.Getenv("_LIBCONTAINER_INITPIPE") != "" {
		libcontainer.Init()
	}
}

// Config is one box.
type Config struct {
	ID     string
	Mounts []Mount           // of Layout
	Links  map[string]string // of Layout
	State  string            // an existing directory for the skeleton and the library's state, mode 0711
	NetNS  string            // /proc/<holder>/ns/net
	UserNS string            // /proc/<holder>/ns/user, or "" for the host's root
	// UID and GID are whom the worker starts as: 0 inside a user namespace, where
	// it takes the caller's ids itself; the ids of CON-278 for the host's root.
	UID, GID int
	// IDMapNS is the user namespace whose map Mapped binds are shown through, or "".
	IDMapNS string
	Work    string // the directory to start in
	// HostProc is for hosts that forbid a /proc of one's own: the host's is bound,
	// and there is no PID namespace (CON-151).
	HostProc bool
	// Bequeath, if not nil, is told the cgroup the library makes for the box, where it
	// makes one, before it does: for who removes it should the caller be killed.
	Bequeath func(groups []string) error
}

// Box is a running container whose pid 1 is a worker.
type Box struct {
	c *libcontainer.Container
	p *libcontainer.Process
}

// StepError is a step of the composition that failed; it is the library's words
// and ends the session as E-RUN-014.
type StepError struct{ Err error }

func (e *StepError) Error() string { return "sealed-root: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *StepError) Unwrap() error { return e.Err }

// Start composes the root and starts the worker in it, to speak through theirs.
func Start(ctx context.Context, c Config, theirs *os.File) (*Box, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	logrus.SetOutput(io.Discard) // the library's errors come back as values
	root := filepath.Join(c.State, "root")
	if err := skeleton(root, c.Links); err != nil {
		return nil, &StepError{err}
	}
	cfg, err := c.library(root)
	if err != nil {
		return nil, &StepError{err}
	}
	container, err := create(filepath.Join(c.State, "state"), c.ID, cfg)
	if err != nil {
		return nil, &StepError{err}
	}
	if err := c.bequeath(container); err != nil {
		return nil, &StepError{err}
	}
	p := &libcontainer.Process{
		Args: []string{WorkerPath}, Env: []string{"PATH=/"}, Cwd: c.Work, UID: c.UID, GID: c.GID,
		Init: true, Stderr: os.Stderr, ExtraFiles: []*os.File{theirs},
	}
	if err := container.Run(p); err != nil {
		_ = container.Destroy()
		return nil, &StepError{err}
	}
	return &Box{c: container, p: p}, nil
}

// create makes the container without a cgroup of the library's own (CON-140), which
// would be one more in each v1 hierarchy, take some 8 ms to enter, and stay when this
// process is killed. The library makes groups for what it creates and takes those it
// is told of for what it loads, so the container is written down as one that has
// none, in the library's own words, and loaded. On v2 a container is always in one, see
// Config.Bequeath.
func create(root, id string, cfg *configs.Config) (*libcontainer.Container, error) {
	if cgroups.IsCgroup2UnifiedMode() {
		return libcontainer.Create(root, id, cfg)
	}
	if err := validate.Validate(cfg); err != nil {
		return nil, err
	}
	dir := filepath.Join(root, id)
	if err := os.MkdirAll(root, 0o700); err != nil {
		return nil, err
	}
	if err := os.Mkdir(dir, 0o711); err != nil {
		return nil, err
	}
	state := libcontainer.State{BaseState: libcontainer.BaseState{ID: id, Config: *cfg}}
	text, err := json.Marshal(struct {
		libcontainer.State
		CgroupPaths map[string]string `json:"cgroup_paths"` // stays when it is empty
	}{state, map[string]string{}})
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "state.json"), text, 0o600); err != nil {
		return nil, err
	}
	return libcontainer.Load(root, id)
}

// bequeath tells of the groups of a container that is not started yet.
func (c Config) bequeath(container *libcontainer.Container) error {
	state, err := container.State()
	if err != nil || len(state.CgroupPaths) == 0 || c.Bequeath == nil {
		return err
	}
	return c.Bequeath(slices.Collect(maps.Values(state.CgroupPaths)))
}

// PID is the worker's process id as the caller sees it.
func (b *Box) PID() (int, error) { return b.p.Pid() }

// Stop ends the box and everything in it, and removes its state.
func (b *Box) Stop() error {
	_ = b.p.Signal(unix.SIGKILL)
	_, _ = b.p.Wait()
	return b.c.Destroy()
}

// skeleton makes the empty root: only the links of the runtime trees.
func skeleton(root string, links map[string]string) error {
	if err := os.MkdirAll(root, 0o755); err != nil {
		return err
	}
	for link, target := range links {
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
	}
	return nil
}

// What is hidden and what is read-only below /proc (CON-161).
var (
	maskedPaths   = []string{"/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list", "/proc/timer_stats", "/proc/sched_debug", "/proc/scsi", "/proc/acpi"}
	readOnlyPaths = []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"}
)

// library is the configuration the library takes.
func (c Config) library(root string) (*configs.Config, error) {
	const quiet = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	cfg := &configs.Config{
		Rootfs: root, Readonlyfs: true, NoNewPrivileges: true, NoNewKeyring: false,
		RootPropagation: unix.MS_PRIVATE | unix.MS_REC,
		Hostname:        "capsule",
		Capabilities:    &configs.Capabilities{},
		MaskPaths:       maskedPaths, ReadonlyPaths: readOnlyPaths,
		RootlessCgroups: true, RootlessEUID: c.UserNS != "",
		Namespaces: configs.Namespaces{
			{Type: configs.NEWNS}, {Type: configs.NEWIPC}, {Type: configs.NEWUTS}, {Type: configs.NEWCGROUP},
			{Type: configs.NEWNET, Path: c.NetNS},
		},
		// The scope and its leaves are the session's: the worker enters its leaf
		// before it takes commands, see create.
		Cgroups: &cgroups.Cgroup{Name: c.ID, Rootless: true, Resources: &cgroups.Resources{}},
		Mounts: []*configs.Mount{
			{Source: "tmpfs", Destination: "/dev", Device: "tmpfs", Flags: unix.MS_NOSUID | unix.MS_STRICTATIME | unix.MS_RDONLY, Data: "mode=0755,size=1m"},
			{Source: "devpts", Destination: "/dev/pts", Device: "devpts", Flags: unix.MS_NOSUID | unix.MS_NOEXEC, Data: "newinstance,ptmxmode=0666,mode=0620"},
			{Source: "shm", Destination: "/dev/shm", Device: "tmpfs", Flags: quiet, Data: "mode=1777,size=64m"},
		},
	}
	if c.HostProc {
		cfg.Mounts = append(cfg.Mounts, &configs.Mount{Source: "/proc", Destination: "/proc", Device: "bind", Flags: unix.MS_BIND | unix.MS_REC | quiet, PropagationFlags: []int{unix.MS_PRIVATE}})
	} else {
		cfg.Namespaces.Add(configs.NEWPID, "")
		cfg.Mounts = append(cfg.Mounts, &configs.Mount{Source: "proc", Destination: "/proc", Device: "proc", Flags: quiet})
	}
	for _, d := range specconv.AllowedDevices {
		cfg.Cgroups.Resources.Devices = append(cfg.Cgroups.Resources.Devices, &devices.Rule{Type: d.Type, Major: d.Major, Minor: d.Minor, Permissions: d.Permissions, Allow: d.Allow})
		if d.Path != "" && !strings.HasPrefix(d.Path, "/dev/pts") {
			cfg.Devices = append(cfg.Devices, d)
		}
	}
	if c.UserNS != "" {
		cfg.Namespaces.Add(configs.NEWUSER, c.UserNS)
		// To map root into the namespace the worker nests (user_namespaces(7)); it
		// is of no use there and gone once nested.
		setfcap := []string{"CAP_SETFCAP"}
		cfg.Capabilities = &configs.Capabilities{Bounding: setfcap, Permitted: setfcap, Effective: setfcap}
		cfg.UIDMappings = []configs.IDMap{{ContainerID: 0, HostID: int64(os.Geteuid()), Size: 1}}
		cfg.GIDMappings = []configs.IDMap{{ContainerID: 0, HostID: int64(os.Getegid()), Size: 1}}
	}
	for _, m := range c.Mounts {
		b, err := c.bind(m)
		if err != nil {
			return nil, err
		}
		if b != nil {
			cfg.Mounts = append(cfg.Mounts, b)
		}
	}
	return cfg, nil
}

// bind is one bind mount; nil for a source that is not there and not required.
func (c Config) bind(m Mount) (*configs.Mount, error) {
	if _, err := os.Stat(m.Source); err != nil {
		if m.Required {
			return nil, fmt.Errorf("bind %s: %w", m.Target, err)
		}
		return nil, nil
	}
	b := &configs.Mount{Source: m.Source, Destination: m.Target, Device: "bind", Flags: unix.MS_BIND | unix.MS_REC | unix.MS_NOSUID | unix.MS_NODEV, PropagationFlags: []int{unix.MS_PRIVATE}}
	if m.Noexec {
		b.Flags |= unix.MS_NOEXEC
	}
	if !m.Writable {
		b.Flags |= unix.MS_RDONLY
		b.RecAttr = &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY} // submounts too (CON-158)
	}
	if m.Mapped && c.IDMapNS != "" {
		b.IDMapping = &configs.MountIDMapping{UserNSPath: c.IDMapNS}
	}
	return b, nil
}

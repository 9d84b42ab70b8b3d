package wasip1

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Func is one function of the module.
type Func struct {
	Name string
	// Type is the parameters and, after a colon, the results: i for a 32-bit integer,
	// I for a 64-bit one.
	Type string
	call function
}

// function reads its arguments and answers an error number; one that ends the guest
// sets Host.end.
type function func(h *Host, m memory, a args) Errno

// Call runs the function for the guest of h. memory is all of the guest's memory as
// it is now; words are the arguments, of which of a 32-bit one only the lower half
// counts, and have room for the result in words[0], also where there are no
// parameters. Both are used until Call returns, no longer.
//
// A nil error hands the result to the guest. Any other ends the guest: *Exit when
// it called proc_exit, *Signal for proc_raise, or the cause of the end of
// h.Context. It comes with no result.
func (f Func) Call(h *Host, memory []byte, words []uint64) error {
	errno := f.call(h, memory, words)
	if h.end != nil {
		return h.end
	}
	// Whatever the function says: the time is over.
	if h.Context.Err() != nil {
		return context.Cause(h.Context)
	}
	words[0] = uint64(errno)
	return nil
}

// Exit ends a guest that called proc_exit.
type Exit struct{ Status uint32 }

func (e *Exit) Error() string { return fmt.Sprintf("the guest exited with status %d", e.Status) }

// Signal ends a guest that called proc_raise.
type Signal struct{ Number uint32 }

func (e *Signal) Error() string { return fmt.Sprintf("the guest raised signal %d", e.Number) }

// Funcs returns all functions, ordered by name.
func Funcs() []Func {
	return slices.SortedFunc(maps.Values(table), func(a, b Func) int { return strings.Compare(a.Name, b.Name) })
}

// table holds the functions by name.
var table = func() map[string]Func {
	t := map[string]Func{}
	for _, f := range []Func{
		{"args_get", "ii:i", argsGet},
		{"args_sizes_get", "ii:i", argsSizesGet},
		{"environ_get", "ii:i", environGet},
		{"environ_sizes_get", "ii:i", environSizesGet},
		{"clock_res_get", "ii:i", clockResGet},
		{"clock_time_get", "iIi:i", clockTimeGet},
		{"random_get", "ii:i", randomGet},
		{"sched_yield", ":i", schedYield},
		{"proc_exit", "i:", procExit},
		{"proc_raise", "i:i", procRaise},
		{"poll_oneoff", "iiii:i", pollOneoff},
		{"fd_read", "iiii:i", fdRead},
		{"fd_write", "iiii:i", fdWrite},
		{"fd_pread", "iiiIi:i", fdPread},
		{"fd_pwrite", "iiiIi:i", fdPwrite},
		{"fd_seek", "iIii:i", fdSeek},
		{"fd_tell", "ii:i", fdTell},
		{"fd_advise", "iIIi:i", fdAdvise},
		{"fd_allocate", "iII:i", fdAllocate},
		{"fd_sync", "i:i", fdSync},
		{"fd_datasync", "i:i", fdDatasync},
		{"fd_fdstat_get", "ii:i", fdFdstatGet},
		{"fd_fdstat_set_flags", "ii:i", fdFdstatSetFlags},
		{"fd_fdstat_set_rights", "iII:i", fdFdstatSetRights},
		{"fd_filestat_get", "ii:i", fdFilestatGet},
		{"fd_filestat_set_size", "iI:i", fdFilestatSetSize},
		{"fd_filestat_set_times", "iIIi:i", fdFilestatSetTimes},
		{"fd_prestat_get", "ii:i", fdPrestatGet},
		{"fd_prestat_dir_name", "iii:i", fdPrestatDirName},
		{"fd_readdir", "iiiIi:i", fdReaddir},
		{"fd_renumber", "ii:i", fdRenumber},
		{"fd_close", "i:i", fdClose},
		{"path_open", "iiiiiIIii:i", pathOpen},
		{"path_create_directory", "iii:i", pathCreateDirectory},
		{"path_remove_directory", "iii:i", pathRemoveDirectory},
		{"path_unlink_file", "iii:i", pathUnlinkFile},
		{"path_filestat_get", "iiiii:i", pathFilestatGet},
		{"path_filestat_set_times", "iiiiIIi:i", pathFilestatSetTimes},
		{"path_link", "iiiiiii:i", pathLink},
		{"path_symlink", "iiiii:i", pathSymlink},
		{"path_readlink", "iiiiii:i", pathReadlink},
		{"path_rename", "iiiiii:i", pathRename},
		{"sock_accept", "iii:i", notSupported},
		{"sock_recv", "iiiiii:i", notSupported},
		{"sock_send", "iiiii:i", notSupported},
		{"sock_shutdown", "ii:i", notSupported},
	} {
		t[f.Name] = f
	}
	return t
}()

// notSupported is every function of sockets (WIT-61).
func notSupported(*Host, memory, args) Errno { return ENOTSUP }

package wasi

import (
	"io"
	"io/fs"
	"os"

	"github.com/mur-capsules/mur/lib/wasmhost/wasmtime"
)

var (
	typeDescriptor = wasmtime.NewResourceType()
	typeDirEntries = wasmtime.NewResourceType()
)

// grant is one directory of Config.Dirs. Its identity decides whether two
// descriptors may take part in one rename or link.
type grant struct {
	root *os.Root
	name string // the guest's
}

// descriptor is a directory (root is set) or a regular file (file is set).
//
// Every path below a directory is resolved by os.Root, one component at a time
// through open directories: no "..", no absolute name and no symbolic link,
// whoever made it, leads out of the directory the descriptor stands for, also
// while names are being changed.
type descriptor struct {
	in    *Instance
	grant *grant
	root  *os.Root
	lent  bool // root is the grant's own and is not closed
	depth int  // directories below the top of the grant, for judging links only
	file  *sharedFile
	flags flags // what get-flags says
	read  bool
	write bool
}

func (d *descriptor) Close() error {
	switch {
	case d.file != nil:
		return d.file.Close()
	case d.lent:
		return nil
	}
	d.in.files--
	return d.root.Close()
}

func (d *descriptor) stat() (fs.FileInfo, error) {
	if d.file != nil {
		return d.file.Stat()
	}
	return d.root.Stat(".")
}

// sharedFile is an open file that a descriptor and its streams hold together.
type sharedFile struct {
	*os.File
	in   *Instance
	refs int
}

func (f *sharedFile) hold() *sharedFile { f.refs++; return f }

func (f *sharedFile) Close() error {
	if f.refs--; f.refs > 0 {
		return nil
	}
	f.in.files--
	return f.File.Close()
}

// openFile counts a file that the guest will hold.
func (in *Instance) openFile(f *os.File, err error) (*sharedFile, error) {
	if err != nil {
		return nil, err
	}
	in.files++
	return &sharedFile{f, in, 1}, nil
}

// mayOpen refuses before the host's own limit of open files is in danger.
func (in *Instance) mayOpen() error {
	if in.files >= maxFiles {
		return errTooManyFiles
	}
	return nil
}

// dirEntries is a directory-entry-stream.
type dirEntries struct {
	*sharedFile
	todo []fs.DirEntry
}

func (d *dirEntries) next() (option, error) {
	if len(d.todo) == 0 {
		var err error
		if d.todo, err = d.ReadDir(256); err == io.EOF {
			return wasmtime.None, nil
		} else if err != nil {
			return wasmtime.None, err
		}
	}
	e := d.todo[0]
	d.todo = d.todo[1:]
	return wasmtime.Some(record{{Name: "type", V: fileType(e.Type())}, {Name: "name", V: e.Name()}}), nil
}

// fsFunc adapts a function on a descriptor: its error becomes an error-code.
func fsFunc(f func(c *call, d *descriptor, a []val) (val, error)) wasmtime.Func {
	return method(func(c *call, d *descriptor, a []val) (val, error) {
		v, err := f(c, d, a)
		if err != nil {
			return wasmtime.Err(errorCode(err)), nil
		}
		return wasmtime.Ok(v), nil
	})
}

func filesystemInterfaces() []wasmtime.Interface {
	m := funcs{
		"filesystem-error-code": func(c *call, a []val) (val, error) {
			if f, ok := wasmtime.Res[error](c, a[0]).(fileError); ok {
				return wasmtime.Some(errorCode(f)), nil
			}
			return wasmtime.None, nil
		},
		"[method]directory-entry-stream.read-directory-entry": method(func(c *call, d *dirEntries, a []val) (val, error) {
			e, err := d.next()
			if err != nil {
				return wasmtime.Err(errorCode(err)), nil
			}
			return wasmtime.Ok(e), nil
		}),
		"[method]descriptor.is-same-object": method(func(c *call, d *descriptor, a []val) (val, error) {
			x, err1 := d.stat()
			y, err2 := wasmtime.Res[*descriptor](c, a[0]).stat()
			return err1 == nil && err2 == nil && os.SameFile(x, y), nil
		}),
	}
	for _, more := range []map[string]wasmtime.Func{fileFuncs(), pathFuncs()} {
		for name, f := range more {
			m["[method]descriptor."+name] = f
		}
	}
	addPacked("wasi:filesystem/types", m)
	return []wasmtime.Interface{
		{Name: "filesystem/types", Resources: resources{"descriptor": typeDescriptor, "directory-entry-stream": typeDirEntries}, Funcs: m},
		{Name: "filesystem/preopens", Funcs: funcs{"get-directories": func(c *call, a []val) (val, error) {
			in, l := instance(c), list{}
			for _, g := range in.grants {
				d := &descriptor{in: in, grant: g, root: g.root, lent: true, read: true, flags: directoryFlags}
				l = append(l, tuple{c.Own(typeDescriptor, d), g.name})
			}
			return l, nil
		}}},
	}
}

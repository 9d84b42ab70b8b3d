package wasmtime

// Val is a component value:
//
//	bool                        bool
//	s8 u8 s16 u16 s32 u32 s64 u64   int8 uint8 ... int64 uint64
//	f32 f64                     float32 float64
//	char                        Char
//	string                      string (UTF-8)
//	list<u8>                    []byte, but see Bytes
//	list<T>                     List
//	record, tuple               Record, Tuple
//	variant, enum, flags        Variant, Enum, Flags
//	option, result              Option, Result
//	own<R>, borrow<R>           Resource
//
// Maps, futures, streams and error contexts are refused in both directions.
type Val = any

// The Go types of component values that have none of their own.
type (
	Char  rune
	List  []Val
	Tuple []Val
	Enum  string
	// Flags are the names of the flags that are set.
	Flags []string
	// Field is one field of a Record, in declaration order.
	Field struct {
		Name string
		V    Val
	}
	Record []Field
	// Variant is a case and its payload, nil for a case without one.
	Variant struct {
		Name string
		V    Val
	}
	Option struct {
		Some bool
		V    Val
	}
	// Result holds the payload of the side OK names, nil for a side without one.
	Result struct {
		OK bool
		V  Val
	}
	// Resource is a host resource crossing the boundary. Owned transfers it. Use
	// Res to reach what it stands for and Call.Own to make one.
	Resource struct {
		Type  ResourceType
		Rep   uint32
		Owned bool
	}
)

// None is the absent option.
var None = Option{}

// Some is a present option.
func Some(v Val) Option { return Option{true, v} }

// Ok is the ok side of a result; nil where it has no payload.
func Ok(v Val) Result { return Result{true, v} }

// Err is the error side of a result; nil where it has no payload.
func Err(v Val) Result { return Result{false, v} }

// Has reports whether the flag is set.
func (f Flags) Has(name string) bool {
	for _, x := range f {
		if x == name {
			return true
		}
	}
	return false
}

// Get returns the field's value, or nil.
func (r Record) Get(name string) Val {
	for _, f := range r {
		if f.Name == name {
			return f.V
		}
	}
	return nil
}

// Bytes reads a list<u8>. An empty list carries no element type and arrives as
// an empty List, so a []byte assertion alone would miss it.
func Bytes(v Val) []byte { b, _ := v.([]byte); return b }

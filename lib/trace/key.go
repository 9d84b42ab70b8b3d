package trace

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/ids"
	"github.com/mur-capsules/mur/lib/workfs"
)

// The host's record-seal key, in the murmur home (TRC-103).
const (
	KeyDir     = "keys"
	KeyFile    = "record-seal.key" // 0600: the Ed25519 seed, 64 hex digits
	PublicFile = "record-seal.pub" // 0644: the public half, 64 hex digits
)

// Key is the host's record-seal key with its secret half. Only mur-launch has
// one (TRC-105).
type Key struct {
	private ed25519.PrivateKey
}

// Public returns the half that verifies.
func (k Key) Public() PublicKey { return PublicKey(k.private.Public().(ed25519.PublicKey)) }

// PublicKey verifies seals.
type PublicKey ed25519.PublicKey

// ID is the first 16 hex digits of the SHA-256 of the key's 32 bytes (TRC-106).
func (p PublicKey) ID() string { return hexSum(p)[:16] }

// ParsePublicKey reads the content of a record-seal.pub.
func ParsePublicKey(text []byte) (PublicKey, error) {
	b, err := key32(text)
	return PublicKey(b), err
}

func key32(text []byte) ([]byte, error) {
	s := strings.TrimSpace(string(text))
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != 32 || strings.ToLower(s) != s {
		return nil, errors.New("not a key of 64 lowercase hex digits")
	}
	return b, nil
}

// LoadKey returns the key of the murmur home and makes it on first need; of two
// processes that make it at once one wins and both get the winner's (TRC-104).
// A key file that is a link, not a regular file, another user's, or readable by
// group or others is refused with E-IO-003.
func LoadKey(home workfs.Home) (Key, error) {
	dir, err := home.Open(KeyDir, workfs.Options{})
	if err != nil {
		return Key{}, err
	}
	defer dir.Close()
	k, err := readKey(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err = makeKey(dir); err == nil {
			k, err = readKey(dir)
		}
	}
	if err != nil {
		return Key{}, keyFault(dir, err)
	}
	pub := hex.EncodeToString(k.Public())
	if have, err := dir.ReadFile(PublicFile, 1<<10); err == nil && strings.TrimSpace(string(have)) == pub {
		return k, nil
	}
	if err := dir.WriteFileMode(PublicFile, []byte(pub+"\n"), workfs.PublicFile); err != nil {
		return Key{}, keyFault(dir, err)
	}
	return k, nil
}

func keyFault(dir *workfs.Root, err error) error {
	path := dir.Join(KeyFile)
	return diag.Errorf("E-IO-003", "the record-seal key %s can not be used: %w", path, err).
		Hint("a key of this host is a regular file of yours with mode 0600; move a broken one away and a new one is made").
		About(diag.Subject{Kind: diag.Path, Name: path}).Name("path", path).Name("reason", err.Error())
}

func readKey(dir *workfs.Root) (Key, error) {
	f, err := dir.Open(KeyFile)
	if err != nil {
		return Key{}, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return Key{}, err
	}
	if st, ok := fi.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() {
		return Key{}, fmt.Errorf("it belongs to user %d", st.Uid)
	}
	if fi.Mode().Perm()&0o077 != 0 {
		return Key{}, fmt.Errorf("its mode %04o lets others read it", fi.Mode().Perm())
	}
	text, err := io.ReadAll(io.LimitReader(f, 1<<10))
	if err != nil {
		return Key{}, err
	}
	seed, err := key32(text)
	if err != nil {
		return Key{}, err
	}
	return Key{ed25519.NewKeyFromSeed(seed)}, nil
}

// makeKey writes a fresh seed under a name of its own and links it into place,
// which fails when another process was first.
func makeKey(dir *workfs.Root) error {
	var seed [ed25519.SeedSize]byte
	if _, err := rand.Read(seed[:]); err != nil {
		return err
	}
	temp := "." + KeyFile + "." + ids.NewHarnessSession() + ".tmp"
	f, err := dir.CreateNew(temp)
	if err != nil {
		return err
	}
	defer dir.Remove(temp)
	_, err = f.WriteString(hex.EncodeToString(seed[:]) + "\n")
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	fd := int(dir.File().Fd())
	if err := unix.Linkat(fd, temp, fd, KeyFile, 0); err != nil && err != unix.EEXIST {
		return fmt.Errorf("link: %w", err)
	}
	return nil
}

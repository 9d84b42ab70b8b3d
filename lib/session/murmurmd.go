package session

import (
	"bytes"
	"fmt"
)

// MurmurURLPrefix begins the line of MURMUR.md that holds the capsule's URL.
const MurmurURLPrefix = "- URL: "

// SetMurmurURL returns MURMUR.md as staged with the capsule's URL put in, once
// mur-launch has bound the door (SES-228).
func SetMurmurURL(staged []byte, url string) ([]byte, error) {
	prefix := []byte("\n" + MurmurURLPrefix)
	start := bytes.Index(staged, prefix)
	if start < 0 {
		return nil, fmt.Errorf("%s has no line that begins with %q", MurmurName, MurmurURLPrefix)
	}
	start += len(prefix)
	end := bytes.IndexByte(staged[start:], '\n')
	if end < 0 {
		return nil, fmt.Errorf("%s is cut short", MurmurName)
	}
	return bytes.Join([][]byte{staged[:start], []byte(url), staged[start+end:]}, nil), nil
}

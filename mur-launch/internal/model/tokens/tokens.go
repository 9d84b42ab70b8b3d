// Package tokens counts text in cl100k_base tokens (AGT-92).
//
// It promises the count the public encoding gives for the same text, special
// tokens recognised, in time that grows no faster than n log n whatever the
// text is. The vocabulary is part of the program: nothing is fetched. It never
// looks at what a provider says it counted.
package tokens

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/pkoukk/tiktoken-go-loader/assets"
)

// The names of the two ways to count, as the bootstrap log has them.
const (
	CL100K = "cl100k_base"
	Bytes4 = "bytes4"
)

// Counter counts. It is safe for concurrent use. The zero value counts a quarter of
// the bytes.
type Counter struct{ vocabulary func() *vocabulary }

// New returns the counter of the vocabulary in this program, which it reads when it
// first counts: that takes some milliseconds. Then it tells ready, once, how it
// counts: by CL100K, or with an error by Bytes4, a quarter of the bytes.
func New(ready func(name string, err error)) Counter {
	return Counter{sync.OnceValue(func() *vocabulary {
		v, err := loaded()
		if err != nil {
			ready(Bytes4, err)
			return nil
		}
		ready(CL100K, nil)
		return v
	})}
}

// Count counts the tokens of a text.
func (c Counter) Count(text string) int64 {
	var v *vocabulary
	if c.vocabulary != nil {
		v = c.vocabulary()
	}
	if v == nil {
		return int64(len(text) / 4)
	}
	var n int64
	for {
		at, special := nextSpecial(text)
		if special == "" {
			return n + v.ordinary(text)
		}
		n += v.ordinary(text[:at]) + 1
		text = text[at+len(special):]
	}
}

var specials = []string{"<|endoftext|>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|endofprompt|>"}

// nextSpecial finds the first special token.
func nextSpecial(text string) (at int, special string) {
	from := 0
	for {
		i := strings.Index(text[from:], "<|")
		if i < 0 {
			return 0, ""
		}
		at = from + i
		for _, s := range specials {
			if strings.HasPrefix(text[at:], s) {
				return at, s
			}
		}
		from = at + 2
	}
}

func (v *vocabulary) ordinary(text string) int64 {
	var n int64
	for text != "" {
		k := piece(text)
		n += int64(v.tokens(text[:k]))
		text = text[k:]
	}
	return n
}

// piece returns the length of the first piece of a text that is not empty: what
// the encoding's expression matches at its beginning. Its alternatives, in
// order, are contractions; letters with at most one mark before them; up to
// three digits; marks with a blank before and line ends behind; and white space,
// whose last blank goes to the word that follows.
func piece(text string) int {
	r, size := decode(text)
	if r == '\'' {
		if k := contraction(text[1:]); k > 0 {
			return 1 + k
		}
	}
	letter, number, space := unicode.IsLetter(r), unicode.IsNumber(r), unicode.IsSpace(r)
	if letter {
		return size + run(text[size:], unicode.IsLetter)
	}
	if r != '\r' && r != '\n' && !number {
		if k := run(text[size:], unicode.IsLetter); k > 0 {
			return size + k
		}
	}
	if number {
		for range 2 {
			r, s := decode(text[size:])
			if s == 0 || !unicode.IsNumber(r) {
				break
			}
			size += s
		}
		return size
	}
	if !space {
		size += run(text[size:], isMark)
		return size + run(text[size:], isLineEnd)
	}
	if r == ' ' {
		if k := run(text[1:], isMark); k > 0 {
			return 1 + k + run(text[1+k:], isLineEnd)
		}
	}
	all := run(text, unicode.IsSpace)
	if i := strings.LastIndexAny(text[:all], "\r\n"); i >= 0 {
		return i + 1
	}
	if all == len(text) {
		return all
	}
	if _, last := utf8.DecodeLastRuneInString(text[:all]); last < all {
		return all - last
	}
	return all
}

func isMark(r rune) bool {
	return !unicode.IsSpace(r) && !unicode.IsLetter(r) && !unicode.IsNumber(r)
}

func isLineEnd(r rune) bool { return r == '\r' || r == '\n' }

// decode reads one rune; a byte that begins none stands for itself and counts as
// a mark.
func decode(text string) (rune, int) {
	if text == "" {
		return 0, 0
	}
	if b := text[0]; b < utf8.RuneSelf {
		return rune(b), 1
	}
	return utf8.DecodeRuneInString(text)
}

func run(text string, in func(rune) bool) int {
	n := 0
	for n < len(text) {
		r, size := decode(text[n:])
		if !in(r) {
			break
		}
		n += size
	}
	return n
}

// contraction returns the length of what follows an apostrophe in 's, 't, 'm,
// 'd, 're, 've and 'll, 0 for anything else.
func contraction(rest string) int {
	if rest == "" {
		return 0
	}
	switch rest[0] | 0x20 {
	case 's', 't', 'm', 'd':
		return 1
	}
	if len(rest) >= 2 {
		switch string([]byte{rest[0] | 0x20, rest[1] | 0x20}) {
		case "re", "ve", "ll":
			return 2
		}
	}
	return 0
}

// vocabulary is the tokens in order of their rank, one behind the other, and a
// hash table of ranks beside them: a hundredth of the memory a map would take.
type vocabulary struct {
	bytes []byte
	start []uint32 // of each rank, and the end
	table []uint32 // rank + 1, 0 is free
}

const tableBits = 18

func hash[T string | []byte](s T) uint32 {
	h := uint32(2166136261)
	for i := range len(s) {
		h = (h ^ uint32(s[i])) * 16777619
	}
	return (h ^ h>>15) & (1<<tableBits - 1)
}

// none is the rank of what is no token.
const none = math.MaxUint32

func (v *vocabulary) rank(s string) uint32 {
	for i := hash(s); ; i = (i + 1) & (1<<tableBits - 1) {
		r := v.table[i]
		if r == 0 {
			return none
		}
		if r--; string(v.bytes[v.start[r]:v.start[r+1]]) == s {
			return r
		}
	}
}

var loaded = sync.OnceValues(func() (*vocabulary, error) {
	f, err := open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return read(f)
})

func open() (io.ReadCloser, error) { return assets.Assets.Open("cl100k_base.tiktoken") }

// read reads lines of a token in base64, a blank and its rank, in order of rank.
func read(from io.Reader) (*vocabulary, error) {
	v := &vocabulary{
		bytes: make([]byte, 0, 700<<10), start: make([]uint32, 1, 100_300), table: make([]uint32, 1<<tableBits),
	}
	lines := bufio.NewReaderSize(from, 64<<10)
	for n := 0; ; n++ {
		line, err := lines.ReadSlice('\n')
		if err == io.EOF && len(line) == 0 {
			break
		}
		if err != nil && err != io.EOF {
			return nil, err
		}
		begin := len(v.bytes)
		if v.bytes, err = appendBase64(v.bytes, line); err != nil {
			return nil, fmt.Errorf("line %d of the vocabulary: %w", n+1, err)
		}
		i := hash(v.bytes[begin:])
		for v.table[i] != 0 {
			i = (i + 1) & (1<<tableBits - 1)
		}
		v.table[i] = uint32(n) + 1
		v.start = append(v.start, uint32(len(v.bytes)))
	}
	for b := range 256 {
		if v.rank(string([]byte{byte(b)})) == none {
			return nil, fmt.Errorf("the vocabulary lacks the byte %#x", b)
		}
	}
	return v, nil
}

var sextet = func() (t [256]int8) {
	for i := range t {
		t[i] = -1
	}
	for i, c := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/" {
		t[c] = int8(i)
	}
	return t
}()

// appendBase64 decodes what stands before the blank of a line. The vocabulary
// has a hundred thousand lines and is read at each start, hence no call a line.
func appendBase64(dst, line []byte) ([]byte, error) {
	var bits uint32
	n := 0
	for _, c := range line {
		if c == ' ' || c == '=' {
			if n%4 == 1 || n == 0 {
				return dst, errors.New("its base64 is cut short")
			}
			return dst, nil
		}
		x := sextet[c]
		if x < 0 {
			return dst, errors.New("it is not base64")
		}
		bits = bits<<6 | uint32(x)
		switch n++; n % 4 {
		case 2:
			dst = append(dst, byte(bits>>4))
		case 3:
			dst = append(dst, byte(bits>>2))
		case 0:
			dst = append(dst, byte(bits))
		}
	}
	return dst, errors.New("it has no rank")
}

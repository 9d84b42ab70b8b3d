package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// ErrStalled is wrapped by the error of a download that brought nothing for
// IdleTimeout.
var ErrStalled = errors.New("nothing came in")

// ErrTooLarge is wrapped by the error of a download above its limit.
var ErrTooLarge = errors.New("it is too large")

// ReadAll reads a download: at most limit bytes, telling progress, and given up
// when idle passes without a byte. cancel must end the request body belongs to;
// body is closed. total is what the server promises, -1 for not known.
func ReadAll(ctx context.Context, body io.ReadCloser, cancel context.CancelCauseFunc, what string, total, limit int64, idle time.Duration, progress Progress) ([]byte, error) {
	defer body.Close()
	if total > limit {
		return nil, fmt.Errorf("%w: %d bytes are promised, at most %d are taken", ErrTooLarge, total, limit)
	}
	stalled := fmt.Errorf("%w for %s", ErrStalled, idle)
	watch := time.AfterFunc(idle, func() { cancel(stalled) })
	defer watch.Stop()
	buf := bytes.NewBuffer(make([]byte, 0, min(max(total, 0)+bytes.MinRead, 32<<20)))
	chunk := make([]byte, 64<<10)
	for {
		n, err := body.Read(chunk)
		watch.Reset(idle)
		buf.Write(chunk[:n])
		if int64(buf.Len()) > limit {
			return nil, fmt.Errorf("%w: more than %d bytes came in", ErrTooLarge, limit)
		}
		if progress != nil && n > 0 {
			progress(what, int64(buf.Len()), total)
		}
		if err == io.EOF {
			return buf.Bytes(), nil
		}
		if err != nil {
			if cause := context.Cause(ctx); cause != nil {
				err = cause
			}
			return nil, err
		}
	}
}

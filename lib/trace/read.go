package trace

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// ReadHead returns the header of the session_start a trace begins with, or nil
// when its first line is not a whole session_start. The error is one of
// reading.
func ReadHead(r io.Reader) (*Header, error) {
	line, err := bufio.NewReader(r).ReadBytes('\n')
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the trace can not be read: %w", err)
	}
	var h Header
	if json.Unmarshal(line, &h) != nil || h.EventType != "session_start" || h.EventID == "" || h.SessionID == "" {
		return nil, nil
	}
	return &h, nil
}

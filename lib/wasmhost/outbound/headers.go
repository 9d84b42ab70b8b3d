package outbound

import (
	"net/http"
	"strings"
)

// connectionHeaders belong to one connection (RFC 9110 section 7.6.1) or are
// the host's to set: a guest's are dropped (WIT-41).
var connectionHeaders = map[string]bool{
	"Connection":          true,
	"Content-Length":      true, // follows from the body
	"Host":                true, // follows from the URL
	"Http2-Settings":      true,
	"Keep-Alive":          true,
	"Proxy-Authenticate":  true,
	"Proxy-Authorization": true,
	"Proxy-Connection":    true,
	"Te":                  true,
	"Trailer":             true,
	"Transfer-Encoding":   true,
	"Upgrade":             true,
}

// runtimePrefix begins the headers only the runtime stamps (DEL-108).
const runtimePrefix = "X-Murmur-"

// Scrub removes from h what a guest may not set: headers of the connection,
// those a Connection header names, and x-murmur- headers. RoundTrip does it to
// every request; a caller that adds headers of the runtime's own must scrub
// before it adds, and send through something else.
func Scrub(h http.Header) {
	for _, v := range h.Values("Connection") {
		for name := range strings.SplitSeq(v, ",") {
			h.Del(strings.TrimSpace(name))
		}
	}
	for name := range h {
		canonical := http.CanonicalHeaderKey(name)
		if connectionHeaders[canonical] || strings.HasPrefix(canonical, runtimePrefix) {
			delete(h, name)
		}
	}
}

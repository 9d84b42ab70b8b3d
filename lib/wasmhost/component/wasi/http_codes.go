package wasi

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"syscall"

	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/lib/wasmhost/wasmtime"
)

// httpError is an error with its error-code of wasi:http, which http-error-code
// finds again.
type httpError struct {
	code variant
	text string
}

func (e *httpError) Error() string { return "http: " + e.text }

// failed makes an error whose code carries nothing.
func failed(code, text string) *httpError { return &httpError{variant{Name: code}, text} }

// sized makes an error whose code carries the most that is taken.
func sized(code string, limit val, text string) *httpError {
	return &httpError{variant{Name: code, V: wasmtime.Some(limit)}, text}
}

var (
	errConnectTimeout = failed("connection-timeout", "the connection took longer than connect-timeout")
	errReadTimeout    = failed("connection-read-timeout", "the server took longer than first-byte-timeout or between-bytes-timeout")
	errDropped        = errors.New("dropped by the guest")
)

// httpFailure is err with its code. ctx is the exchange's own: what ended it
// tells more than the error it caused.
func httpFailure(ctx context.Context, err error) *httpError {
	var known *httpError
	if errors.As(err, &known) || errors.As(context.Cause(ctx), &known) {
		return known
	}
	return &httpError{httpCode(err), err.Error()}
}

func httpCode(err error) variant {
	var (
		dns     *net.DNSError
		network net.Error
		cert    *tls.CertificateVerificationError
		unknown x509.UnknownAuthorityError
		record  tls.RecordHeaderError
		alert   tls.AlertError
		size    *http.MaxBytesError
	)
	switch {
	case errors.Is(err, wasmhost.ErrDenied):
		return variant{Name: "HTTP-request-denied"}
	case errors.As(err, &dns) && dns.IsTimeout:
		return variant{Name: "DNS-timeout"}
	case errors.As(err, &dns):
		return variant{Name: "DNS-error", V: record2("rcode", wasmtime.None, "info-code", wasmtime.None)}
	case errors.As(err, &cert), errors.As(err, &unknown):
		return variant{Name: "TLS-certificate-error"}
	case errors.As(err, &alert):
		return variant{Name: "TLS-alert-received", V: record2("alert-id", wasmtime.Some(uint8(alert)), "alert-message", wasmtime.Some(alert.Error()))}
	case errors.As(err, &record):
		return variant{Name: "TLS-protocol-error"}
	case errors.As(err, &size):
		return variant{Name: "HTTP-response-body-size", V: wasmtime.Some(uint64(size.Limit))}
	case errors.Is(err, syscall.ECONNREFUSED):
		return variant{Name: "connection-refused"}
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return variant{Name: "destination-IP-unroutable"}
	case errors.As(err, &network) && network.Timeout():
		return variant{Name: "connection-timeout"}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return variant{Name: "HTTP-response-incomplete"}
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return variant{Name: "connection-terminated"}
	}
	return variant{Name: "internal-error", V: wasmtime.Some(err.Error())}
}

func record2(n1 string, v1 val, n2 string, v2 val) record {
	return record{{Name: n1, V: v1}, {Name: n2, V: v2}}
}

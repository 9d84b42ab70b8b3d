package wasi

// proxyInterfaces are the interfaces of WASI 0.2 that the proxy passes on, with
// all their functions, as their WIT has them.
var proxyInterfaces = []proxyInterface{
	{"io/error", `(export "error" (type $error (sub resource)))`, "error", []proxyFunc{
		{"[method]error.to-debug-string", `(param "self" (borrow $error)) (result string)`, "i", "p"},
	}},
	{"io/poll", `(export "pollable" (type $pollable (sub resource)))`, "pollable", []proxyFunc{
		{"[method]pollable.ready", `(param "self" (borrow $pollable)) (result bool)`, "i", "i"},
		{"[method]pollable.block", `(param "self" (borrow $pollable))`, "i", ""},
		{"poll", `(param "in" (list (borrow $pollable))) (result (list u32))`, "ii", "p"},
	}},
	{"io/streams", `(export "error" (type $e (eq $error)))
		(export "pollable" (type $p (eq $pollable)))
		(export "input-stream" (type $input-stream (sub resource)))
		(export "output-stream" (type $output-stream (sub resource)))
		(type $se (variant (case "last-operation-failed" (own $e)) (case "closed")))
		(export "stream-error" (type $stream-error (eq $se)))`, "input-stream output-stream stream-error", []proxyFunc{
		{"[method]input-stream.read", `(param "self" (borrow $input-stream)) (param "len" u64) (result (result (list u8) (error $stream-error)))`, "il", "p"},
		{"[method]input-stream.blocking-read", `(param "self" (borrow $input-stream)) (param "len" u64) (result (result (list u8) (error $stream-error)))`, "il", "p"},
		{"[method]input-stream.skip", `(param "self" (borrow $input-stream)) (param "len" u64) (result (result u64 (error $stream-error)))`, "il", "p"},
		{"[method]input-stream.blocking-skip", `(param "self" (borrow $input-stream)) (param "len" u64) (result (result u64 (error $stream-error)))`, "il", "p"},
		{"[method]input-stream.subscribe", `(param "self" (borrow $input-stream)) (result (own $pollable))`, "i", "i"},
		{"[method]output-stream.check-write", `(param "self" (borrow $output-stream)) (result (result u64 (error $stream-error)))`, "i", "p"},
		{"[method]output-stream.write", `(param "self" (borrow $output-stream)) (param "contents" (list u8)) (result (result (error $stream-error)))`, "iii", "p"},
		{"[method]output-stream.blocking-write-and-flush", `(param "self" (borrow $output-stream)) (param "contents" (list u8)) (result (result (error $stream-error)))`, "iii", "p"},
		{"[method]output-stream.flush", `(param "self" (borrow $output-stream)) (result (result (error $stream-error)))`, "i", "p"},
		{"[method]output-stream.blocking-flush", `(param "self" (borrow $output-stream)) (result (result (error $stream-error)))`, "i", "p"},
		{"[method]output-stream.subscribe", `(param "self" (borrow $output-stream)) (result (own $pollable))`, "i", "i"},
		{"[method]output-stream.write-zeroes", `(param "self" (borrow $output-stream)) (param "len" u64) (result (result (error $stream-error)))`, "il", "p"},
		{"[method]output-stream.blocking-write-zeroes-and-flush", `(param "self" (borrow $output-stream)) (param "len" u64) (result (result (error $stream-error)))`, "il", "p"},
		{"[method]output-stream.splice", `(param "self" (borrow $output-stream)) (param "src" (borrow $input-stream)) (param "len" u64) (result (result u64 (error $stream-error)))`, "iil", "p"},
		{"[method]output-stream.blocking-splice", `(param "self" (borrow $output-stream)) (param "src" (borrow $input-stream)) (param "len" u64) (result (result u64 (error $stream-error)))`, "iil", "p"},
	}},
	{"cli/stdin", `(export "input-stream" (type $i (eq $input-stream)))`, "", []proxyFunc{{"get-stdin", `(result (own $input-stream))`, "", "i"}}},
	{"cli/stdout", `(export "output-stream" (type $o (eq $output-stream)))`, "", []proxyFunc{{"get-stdout", `(result (own $output-stream))`, "", "i"}}},
	{"cli/stderr", `(export "output-stream" (type $o (eq $output-stream)))`, "", []proxyFunc{{"get-stderr", `(result (own $output-stream))`, "", "i"}}},
	{"cli/environment", ``, "", []proxyFunc{
		{"get-environment", `(result (list (tuple string string)))`, "", "p"},
		{"get-arguments", `(result (list string))`, "", "p"},
		{"initial-cwd", `(result (option string))`, "", "p"},
	}},
	{"cli/exit", ``, "", []proxyFunc{
		{"exit", `(param "status" (result))`, "i", ""},
		{"exit-with-code", `(param "status-code" u8)`, "i", ""},
	}},
	{"cli/terminal-input", `(export "terminal-input" (type $terminal-input (sub resource)))`, "terminal-input", nil},
	{"cli/terminal-output", `(export "terminal-output" (type $terminal-output (sub resource)))`, "terminal-output", nil},
	{"cli/terminal-stdin", `(export "terminal-input" (type $t (eq $terminal-input)))`, "", []proxyFunc{{"get-terminal-stdin", `(result (option (own $terminal-input)))`, "", "p"}}},
	{"cli/terminal-stdout", `(export "terminal-output" (type $t (eq $terminal-output)))`, "", []proxyFunc{{"get-terminal-stdout", `(result (option (own $terminal-output)))`, "", "p"}}},
	{"cli/terminal-stderr", `(export "terminal-output" (type $t (eq $terminal-output)))`, "", []proxyFunc{{"get-terminal-stderr", `(result (option (own $terminal-output)))`, "", "p"}}},
	{"clocks/monotonic-clock", `(export "pollable" (type $p (eq $pollable)))`, "", []proxyFunc{
		{"now", `(result u64)`, "", "l"},
		{"resolution", `(result u64)`, "", "l"},
		{"subscribe-instant", `(param "when" u64) (result (own $pollable))`, "l", "i"},
		{"subscribe-duration", `(param "when" u64) (result (own $pollable))`, "l", "i"},
	}},
	{"clocks/wall-clock", `(type $d (record (field "seconds" u64) (field "nanoseconds" u32))) (export "datetime" (type $datetime (eq $d)))`, "datetime", []proxyFunc{
		{"now", `(result $datetime)`, "", "p"},
		{"resolution", `(result $datetime)`, "", "p"},
	}},
	{"random/random", ``, "", []proxyFunc{
		{"get-random-bytes", `(param "len" u64) (result (list u8))`, "l", "p"},
		{"get-random-u64", `(result u64)`, "", "l"},
	}},
	{"random/insecure", ``, "", []proxyFunc{
		{"get-insecure-random-bytes", `(param "len" u64) (result (list u8))`, "l", "p"},
		{"get-insecure-random-u64", `(result u64)`, "", "l"},
	}},
	{"random/insecure-seed", ``, "", []proxyFunc{{"insecure-seed", `(result (tuple u64 u64))`, "", "p"}}},
	{"filesystem/types", `(export "descriptor" (type $descriptor (sub resource)))
		(export "directory-entry-stream" (type $directory-entry-stream (sub resource)))
		(export "input-stream" (type $i (eq $input-stream)))
		(export "output-stream" (type $o (eq $output-stream)))
		(export "error" (type $e (eq $error)))
		(export "datetime" (type $d (eq $datetime)))
		(type $ec (enum "access" "would-block" "already" "bad-descriptor" "busy" "deadlock" "quota" "exist" "file-too-large" "illegal-byte-sequence" "in-progress" "interrupted" "invalid" "io" "is-directory" "loop" "too-many-links" "message-size" "name-too-long" "no-device" "no-entry" "no-lock" "insufficient-memory" "insufficient-space" "not-directory" "not-empty" "not-recoverable" "unsupported" "no-tty" "no-such-device" "overflow" "not-permitted" "pipe" "read-only" "invalid-seek" "text-file-busy" "cross-device"))
		(export "error-code" (type $error-code (eq $ec)))
		(type $ad (enum "normal" "sequential" "random" "will-need" "dont-need" "no-reuse"))
		(export "advice" (type $advice (eq $ad)))
		(type $df (flags "read" "write" "file-integrity-sync" "data-integrity-sync" "requested-write-sync" "mutate-directory"))
		(export "descriptor-flags" (type $descriptor-flags (eq $df)))
		(type $dt (enum "unknown" "block-device" "character-device" "directory" "fifo" "symbolic-link" "regular-file" "socket"))
		(export "descriptor-type" (type $descriptor-type (eq $dt)))
		(type $nt (variant (case "no-change") (case "now") (case "timestamp" $d)))
		(export "new-timestamp" (type $new-timestamp (eq $nt)))
		(type $ds (record (field "type" $descriptor-type) (field "link-count" u64) (field "size" u64) (field "data-access-timestamp" (option $d)) (field "data-modification-timestamp" (option $d)) (field "status-change-timestamp" (option $d))))
		(export "descriptor-stat" (type $descriptor-stat (eq $ds)))
		(type $pf (flags "symlink-follow"))
		(export "path-flags" (type $path-flags (eq $pf)))
		(type $of (flags "create" "directory" "exclusive" "truncate"))
		(export "open-flags" (type $open-flags (eq $of)))
		(type $de (record (field "type" $descriptor-type) (field "name" string)))
		(export "directory-entry" (type $directory-entry (eq $de)))
		(type $mh (record (field "lower" u64) (field "upper" u64)))
		(export "metadata-hash-value" (type $metadata-hash-value (eq $mh)))`,
		"descriptor directory-entry-stream fs-datetime:datetime error-code advice descriptor-flags descriptor-type new-timestamp descriptor-stat path-flags open-flags directory-entry metadata-hash-value", []proxyFunc{
			{"filesystem-error-code", `(param "err" (borrow $error)) (result (option $error-code))`, "i", "p"},
			{"[method]descriptor.read-via-stream", `(param "self" (borrow $descriptor)) (param "offset" u64) (result (result (own $input-stream) (error $error-code)))`, "il", "p"},
			{"[method]descriptor.write-via-stream", `(param "self" (borrow $descriptor)) (param "offset" u64) (result (result (own $output-stream) (error $error-code)))`, "il", "p"},
			{"[method]descriptor.append-via-stream", `(param "self" (borrow $descriptor)) (result (result (own $output-stream) (error $error-code)))`, "i", "p"},
			{"[method]descriptor.advise", `(param "self" (borrow $descriptor)) (param "offset" u64) (param "length" u64) (param "advice" $advice) (result (result (error $error-code)))`, "illi", "p"},
			{"[method]descriptor.sync-data", `(param "self" (borrow $descriptor)) (result (result (error $error-code)))`, "i", "p"},
			{"[method]descriptor.get-flags", `(param "self" (borrow $descriptor)) (result (result $descriptor-flags (error $error-code)))`, "i", "p"},
			{"[method]descriptor.get-type", `(param "self" (borrow $descriptor)) (result (result $descriptor-type (error $error-code)))`, "i", "p"},
			{"[method]descriptor.set-size", `(param "self" (borrow $descriptor)) (param "size" u64) (result (result (error $error-code)))`, "il", "p"},
			{"[method]descriptor.set-times", `(param "self" (borrow $descriptor)) (param "data-access-timestamp" $new-timestamp) (param "data-modification-timestamp" $new-timestamp) (result (result (error $error-code)))`, "iiliili", "p"},
			{"[method]descriptor.read", `(param "self" (borrow $descriptor)) (param "length" u64) (param "offset" u64) (result (result (tuple (list u8) bool) (error $error-code)))`, "ill", "p"},
			{"[method]descriptor.write", `(param "self" (borrow $descriptor)) (param "buffer" (list u8)) (param "offset" u64) (result (result u64 (error $error-code)))`, "iiil", "p"},
			{"[method]descriptor.read-directory", `(param "self" (borrow $descriptor)) (result (result (own $directory-entry-stream) (error $error-code)))`, "i", "p"},
			{"[method]descriptor.sync", `(param "self" (borrow $descriptor)) (result (result (error $error-code)))`, "i", "p"},
			{"[method]descriptor.create-directory-at", `(param "self" (borrow $descriptor)) (param "path" string) (result (result (error $error-code)))`, "iii", "p"},
			{"[method]descriptor.stat", `(param "self" (borrow $descriptor)) (result (result $descriptor-stat (error $error-code)))`, "i", "p"},
			{"[method]descriptor.stat-at", `(param "self" (borrow $descriptor)) (param "path-flags" $path-flags) (param "path" string) (result (result $descriptor-stat (error $error-code)))`, "iiii", "p"},
			{"[method]descriptor.set-times-at", `(param "self" (borrow $descriptor)) (param "path-flags" $path-flags) (param "path" string) (param "data-access-timestamp" $new-timestamp) (param "data-modification-timestamp" $new-timestamp) (result (result (error $error-code)))`, "iiiiiliili", "p"},
			{"[method]descriptor.link-at", `(param "self" (borrow $descriptor)) (param "old-path-flags" $path-flags) (param "old-path" string) (param "new-descriptor" (borrow $descriptor)) (param "new-path" string) (result (result (error $error-code)))`, "iiiiiii", "p"},
			{"[method]descriptor.open-at", `(param "self" (borrow $descriptor)) (param "path-flags" $path-flags) (param "path" string) (param "open-flags" $open-flags) (param "flags" $descriptor-flags) (result (result (own $descriptor) (error $error-code)))`, "iiiiii", "p"},
			{"[method]descriptor.readlink-at", `(param "self" (borrow $descriptor)) (param "path" string) (result (result string (error $error-code)))`, "iii", "p"},
			{"[method]descriptor.remove-directory-at", `(param "self" (borrow $descriptor)) (param "path" string) (result (result (error $error-code)))`, "iii", "p"},
			{"[method]descriptor.rename-at", `(param "self" (borrow $descriptor)) (param "old-path" string) (param "new-descriptor" (borrow $descriptor)) (param "new-path" string) (result (result (error $error-code)))`, "iiiiii", "p"},
			{"[method]descriptor.symlink-at", `(param "self" (borrow $descriptor)) (param "old-path" string) (param "new-path" string) (result (result (error $error-code)))`, "iiiii", "p"},
			{"[method]descriptor.unlink-file-at", `(param "self" (borrow $descriptor)) (param "path" string) (result (result (error $error-code)))`, "iii", "p"},
			{"[method]descriptor.is-same-object", `(param "self" (borrow $descriptor)) (param "other" (borrow $descriptor)) (result bool)`, "ii", "i"},
			{"[method]descriptor.metadata-hash", `(param "self" (borrow $descriptor)) (result (result $metadata-hash-value (error $error-code)))`, "i", "p"},
			{"[method]descriptor.metadata-hash-at", `(param "self" (borrow $descriptor)) (param "path-flags" $path-flags) (param "path" string) (result (result $metadata-hash-value (error $error-code)))`, "iiii", "p"},
			{"[method]directory-entry-stream.read-directory-entry", `(param "self" (borrow $directory-entry-stream)) (result (result (option $directory-entry) (error $error-code)))`, "i", "p"},
		}},
	{"filesystem/preopens", `(export "descriptor" (type $d (eq $descriptor)))`, "", []proxyFunc{
		{"get-directories", `(result (list (tuple (own $descriptor) string)))`, "", "p"},
	}},
	{"sockets/network", `(export "network" (type $network (sub resource)))
		(type $nc (enum "unknown" "access-denied" "not-supported" "invalid-argument" "out-of-memory" "timeout" "concurrency-conflict" "not-in-progress" "would-block" "invalid-state" "new-socket-limit" "address-not-bindable" "address-in-use" "remote-unreachable" "connection-refused" "connection-reset" "connection-aborted" "datagram-too-large" "name-unresolvable" "temporary-resolver-failure" "permanent-resolver-failure"))
		(export "error-code" (type $socket-error-code (eq $nc)))
		(type $ia (enum "ipv4" "ipv6"))
		(export "ip-address-family" (type $ip-address-family (eq $ia)))`, "network socket-error-code:error-code ip-address-family", nil},
	{"sockets/instance-network", `(export "network" (type $n (eq $network)))`, "", []proxyFunc{{"instance-network", `(result (own $network))`, "", "i"}}},
	{"sockets/tcp", `(export "tcp-socket" (type $tcp-socket (sub resource)))`, "tcp-socket", nil},
	{"sockets/udp", `(export "udp-socket" (type $udp-socket (sub resource)))`, "udp-socket", nil},
	{"sockets/tcp-create-socket", `(export "tcp-socket" (type $t (eq $tcp-socket)))`, "", []proxyFunc{
		{"create-tcp-socket", `(param "address-family" $ip-address-family) (result (result (own $tcp-socket) (error $socket-error-code)))`, "i", "p"},
	}},
	{"sockets/udp-create-socket", `(export "udp-socket" (type $u (eq $udp-socket)))`, "", []proxyFunc{
		{"create-udp-socket", `(param "address-family" $ip-address-family) (result (result (own $udp-socket) (error $socket-error-code)))`, "i", "p"},
	}},
	{"sockets/ip-name-lookup", `(export "network" (type $n (eq $network))) (export "resolve-address-stream" (type $resolve-address-stream (sub resource)))`, "resolve-address-stream", []proxyFunc{
		{"resolve-addresses", `(param "network" (borrow $network)) (param "name" string) (result (result (own $resolve-address-stream) (error $socket-error-code)))`, "iii", "p"},
	}},
	{"http/types", httpTypes, "fields outgoing-request request-options outgoing-body incoming-response incoming-body future-incoming-response future-trailers method scheme field-size-payload TLS-alert-received-payload DNS-error-payload http-error-code:error-code header-error incoming-request outgoing-response response-outparam", httpProxyFuncs},
	{"http/outgoing-handler", `(export "outgoing-request" (type $or (eq $outgoing-request)))
		(export "request-options" (type $ro (eq $request-options)))
		(export "future-incoming-response" (type $fr (eq $future-incoming-response)))
		(export "error-code" (type $hc (eq $http-error-code)))`, "", []proxyFunc{
		{"handle", `(param "request" (own $outgoing-request)) (param "options" (option (own $request-options))) (result (result (own $future-incoming-response) (error $http-error-code)))`, "iii", "p"},
	}},
}

const httpTypes = `(export "input-stream" (type $i (eq $input-stream)))
	(export "output-stream" (type $o (eq $output-stream)))
	(export "error" (type $e (eq $error)))
	(export "pollable" (type $p (eq $pollable)))
	(export "fields" (type $fields (sub resource)))
	(export "outgoing-request" (type $outgoing-request (sub resource)))
	(export "request-options" (type $request-options (sub resource)))
	(export "outgoing-body" (type $outgoing-body (sub resource)))
	(export "incoming-response" (type $incoming-response (sub resource)))
	(export "incoming-body" (type $incoming-body (sub resource)))
	(export "future-incoming-response" (type $future-incoming-response (sub resource)))
	(export "future-trailers" (type $future-trailers (sub resource)))
	(export "incoming-request" (type $incoming-request (sub resource)))
	(export "outgoing-response" (type $outgoing-response (sub resource)))
	(export "response-outparam" (type $response-outparam (sub resource)))
	(type $m (variant (case "get") (case "head") (case "post") (case "put") (case "delete") (case "connect") (case "options") (case "trace") (case "patch") (case "other" string)))
	(export "method" (type $method (eq $m)))
	(type $s (variant (case "HTTP") (case "HTTPS") (case "other" string)))
	(export "scheme" (type $scheme (eq $s)))
	(type $dp (record (field "rcode" (option string)) (field "info-code" (option u16))))
	(export "DNS-error-payload" (type $DNS-error-payload (eq $dp)))
	(type $tp (record (field "alert-id" (option u8)) (field "alert-message" (option string))))
	(export "TLS-alert-received-payload" (type $TLS-alert-received-payload (eq $tp)))
	(type $fp (record (field "field-name" (option string)) (field "field-size" (option u32))))
	(export "field-size-payload" (type $field-size-payload (eq $fp)))
	(type $c (variant (case "DNS-timeout") (case "DNS-error" $DNS-error-payload) (case "destination-not-found") (case "destination-unavailable") (case "destination-IP-prohibited") (case "destination-IP-unroutable") (case "connection-refused") (case "connection-terminated") (case "connection-timeout") (case "connection-read-timeout") (case "connection-write-timeout") (case "connection-limit-reached") (case "TLS-protocol-error") (case "TLS-certificate-error") (case "TLS-alert-received" $TLS-alert-received-payload) (case "HTTP-request-denied") (case "HTTP-request-length-required") (case "HTTP-request-body-size" (option u64)) (case "HTTP-request-method-invalid") (case "HTTP-request-URI-invalid") (case "HTTP-request-URI-too-long") (case "HTTP-request-header-section-size" (option u32)) (case "HTTP-request-header-size" (option $field-size-payload)) (case "HTTP-request-trailer-section-size" (option u32)) (case "HTTP-request-trailer-size" $field-size-payload) (case "HTTP-response-incomplete") (case "HTTP-response-header-section-size" (option u32)) (case "HTTP-response-header-size" $field-size-payload) (case "HTTP-response-body-size" (option u64)) (case "HTTP-response-trailer-section-size" (option u32)) (case "HTTP-response-trailer-size" $field-size-payload) (case "HTTP-response-transfer-coding" (option string)) (case "HTTP-response-content-coding" (option string)) (case "HTTP-response-timeout") (case "HTTP-upgrade-failed") (case "HTTP-protocol-error") (case "loop-detected") (case "configuration-error") (case "internal-error" (option string))))
	(export "error-code" (type $http-error-code (eq $c)))
	(type $h (variant (case "invalid-syntax") (case "forbidden") (case "immutable")))
	(export "header-error" (type $header-error (eq $h)))`

var httpProxyFuncs = []proxyFunc{
	{"http-error-code", `(param "err" (borrow $error)) (result (option $http-error-code))`, "i", "p"},
	{"[constructor]fields", `(result (own $fields))`, "", "i"},
	{"[static]fields.from-list", `(param "entries" (list (tuple string (list u8)))) (result (result (own $fields) (error $header-error)))`, "ii", "p"},
	{"[method]fields.get", `(param "self" (borrow $fields)) (param "name" string) (result (list (list u8)))`, "iii", "p"},
	{"[method]fields.has", `(param "self" (borrow $fields)) (param "name" string) (result bool)`, "iii", "i"},
	{"[method]fields.set", `(param "self" (borrow $fields)) (param "name" string) (param "value" (list (list u8))) (result (result (error $header-error)))`, "iiiii", "p"},
	{"[method]fields.delete", `(param "self" (borrow $fields)) (param "name" string) (result (result (error $header-error)))`, "iii", "p"},
	{"[method]fields.append", `(param "self" (borrow $fields)) (param "name" string) (param "value" (list u8)) (result (result (error $header-error)))`, "iiiii", "p"},
	{"[method]fields.entries", `(param "self" (borrow $fields)) (result (list (tuple string (list u8))))`, "i", "p"},
	{"[method]fields.clone", `(param "self" (borrow $fields)) (result (own $fields))`, "i", "i"},
	{"[constructor]outgoing-request", `(param "headers" (own $fields)) (result (own $outgoing-request))`, "i", "i"},
	{"[method]outgoing-request.body", `(param "self" (borrow $outgoing-request)) (result (result (own $outgoing-body)))`, "i", "p"},
	{"[method]outgoing-request.method", `(param "self" (borrow $outgoing-request)) (result $method)`, "i", "p"},
	{"[method]outgoing-request.set-method", `(param "self" (borrow $outgoing-request)) (param "method" $method) (result (result))`, "iiii", "i"},
	{"[method]outgoing-request.path-with-query", `(param "self" (borrow $outgoing-request)) (result (option string))`, "i", "p"},
	{"[method]outgoing-request.set-path-with-query", `(param "self" (borrow $outgoing-request)) (param "path-with-query" (option string)) (result (result))`, "iiii", "i"},
	{"[method]outgoing-request.scheme", `(param "self" (borrow $outgoing-request)) (result (option $scheme))`, "i", "p"},
	{"[method]outgoing-request.set-scheme", `(param "self" (borrow $outgoing-request)) (param "scheme" (option $scheme)) (result (result))`, "iiiii", "i"},
	{"[method]outgoing-request.authority", `(param "self" (borrow $outgoing-request)) (result (option string))`, "i", "p"},
	{"[method]outgoing-request.set-authority", `(param "self" (borrow $outgoing-request)) (param "authority" (option string)) (result (result))`, "iiii", "i"},
	{"[method]outgoing-request.headers", `(param "self" (borrow $outgoing-request)) (result (own $fields))`, "i", "i"},
	{"[constructor]request-options", `(result (own $request-options))`, "", "i"},
	{"[method]request-options.connect-timeout", `(param "self" (borrow $request-options)) (result (option u64))`, "i", "p"},
	{"[method]request-options.set-connect-timeout", `(param "self" (borrow $request-options)) (param "duration" (option u64)) (result (result))`, "iil", "i"},
	{"[method]request-options.first-byte-timeout", `(param "self" (borrow $request-options)) (result (option u64))`, "i", "p"},
	{"[method]request-options.set-first-byte-timeout", `(param "self" (borrow $request-options)) (param "duration" (option u64)) (result (result))`, "iil", "i"},
	{"[method]request-options.between-bytes-timeout", `(param "self" (borrow $request-options)) (result (option u64))`, "i", "p"},
	{"[method]request-options.set-between-bytes-timeout", `(param "self" (borrow $request-options)) (param "duration" (option u64)) (result (result))`, "iil", "i"},
	{"[method]outgoing-body.write", `(param "self" (borrow $outgoing-body)) (result (result (own $output-stream)))`, "i", "p"},
	{"[static]outgoing-body.finish", `(param "this" (own $outgoing-body)) (param "trailers" (option (own $fields))) (result (result (error $http-error-code)))`, "iii", "p"},
	{"[method]future-incoming-response.subscribe", `(param "self" (borrow $future-incoming-response)) (result (own $pollable))`, "i", "i"},
	{"[method]future-incoming-response.get", `(param "self" (borrow $future-incoming-response)) (result (option (result (result (own $incoming-response) (error $http-error-code)))))`, "i", "p"},
	{"[method]incoming-response.status", `(param "self" (borrow $incoming-response)) (result u16)`, "i", "i"},
	{"[method]incoming-response.headers", `(param "self" (borrow $incoming-response)) (result (own $fields))`, "i", "i"},
	{"[method]incoming-response.consume", `(param "self" (borrow $incoming-response)) (result (result (own $incoming-body)))`, "i", "p"},
	{"[method]incoming-body.stream", `(param "self" (borrow $incoming-body)) (result (result (own $input-stream)))`, "i", "p"},
	{"[static]incoming-body.finish", `(param "this" (own $incoming-body)) (result (own $future-trailers))`, "i", "i"},
	{"[method]future-trailers.subscribe", `(param "self" (borrow $future-trailers)) (result (own $pollable))`, "i", "i"},
	{"[method]future-trailers.get", `(param "self" (borrow $future-trailers)) (result (option (result (result (option (own $fields)) (error $http-error-code)))))`, "i", "p"},
	{"[constructor]outgoing-response", `(param "headers" (own $fields)) (result (own $outgoing-response))`, "i", "i"},
	{"[method]incoming-request.method", `(param "self" (borrow $incoming-request)) (result $method)`, "i", "p"},
}

package otel

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strings"
	"sync"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	oteltrace "go.opentelemetry.io/otel/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/mur-capsules/mur/mur-trace/internal/record"
)

// Send exports a session to a collector over OTLP/HTTP, with the headers
// OTEL_EXPORTER_OTLP_HEADERS names. A path in the endpoint is kept as a prefix
// (DEL-1902). It returns how many spans were sent.
func Send(ctx context.Context, r *record.Record, endpoint string) (int, error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return 0, fmt.Errorf("the endpoint %q is no http or https address", endpoint)
	}
	opts := []otlptracehttp.Option{otlptracehttp.WithEndpointURL(u.Scheme + "://" + u.Host + strings.TrimSuffix(u.Path, "/") + "/v1/traces")}
	exp, err := otlptracehttp.New(ctx, opts...)
	if err != nil {
		return 0, err
	}
	return export(ctx, r, exp)
}

// Write writes a session as OTLP in its JSON form, one batch a line, as
// collectors read from files. It returns the number of spans.
func Write(ctx context.Context, r *record.Record, w io.Writer) (int, error) {
	exp, err := otlptrace.New(ctx, &fileClient{w: w})
	if err != nil {
		return 0, err
	}
	return export(ctx, r, exp)
}

// export runs the spans through the SDK. The batches are handed over one after
// another: nothing is dropped, however many there are.
func export(ctx context.Context, r *record.Record, exp sdktrace.SpanExporter) (int, error) {
	res, err := resource.New(ctx, resource.WithSchemaURL(SchemaURL), resource.WithAttributes(Resource(r)...))
	if err != nil {
		return 0, err
	}
	keep := &keeping{SpanExporter: exp}
	batch := sdktrace.NewBatchSpanProcessor(keep, sdktrace.WithBlocking(), sdktrace.WithMaxExportBatchSize(512))
	// The SDK would log what failed; the caller is told once instead.
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {}))
	given := &givenIDs{}
	provider := sdktrace.NewTracerProvider(sdktrace.WithResource(res), sdktrace.WithSpanProcessor(batch), sdktrace.WithIDGenerator(given),
		sdktrace.WithSampler(sdktrace.AlwaysSample()))
	tracer := provider.Tracer(Scope, oteltrace.WithSchemaURL(SchemaURL))
	n := 0
	Plan(r, func(s Span) {
		given.trace, given.span = s.TraceID, s.SpanID
		parent := context.Background()
		if s.Parent.IsValid() {
			parent = oteltrace.ContextWithSpanContext(parent, s.Parent)
		}
		_, span := tracer.Start(parent, s.Name, oteltrace.WithSpanKind(s.Kind), oteltrace.WithTimestamp(s.Start), oteltrace.WithAttributes(s.Attributes...))
		if s.ErrorType != "" {
			span.SetAttributes(attribute.String(string(semconv.ErrorTypeKey), s.ErrorType))
			span.SetStatus(codes.Error, s.ErrorType)
		} else {
			span.SetStatus(codes.Ok, "")
		}
		span.End(oteltrace.WithTimestamp(s.End))
		n++
	})
	err = provider.Shutdown(ctx)
	if keep.failed() != nil {
		err = keep.failed()
	}
	return n, err
}

// keeping remembers the first failed batch, which the SDK only logs.
type keeping struct {
	sdktrace.SpanExporter
	mu  sync.Mutex
	err error
}

func (k *keeping) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := k.SpanExporter.ExportSpans(ctx, spans)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.err == nil {
		k.err = err
	}
	return err
}

func (k *keeping) failed() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.err
}

// givenIDs makes the SDK use the ids of the plan. It is used by one goroutine.
type givenIDs struct {
	trace oteltrace.TraceID
	span  oteltrace.SpanID
}

func (g *givenIDs) NewIDs(context.Context) (oteltrace.TraceID, oteltrace.SpanID) {
	return g.trace, g.span
}

func (g *givenIDs) NewSpanID(context.Context, oteltrace.TraceID) oteltrace.SpanID { return g.span }

// fileClient takes what the OTLP exporter would send and writes it.
type fileClient struct{ w io.Writer }

func (*fileClient) Start(context.Context) error { return nil }
func (*fileClient) Stop(context.Context) error  { return nil }

func (c *fileClient) UploadTraces(_ context.Context, spans []*tracepb.ResourceSpans) error {
	text, err := protojson.MarshalOptions{UseEnumNumbers: true}.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil {
		return err
	}
	var doc any
	dec := json.NewDecoder(strings.NewReader(string(text)))
	dec.UseNumber()
	if err := dec.Decode(&doc); err != nil {
		return err
	}
	hexIDs(doc)
	out, err := json.Marshal(doc)
	if err != nil {
		return err
	}
	_, err = c.w.Write(append(out, '\n'))
	return err
}

// hexIDs makes ids hexadecimal: the JSON form of OTLP differs there from that
// of protocol buffers.
func hexIDs(v any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			hexIDs(e)
		}
	case map[string]any:
		for k, e := range v {
			s, isText := e.(string)
			if isText && (k == "traceId" || k == "spanId" || k == "parentSpanId") {
				if b, err := base64.StdEncoding.DecodeString(s); err == nil {
					v[k] = hex.EncodeToString(b)
				}
				continue
			}
			hexIDs(e)
		}
	}
}

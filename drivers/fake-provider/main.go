//go:build !wasip1

// Command fake-provider is a model provider for people without a key: it speaks
// the Anthropic Messages API or OpenAI's chat completions API on a loopback port,
// checks requests as the real ones do, and answers from a script.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/mur-capsules/mur/lib/murtest/provider"
)

const usage = `fake-provider - a model provider without a model

It listens until it is interrupted. Without a script it answers with what it was
told last. A script is a JSON list of answers, given in order:

  [{"text": "Let me look.", "calls": [{"name": "todo-scan", "input": {}}]},
   {"fault": "rate_limited", "retry_after": 1},
   {"thinking": "Two marks.", "text": "There are two."}]

Examples:
  go run ./drivers/fake-provider                               on a free port
  go run ./drivers/fake-provider -wire openai -addr 127.0.0.1:8080 -key secret
  go run ./drivers/fake-provider -script answers.json -pieces 5

Options:
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "fake-provider:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("fake-provider", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprint(stderr, usage)
		flags.PrintDefaults()
	}
	wire := flags.String("wire", "anthropic", "the API to speak: anthropic or openai")
	addr := flags.String("addr", "127.0.0.1:0", "where to listen")
	key := flags.String("key", "", "the only key to accept; without it every one is")
	script := flags.String("script", "", "a file with a JSON list of answers")
	pieces := flags.Int("pieces", 0, "write a stream in pieces of at most so many bytes")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	opt := provider.Options{
		Wire: provider.Wire(*wire), Key: *key, Pieces: *pieces,
		Log: func(line string) { fmt.Fprintln(stderr, line) },
	}
	if opt.Wire != provider.Anthropic && opt.Wire != provider.OpenAI {
		return fmt.Errorf("the API is anthropic or openai, not %q", *wire)
	}
	if *script != "" {
		f, err := os.Open(*script)
		if err != nil {
			return err
		}
		defer f.Close()
		dec := json.NewDecoder(f)
		dec.DisallowUnknownFields()
		if err := dec.Decode(&opt.Script); err != nil {
			return fmt.Errorf("%s: %w", *script, err)
		}
		for _, r := range opt.Script {
			if r.Fault != provider.None && !slices.Contains(provider.Faults, r.Fault) {
				return fmt.Errorf("%s: there is no fault %q, but %q", *script, r.Fault, provider.Faults)
			}
		}
	}
	server, err := provider.Start(*addr, opt)
	if err != nil {
		return err
	}
	defer server.Close()
	fmt.Fprintln(stdout, server.Base()) // for gateway.endpoint
	<-ctx.Done()
	return nil
}

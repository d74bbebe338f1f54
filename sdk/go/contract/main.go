// Command contract runs the calls of tests/contract through this package: one JSON request on each line of standard input, one
// answer on each line of standard output.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"

	"iii.invalid/sandbox"
)

type request struct {
	Op     string  `json:"op"`
	Args   args    `json:"args"`
	Token  *string `json:"token"`
	Stream bool    `json:"stream"`
	Take   int     `json:"take"`
}

func main() {
	input, output := bufio.NewReader(os.Stdin), json.NewEncoder(os.Stdout)
	output.SetEscapeHTML(false)
	for {
		line, err := input.ReadBytes('\n')
		if err != nil {
			return
		}
		var r request
		if err := json.Unmarshal(line, &r); err != nil {
			log.Fatal(err)
		}
		value, err := answer(context.Background(), &r)
		reply := map[string]any{"ok": value}
		if err != nil {
			reply = map[string]any{"error": explain(err)}
		}
		if err := output.Encode(reply); err != nil {
			log.Fatal(err)
		}
	}
}

func explain(err error) map[string]any {
	var failed *sandbox.Error
	var command *sandbox.CommandError
	switch {
	case errors.As(err, &failed):
		return map[string]any{"code": failed.Code, "status": failed.Status, "message": failed.Message}
	case errors.As(err, &command):
		return map[string]any{"code": "command_failed", "status": 200, "message": err.Error()}
	}
	return map[string]any{"code": "client", "status": 0, "message": err.Error()}
}

func answer(ctx context.Context, r *request) (value any, err error) {
	defer func() {
		if bad, ok := recover().(badArgument); ok {
			err = bad
		}
	}()
	config := sandbox.Config{URL: os.Getenv("III_URL"), Token: os.Getenv("III_TOKEN"), CAFile: os.Getenv("III_CA_FILE")}
	if r.Token != nil {
		config.Token, config.NoToken = *r.Token, *r.Token == ""
	}
	client, err := sandbox.NewClient(config)
	if err != nil {
		return nil, err
	}
	switch {
	case r.Op == "operations":
		return append([]string{"terminal_talk"}, sandbox.Operations...), nil
	case r.Stream || alwaysStreams[r.Op]:
		return collect(ctx, client, r)
	}
	if value, err, known := byHand(ctx, client, r.Op, r.Args); known {
		return value, err
	}
	return call(ctx, client, r.Op, r.Args)
}

func unknown(name string) error {
	return fmt.Errorf("there is no operation %q", name)
}

func collect(ctx context.Context, client *sandbox.Client, r *request) (any, error) {
	events, err := stream(ctx, client, r.Op, r.Args)
	if err != nil {
		return nil, err
	}
	seen := []any{}
	for more := true; more; {
		event, err := events()
		if err != nil {
			return nil, err
		}
		if event == nil {
			return seen, nil
		}
		seen = append(seen, event)
		more = len(seen) != r.Take
	}
	return seen, nil
}

package sandbox

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

const (
	outputMax = 10 << 20 // kept of each stream, as the server does for a command that is waited for
	inputMax  = 1 << 20  // of a call that sends it whole
	inputStep = 64 << 10 // of a connection that sends it as it is read
)

// ExecOptions are those of one command.
type ExecOptions struct {
	// Variables beside those of the sandbox
	Env map[string]string
	// User inside the sandbox: a name or uid, or with a group name:group
	User string
	// Working folder; otherwise that of the sandbox
	Cwd string
	// Longest time, in whole seconds; 0: the server's own limit. A command that takes longer is killed, and is an ErrTimedOut
	Timeout time.Duration
	// Standard input; it is empty without one
	Stdin io.Reader
	// Get output as it comes, byte for byte; the result does not repeat it
	Stdout, Stderr io.Writer
	// Another exit code than 0 is a *CommandError
	Check bool
	// The same command with the same key runs once; it is tried again when the connection fails. Not with Stdin, Stdout or Stderr
	IdempotencyKey string
}

// ExitStatus is how a command ended.
type ExitStatus struct {
	// 128 and its number when a signal killed it; -1 when it timed out
	Code int
	// The signal that killed it: KILL, TERM …; "" when none did
	Signal string
	// It took longer than it was given
	TimedOut bool
	// It took more memory than the sandbox has
	OOMKilled bool
}

// Success says whether it exited with 0.
func (s ExitStatus) Success() bool { return s.Code == 0 }

func (s ExitStatus) String() string {
	switch {
	case s.TimedOut:
		return "timed out"
	case s.OOMKilled:
		return "out of memory"
	case s.Signal != "":
		return "killed by SIG" + s.Signal
	}
	return "exit code " + strconv.Itoa(s.Code)
}

// Status is how the command ended.
func (r *ExecResult) Status() ExitStatus {
	return ExitStatus{int(r.ExitCode), r.Signal, r.TimedOut, r.OOMKilled}
}

// Status is how the command ended, in the last event; false in all others.
func (c *ExecStreamChunk) Status() (ExitStatus, bool) {
	code, err := strconv.Atoi(c.Data)
	return ExitStatus{code, c.Signal, c.TimedOut, c.OOMKilled}, err == nil && c.Type == "exit"
}

// Exec runs a shell line and waits for its end. Another exit code than 0 is no error, unless Check says so. What times out is
// an ErrTimedOut, with the output so far in the result.
func (m *Sandbox) Exec(ctx context.Context, line string, options *ExecOptions) (*ExecResult, error) {
	return m.exec(ctx, Shell(line), options)
}

// ExecWords is [Sandbox.Exec] without a shell: a program and its arguments.
func (m *Sandbox) ExecWords(ctx context.Context, words []string, options *ExecOptions) (*ExecResult, error) {
	return m.exec(ctx, Words(words...), options)
}

// ExecStream runs a shell line and gives its output as it comes; the last event is exit, of which [ExecStreamChunk.Status] says
// how it ended. Of the options it takes Env, User, Cwd, Timeout, and Stdin up to 1 MiB.
func (m *Sandbox) ExecStream(ctx context.Context, line string, options *ExecOptions) (*Stream[ExecStreamChunk], error) {
	o := given(options)
	if o.Stdout != nil || o.Stderr != nil || o.Check || o.IdempotencyKey != "" {
		return nil, &Error{Code: ErrArgument, Message: "ExecStream: Stdout, Stderr, Check and IdempotencyKey are for Exec"}
	}
	all := &CmdRunStreamOptions{Env: o.Env, User: o.User, Cwd: o.Cwd, Timeout: wholeSeconds(o.Timeout)}
	if o.Stdin != nil {
		input, err := io.ReadAll(io.LimitReader(o.Stdin, inputMax+1))
		if err != nil {
			return nil, err
		}
		if len(input) > inputMax {
			return nil, &Error{Code: ErrArgument, Message: fmt.Sprintf("ExecStream: Stdin has more than %d bytes", inputMax), Fix: "use Exec"}
		}
		all.Stdin, all.StdinEncoding = base64.StdEncoding.EncodeToString(input), "base64"
	}
	return m.api.CmdRunStream(ctx, m.id, Shell(line), all)
}

func given(options *ExecOptions) *ExecOptions {
	if options == nil {
		return &ExecOptions{}
	}
	return options
}

func (m *Sandbox) exec(ctx context.Context, command Command, options *ExecOptions) (result *ExecResult, err error) {
	o := given(options)
	if o.Stdin != nil || o.Stdout != nil || o.Stderr != nil {
		result, err = m.attach(ctx, command, o)
	} else {
		result, err = m.api.CmdRun(ctx, m.id, command, &CmdRunOptions{Env: o.Env, User: o.User, Cwd: o.Cwd, Timeout: wholeSeconds(o.Timeout),
			IdempotencyKey: o.IdempotencyKey})
		var failure *Error
		if errors.As(err, &failure) {
			result = failure.Result
		}
	}
	if o.Check {
		err = succeeded(command.String(), result, err)
	}
	return result, err
}

// A command on a WebSocket: input of any length, and output byte for byte.
type attached struct {
	socket    *websocket
	operation string
	outputs   [2]io.Writer
	kept      [2]limited
}

func (m *Sandbox) attach(ctx context.Context, command Command, o *ExecOptions) (*ExecResult, error) {
	if o.IdempotencyKey != "" {
		return nil, &Error{Code: ErrArgument, Message: "IdempotencyKey: not with Stdin, Stdout or Stderr, which cannot be sent twice"}
	}
	c := newCall("GET", execPath, m.id)
	socket, err := m.api.client.websocket(ctx, c)
	if err != nil {
		return nil, err
	}
	defer socket.close()
	a := &attached{socket: socket, operation: m.api.client.operation(c), outputs: [2]io.Writer{o.Stdout, o.Stderr}}
	for i := range a.outputs {
		if a.outputs[i] == nil {
			a.outputs[i] = &a.kept[i]
		}
	}
	c.body = map[string]any{"command": command, "stdin": o.Stdin != nil}
	c.setAll(&CmdRunOptions{Env: o.Env, User: o.User, Cwd: o.Cwd, Timeout: wholeSeconds(o.Timeout)})
	plan, err := json.Marshal(c.body)
	if err == nil {
		err = socket.send(wsText, plan)
	}
	if err != nil {
		return nil, lost(a.operation, err)
	}
	if o.Stdin != nil {
		go a.feed(o.Stdin) // ends with the input or the connection
	}
	return a.wait()
}

func (a *attached) feed(input io.Reader) {
	buffer := make([]byte, inputStep)
	for {
		n, err := input.Read(buffer)
		if n > 0 && a.socket.send(wsBinary, buffer[:n]) != nil {
			return
		}
		if err != nil {
			_ = a.socket.send(wsText, []byte(`{"type":"eof"}`))
			return
		}
	}
}

// The last message of the server.
type lastWord struct {
	Type      string `json:"type"`
	Code      int64  `json:"code"`
	Signal    string `json:"signal"`
	TimedOut  bool   `json:"timedOut"`
	OOMKilled bool   `json:"oomKilled"`
	Duration  int64  `json:"duration"`
	Error     string `json:"error"`
	Status    int    `json:"status"`
}

func (a *attached) wait() (*ExecResult, error) {
	for {
		kind, message, err := a.socket.next()
		if err != nil {
			return nil, lost(a.operation, err)
		}
		if kind == wsBinary {
			if len(message) == 0 || message[0] < 1 || message[0] > 2 {
				return nil, strange(a.operation, errors.New("output of no stream"))
			}
			if _, err := a.outputs[message[0]-1].Write(message[1:]); err != nil {
				return nil, err
			}
			continue
		}
		var last lastWord
		if err := json.Unmarshal(message, &last); err != nil {
			return nil, strange(a.operation, err)
		}
		switch last.Type {
		case "exit":
			return a.result(&last)
		case "error":
			return nil, &Error{Code: codeOf(last.Status), Status: last.Status, Operation: a.operation, Message: last.Error}
		}
	}
}

func (a *attached) result(last *lastWord) (*ExecResult, error) {
	result := &ExecResult{ExitCode: last.Code, Stdout: a.kept[0].String(), Stderr: a.kept[1].String(), StdoutTruncated: a.kept[0].isCut,
		StderrTruncated: a.kept[1].isCut, Duration: last.Duration, Signal: last.Signal, TimedOut: last.TimedOut, OOMKilled: last.OOMKilled}
	if last.TimedOut {
		result.ExitCode = -1
		return result, &Error{Code: ErrTimedOut, Status: statusOf(ErrTimedOut), Operation: a.operation, Message: "the command timed out", Result: result}
	}
	return result, nil
}

// limited keeps the beginning of what is written to it.
type limited struct {
	strings.Builder
	isCut bool
}

func (l *limited) Write(data []byte) (int, error) {
	if room := outputMax - l.Len(); len(data) > room {
		l.isCut = true
		_, _ = l.Builder.Write(data[:room])
		return len(data), nil
	}
	return l.Builder.Write(data)
}

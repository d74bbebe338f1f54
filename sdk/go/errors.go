package sandbox

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
)

// Code is the kind of a failure. It is an error itself, for errors.Is(err, sandbox.ErrNotFound).
type Code string

func (c Code) Error() string { return string(c) }

// Kinds of failure that are the client's own.
const (
	// An argument that cannot be sent, for example an empty id
	ErrArgument Code = "argument"
	// No answer: the server could not be reached, the connection broke, or the context ended
	ErrConnection Code = "connection"
	// An answer that is not what the interface says
	ErrProtocol Code = "protocol"
)

// Error is every failure of this package but [CommandError]. errors.Is finds its [Code], and its cause: context.DeadlineExceeded
// when the time was up.
type Error struct {
	Code Code
	// HTTP status of the answer; 0 without one
	Status int
	// What was tried: "POST http://localhost:3111/sandbox/sandboxes"
	Operation string
	// What the server or this package says about it
	Message string
	// What to do about it, when that is known
	Fix string
	// What a command had printed when it timed out; nil in all other failures
	Result *ExecResult
	// The cause, when there is one
	Err error
}

func (e *Error) Error() string {
	var text strings.Builder
	if e.Operation != "" {
		text.WriteString(e.Operation + ": ")
	}
	if e.Status != 0 {
		fmt.Fprintf(&text, "%d %s: ", e.Status, e.Code)
	}
	text.WriteString(e.Message)
	if e.Fix != "" {
		text.WriteString("; " + e.Fix)
	}
	return text.String()
}

func (e *Error) Unwrap() error { return e.Err }

// Is says whether target is the code of this error.
func (e *Error) Is(target error) bool {
	code, ok := target.(Code)
	return ok && code == e.Code
}

// CommandError is a command in the sandbox that a method stands for, such as git clone, which exited with another code than 0.
type CommandError struct {
	Command string
	Result  *ExecResult
}

func (e *CommandError) Error() string {
	said := e.Result.Stderr
	if said == "" {
		said = e.Result.Stdout
	}
	return fmt.Sprintf("%s failed: exit code %d: %s", e.Command, e.Result.ExitCode, strings.TrimSpace(said))
}

func succeeded(command string, result *ExecResult, err error) error {
	if err == nil && result.ExitCode != 0 {
		return &CommandError{command, result}
	}
	return err
}

// A failure that the server explained; anything but {"error": text} (a proxy's page) is given as it is.
func refused(operation string, status int, body []byte) *Error {
	e := &Error{Code: codeOf(status), Status: status, Operation: operation, Message: strings.TrimSpace(string(body))}
	var explained ErrorBody
	if json.Unmarshal(body, &explained) == nil && explained.Error != "" {
		e.Message, e.Result = explained.Error, explained.Result
	}
	switch e.Code {
	case ErrUnauthorized:
		e.Fix = "set Config.Token or III_SANDBOX_TOKEN"
	case ErrForbidden:
		e.Fix = "check the token and its role"
	}
	return e
}

// A call that got no answer.
func lost(operation string, err error) *Error {
	e := &Error{Code: ErrConnection, Operation: operation, Message: err.Error(), Err: err}
	var dns *net.DNSError
	var authority x509.UnknownAuthorityError
	switch {
	case errors.Is(err, context.Canceled):
		e.Message = "canceled"
	case errors.Is(err, context.DeadlineExceeded):
		e.Message = "no answer in time"
		e.Fix = "a larger Config.Timeout, or a context with a later deadline, waits longer"
	case errors.Is(err, syscall.ECONNREFUSED), errors.As(err, &dns):
		e.Fix = "is a server there? `iii serve` starts one; Config.URL or III_SANDBOX_URL names another"
	case errors.As(err, &authority):
		e.Fix = "trust its certificate with Config.CAFile or III_CA_CERT"
	}
	return e
}

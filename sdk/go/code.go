package sandbox

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"time"
)

// CodeOptions are those of [Sandbox.RunCode].
type CodeOptions struct {
	// python (when empty) and javascript keep their variables from one call to the next; typescript, go and bash do not
	Language string
	// A context of [ContextManager.Create], instead of the sandbox's own for that language
	ContextID string
	// Longest time, in whole seconds; 0: the server's own limit. Code that takes longer is interrupted. Only of python and javascript
	Timeout time.Duration
	// Get output as it comes; it is also in the result
	Stdout, Stderr io.Writer
	// Gets each result as it comes
	OnResult func(RichResult)
}

// Execution is what running code gave.
type Execution struct {
	// The value of the last expression as text; "" when there is none
	Text string
	// It, and everything that was displayed, in each form that it has: text, html, png …
	Results        []RichResult
	Stdout, Stderr string
	// The exception that ended the code; nil without one
	Error *CodeError
	// It was interrupted at its timeout
	TimedOut bool
	// There was more output than the server keeps
	Truncated bool
	Duration  time.Duration
}

// CodeError is an exception of the code that was run.
type CodeError struct {
	Name, Value string
	Traceback   []string
}

func (e *CodeError) Error() string { return e.Name + ": " + e.Value }

// Err is Error as an error: nil when the code ran to its end.
func (e *Execution) Err() error {
	if e.Error == nil {
		return nil
	}
	return e.Error
}

// Images are the figures and pictures among the results, as bytes of PNG or JPEG files.
func (e *Execution) Images() [][]byte {
	var found [][]byte
	for _, result := range e.Results {
		var text string
		if (result.Type == "png" || result.Type == "jpeg") && json.Unmarshal(result.Data, &text) == nil {
			if image, err := base64.StdEncoding.DecodeString(text); err == nil {
				found = append(found, image)
			}
		}
	}
	return found
}

// RunCode runs code in the sandbox's own context of a language, which it starts with the first call: variables, imports and
// functions live from call to call. That the code raises an exception is no error of the call: see Execution.Error.
func (m *Sandbox) RunCode(ctx context.Context, code string, options *CodeOptions) (*Execution, error) {
	o := CodeOptions{}
	if options != nil {
		o = *options
	}
	o.Language = first(o.Language, "python")
	if o.ContextID == "" && o.Language != "python" && o.Language != "javascript" {
		return m.runSnippet(ctx, code, &o)
	}
	where := first(o.ContextID, o.Language) // the name of a language is that of the sandbox's own context
	stream, err := m.Contexts.RunStream(ctx, where, code, &ContextExecuteStreamOptions{Timeout: wholeSeconds(o.Timeout)})
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	made := &Execution{}
	for stream.Next() {
		event := stream.Event()
		if err := made.add(&event, &o); err != nil {
			return nil, err
		}
	}
	return made, stream.Err()
}

func (e *Execution) add(event *ContextEvent, o *CodeOptions) error {
	switch event.Type {
	case "stdout":
		e.Stdout += event.Data
		return tell(o.Stdout, event.Data)
	case "stderr":
		e.Stderr += event.Data
		return tell(o.Stderr, event.Data)
	case "result":
		return e.addResult(event.Result, o)
	case "error":
		e.Error = &CodeError{event.ErrorName, event.ErrorValue, event.Traceback}
	case "end":
		e.TimedOut, e.Truncated = event.TimedOut, event.Truncated
		if event.ExecutionTime != nil {
			e.Duration = time.Duration(*event.ExecutionTime) * time.Millisecond
		}
	}
	return nil
}

func (e *Execution) addResult(result *RichResult, o *CodeOptions) error {
	if result == nil {
		return &Error{Code: ErrProtocol, Message: "a result without a value"}
	}
	e.Results = append(e.Results, *result)
	if result.Type == "text" {
		if err := json.Unmarshal(result.Data, &e.Text); err != nil {
			return &Error{Code: ErrProtocol, Message: "a text that is none", Err: err}
		}
	}
	if o.OnResult != nil {
		o.OnResult(*result)
	}
	return nil
}

func tell(to io.Writer, text string) error {
	if to == nil {
		return nil
	}
	_, err := io.WriteString(to, text)
	return err
}

// Languages without contexts: a fresh interpreter.
func (m *Sandbox) runSnippet(ctx context.Context, code string, o *CodeOptions) (*Execution, error) {
	if o.Timeout != 0 {
		return nil, &Error{Code: ErrArgument, Message: "Timeout: only python and javascript take one", Fix: "run the program with Exec"}
	}
	result, err := m.Interpreter.Run(ctx, code, o.Language)
	if err != nil {
		return nil, err
	}
	made := &Execution{Stdout: result.Output, Duration: time.Duration(result.ExecutionTime) * time.Millisecond}
	if result.Error != nil {
		made.Stderr = *result.Error
		made.Error = &CodeError{Name: "Error", Value: *result.Error}
	}
	if err := tell(o.Stdout, made.Stdout); err != nil {
		return nil, err
	}
	return made, tell(o.Stderr, made.Stderr)
}

// The server counts in seconds: what is less than one counts as one.
func wholeSeconds(d time.Duration) *int64 {
	if d == 0 {
		return nil
	}
	return Int(int64((d + time.Second - 1) / time.Second))
}

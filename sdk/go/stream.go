package sandbox

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Longest line that is kept: a server that never ends a line must not fill the memory.
const lineMax = 64 << 20

// Stream is what a call gives as it happens. Close it to leave it: that disconnects, and stops what the server does for it.
//
//	defer stream.Close()
//	for stream.Next() {
//		fmt.Print(stream.Event().Data)
//	}
//	return stream.Err()
type Stream[T any] struct {
	body      io.ReadCloser
	lines     *bufio.Reader
	operation string
	event     T
	err       error
	ended     bool
}

func listen[T any](ctx context.Context, c *Client, call *call) (*Stream[T], error) {
	response, err := c.send(ctx, call, "text/event-stream")
	if err != nil {
		return nil, err
	}
	return newStream[T](response.Body, c.operation(call)), nil
}

func newStream[T any](body io.ReadCloser, operation string) *Stream[T] {
	return &Stream[T]{body: body, lines: bufio.NewReader(body), operation: operation}
}

// Next waits for the next event; false when there is none, because the stream ended or failed: see [Stream.Err].
func (s *Stream[T]) Next() bool {
	for !s.ended {
		data, err := s.line()
		if err != nil {
			s.end(err)
		}
		if data == nil {
			continue
		}
		var event T
		if err := s.parse(data, &event); err != nil {
			s.end(err)
			return false
		}
		s.event = event
		return true
	}
	return false
}

// Event is the one that [Stream.Next] found.
func (s *Stream[T]) Event() T { return s.event }

// Err is why the stream failed; nil when the server ended it, or Close.
func (s *Stream[T]) Err() error { return s.err }

// Close leaves the stream. It may be called more than once.
func (s *Stream[T]) Close() error {
	s.ended = true
	return s.body.Close()
}

// All gives every event to yield until that returns false, and the error at the end, if any. It closes the stream. As of Go 1.23:
// for event, err := range stream.All() { … }
func (s *Stream[T]) All() func(yield func(T, error) bool) {
	return func(yield func(T, error) bool) {
		defer s.Close()
		for s.Next() {
			if !yield(s.event, nil) {
				return
			}
		}
		if s.err != nil {
			var none T
			yield(none, s.err)
		}
	}
}

func (s *Stream[T]) end(err error) {
	s.ended = true
	if err != io.EOF {
		s.err = err
	}
	_ = s.body.Close()
}

// What stands behind data: in the next line, nil when it is another line. The rest of the protocol (comments, names of events)
// is not used. A last line without its newline comes together with io.EOF.
func (s *Stream[T]) line() ([]byte, error) {
	var line []byte
	for {
		piece, err := s.lines.ReadSlice('\n')
		if len(line)+len(piece) > lineMax {
			return nil, strange(s.operation, fmt.Errorf("a line is longer than %d bytes", lineMax))
		}
		line = append(line, piece...)
		if err == bufio.ErrBufferFull {
			continue
		}
		if err != nil && err != io.EOF {
			return nil, lost(s.operation, err)
		}
		if !bytes.HasPrefix(line, []byte("data:")) {
			return nil, err
		}
		if line = bytes.TrimSpace(line[len("data:"):]); len(line) == 0 {
			return nil, err
		}
		return line, err
	}
}

// {"type": "error", "error": text, "code": …} is how a stream that has begun fails.
func (s *Stream[T]) parse(data []byte, event *T) error {
	var failure struct {
		Type  string  `json:"type"`
		Error *string `json:"error"`
		Code  Code    `json:"code"`
	}
	if json.Unmarshal(data, &failure) == nil && failure.Type == "error" && failure.Error != nil {
		return &Error{Code: failure.Code, Status: statusOf(failure.Code), Operation: s.operation, Message: *failure.Error}
	}
	if bytes.Equal(data, []byte("null")) {
		return strange(s.operation, errors.New("an event is null"))
	}
	if err := json.Unmarshal(data, event); err != nil {
		return strange(s.operation, err)
	}
	return nil
}

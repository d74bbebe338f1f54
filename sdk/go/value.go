package sandbox

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Command is what to run: a [Shell] line, or [Words] that are run without a shell.
type Command struct {
	line  string
	words []string
}

// Shell is a line for the sandbox's shell.
func Shell(line string) Command { return Command{line: line} }

// Words are a program and its arguments, run as they are.
func Words(words ...string) Command {
	return Command{words: append([]string{}, words...)}
}

func (c Command) String() string {
	return c.line + strings.Join(c.words, " ")
}

// MarshalJSON gives a text or a list.
func (c Command) MarshalJSON() ([]byte, error) {
	if c.words != nil {
		return json.Marshal(c.words)
	}
	return json.Marshal(c.line)
}

// UnmarshalJSON takes a text or a list.
func (c *Command) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) {
		*c = Words()
		return json.Unmarshal(data, &c.words)
	}
	return json.Unmarshal(data, &c.line)
}

// OneOrMany is an answer about one thing, or a list when several were asked for.
type OneOrMany[T any] []T

// UnmarshalJSON takes one or a list.
func (m *OneOrMany[T]) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) {
		return json.Unmarshal(data, (*[]T)(m))
	}
	*m = make([]T, 1)
	return json.Unmarshal(data, &(*m)[0])
}

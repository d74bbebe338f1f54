package main

import (
	"encoding/json"
	"fmt"
	"reflect"

	"iii.invalid/sandbox"
)

// Arguments of a scenario's step, by their names on the wire.
type args map[string]json.RawMessage

type badArgument struct{ error }

// A required argument.
func get[T any](a args, name string) T {
	var value T
	if err := json.Unmarshal(a[name], &value); err != nil {
		panic(badArgument{fmt.Errorf("%s: %w", name, err)})
	}
	return value
}

// One that may be absent.
func optional[T any](a args, name string) T {
	if a[name] == nil {
		var none T
		return none
	}
	return get[T](a, name)
}

// All optional ones.
func options[T any](a args) *T {
	text, err := json.Marshal(a)
	made := new(T)
	if err == nil {
		err = json.Unmarshal(text, made)
	}
	if err != nil {
		panic(badArgument{err})
	}
	if key := reflect.ValueOf(made).Elem().FieldByName("IdempotencyKey"); key.IsValid() {
		key.SetString(optional[string](a, "Idempotency-Key"))
	}
	return made
}

func box(c *sandbox.Client, a args) *sandbox.Sandbox {
	return c.Handle(get[string](a, "id"))
}

func done(err error) (any, error) {
	return map[string]any{"success": true}, err
}

// The next event of a stream; nil at its end.
type source func() (any, error)

func events[T any](stream *sandbox.Stream[T], err error) (source, error) {
	return func() (any, error) {
		if stream.Next() {
			return stream.Event(), nil
		}
		return nil, stream.Err()
	}, err
}

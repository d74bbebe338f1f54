package main

import (
	"context"
	"errors"
	"io"

	"iii.invalid/sandbox"
)

// Operations whose methods are written by hand, as a user calls them.
func byHand(ctx context.Context, c *sandbox.Client, name string, a args) (value any, err error, known bool) {
	switch name {
	case "sandbox_create":
		made, err := c.Create(ctx, options[sandbox.CreateOptions](a))
		value, err := described(made, err)
		return value, err, true
	case "sandbox_get":
		found, err := c.Connect(ctx, get[string](a, "id"))
		value, err := described(found, err)
		return value, err, true
	case "sandbox_clone":
		made, err := box(c, a).Clone(ctx, optional[string](a, "name"))
		value, err := described(made, err)
		return value, err, true
	case "snapshot_clone":
		made, err := c.Snapshots.Clone(ctx, get[string](a, "snapshotId"), optional[string](a, "name"))
		value, err := described(made, err)
		return value, err, true
	case "sandbox_fork":
		made, err := box(c, a).Fork(ctx, options[sandbox.SandboxForkOptions](a))
		infos := make([]sandbox.SandboxInfo, len(made))
		for i := range made {
			infos[i] = made[i].Info()
		}
		return map[string]any{"sandboxes": infos}, err, true
	case "fs_info":
		if a["path"] != nil {
			value, err = box(c, a).Filesystem.Info(ctx, get[string](a, "path"))
		} else {
			value, err = box(c, a).Filesystem.InfoAll(ctx, optional[[]string](a, "paths"))
		}
		return value, err, true
	case "terminal_talk":
		value, err = talk(ctx, c, a)
		return value, err, true
	}
	return nil, nil, false
}

func described(box *sandbox.Sandbox, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return box.Info(), nil
}

func talk(ctx context.Context, c *sandbox.Client, a args) (any, error) {
	terminal, err := box(c, a).Terminal.Open(ctx, nil)
	if err != nil {
		return nil, err
	}
	if _, err := io.WriteString(terminal, get[string](a, "input")); err != nil {
		return nil, err
	}
	_, err = terminal.ReadUntil(get[string](a, "until"))
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return map[string]any{"found": false}, nil
	}
	if err == nil {
		err = terminal.Close()
	}
	return map[string]any{"found": true}, err
}

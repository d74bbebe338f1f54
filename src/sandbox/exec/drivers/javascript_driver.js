/* Serves one JavaScript context inside a sandbox: a node process of its own, whose globals live from call to call.
 * Frames as in python_driver.py; the channel to the server is descriptor 3, since 1 and 2 belong to subprocesses. */
(function (require) {
  'use strict';
  const fs = require('fs');
  const vm = require('vm');
  const util = require('util');
  const { createRequire } = require('module');
  const HEADER = 9;
  const PIECE = 4096 - HEADER;
  const LINK = 3;
  const RICH = ['html', 'markdown', 'svg', 'png', 'jpeg', 'latex', 'json'];
  let number = 0;
  let count = 0;
  let stop = null; // ends the wait for a promise

  function send(letter, payload) {
    const head = Buffer.alloc(HEADER);
    head.writeUInt32BE(payload.length, 0);
    head.writeUInt32BE(number, 4);
    head.write(letter, 8, 'latin1');
    let data = Buffer.concat([head, payload]);
    while (data.length) data = data.subarray(fs.writeSync(LINK, data));
  }

  function sendLong(letter, value) {
    let payload = Buffer.from(JSON.stringify(value));
    for (; payload.length > PIECE; payload = payload.subarray(PIECE)) send(letter, payload.subarray(0, PIECE));
    send(letter.toUpperCase(), payload);
  }

  function capture(stream, letter) {
    stream.write = (chunk, encoding, done) => {
      const coding = typeof encoding === 'string' ? encoding : 'utf8';
      const data = typeof chunk === 'string' ? Buffer.from(chunk, coding) : Buffer.from(chunk);
      for (let at = 0; at < data.length; at += PIECE) send(letter, data.subarray(at, at + PIECE));
      const after = typeof encoding === 'function' ? encoding : done;
      if (typeof after === 'function') process.nextTick(after);
      return true;
    };
  }

  function clean(text) {
    return (text.toWellFormed ? text.toWellFormed() : Buffer.from(text).toString()).replace(/\0/g, '\\x00');
  }

  function result(type, data) {
    if (data === undefined || data === null) return;
    if (data instanceof Uint8Array) data = Buffer.from(data).toString('base64');
    sendLong('r', { type, data: typeof data === 'string' ? clean(data) : data });
  }

  function display(...values) {
    for (const value of values) {
      result('text', util.inspect(value));
      if (value === null || typeof value !== 'object') continue;
      for (const type of RICH)
        if (typeof value[`_repr_${type}_`] === 'function') result(type, value[`_repr_${type}_`]());
    }
  }

  /* A top-level await makes the whole cell a function: what it declares with let and const is then its own. */
  function compile(code, filename) {
    try {
      return new vm.Script(code, { filename });
    } catch (error) {
      if (!/\bawait\b/.test(code) || !(error instanceof SyntaxError)) throw error;
      try {
        return new vm.Script(`(async () => (${code.replace(/;?\s*$/, '')}\n))()`, { filename });
      } catch (_) {
        return new vm.Script(`(async () => {${code}\n})()`, { filename });
      }
    }
  }

  async function settle(value) {
    if (!util.types.isPromise(value)) return value;
    const stopped = new Promise((_, fail) => {
      stop = () => fail(new Error('Script execution was interrupted by `SIGINT`'));
    });
    try {
      return await Promise.race([value, stopped]);
    } finally {
      stop = null;
    }
  }

  function describe(error) {
    if (!(error instanceof Error) && !util.types.isNativeError(error)) {
      const text = clean(util.inspect(error));
      return { errorName: 'Thrown', errorValue: text, traceback: [text] };
    }
    const ours = /<interpreter>|node:(vm|events|internal)/;
    const lines = String(error.stack || error).split('\n').filter((line) => !ours.test(line));
    return { errorName: clean(String(error.name)), errorValue: clean(String(error.message)), traceback: lines.map(clean) };
  }

  async function execute(code) {
    count += 1;
    const done = { executionCount: count, errorName: null, errorValue: null, traceback: [] };
    try {
      const value = await settle(compile(code, `<cell ${count}>`).runInThisContext({ breakOnSigint: true }));
      if (value !== undefined) display(value);
    } catch (error) {
      Object.assign(done, describe(error));
    }
    sendLong('d', done);
  }

  function enter(plan) {
    for (const key of Object.keys(process.env)) delete process.env[key];
    Object.assign(process.env, plan.env);
    process.chdir(plan.cwd);
    globalThis.require = createRequire(`${process.cwd()}/`);
    globalThis.display = display;
    capture(process.stdout, 'o');
    capture(process.stderr, 'e');
  }

  function take(letter, payload) {
    if (letter === 'x') {
      execute(payload.toString());
      return;
    }
    if (letter !== 'n') return;
    try {
      enter(JSON.parse(payload.toString()));
    } catch (error) {
      send('f', Buffer.from(String(error.message)).subarray(0, PIECE));
      process.exit(0);
    }
    send('y', Buffer.from(JSON.stringify({ pid: process.pid })));
  }

  let pending = Buffer.alloc(0);
  process.stdin.on('data', (data) => {
    pending = Buffer.concat([pending, data]);
    while (pending.length >= HEADER && pending.length >= HEADER + pending.readUInt32BE(0)) {
      const end = HEADER + pending.readUInt32BE(0);
      number = pending.readUInt32BE(4);
      const letter = pending.toString('latin1', 8, 9);
      const payload = pending.subarray(HEADER, end);
      pending = pending.subarray(end);
      take(letter, payload);
    }
  });
  process.stdin.on('end', () => process.exit(0));
  process.on('SIGINT', () => { if (stop) stop(); });
  process.on('uncaughtException', (error) => process.stderr.write(`Uncaught ${(error && error.stack) || util.inspect(error)}\n`));
})

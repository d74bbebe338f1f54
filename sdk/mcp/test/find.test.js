import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { find, places } from '../bin/find.js';

const folder = mkdtempSync(join(tmpdir(), 'iii-mcp-'));
const program = join(folder, 'iii');
const bin = fileURLToPath(new URL('../bin/iii-sandbox-mcp.js', import.meta.url));
writeFileSync(program, '#!/bin/sh\necho "$@"\ncat\nexit 7\n');
chmodSync(program, 0o755);
after(() => rmSync(folder, { recursive: true }));

function run(env, ...args) {
  return spawnSync(process.execPath, [bin, ...args], { env, input: 'in', encoding: 'utf8' });
}

test('a named program is the only place', () => {
  assert.deepEqual(places({ III_BIN: '/a/b', PATH: folder }), ['/a/b']);
  assert.equal(find({ III_BIN: '/a/b', PATH: folder }), undefined);
  assert.equal(find({ III_BIN: program }), program);
});

test('the PATH comes before the source tree', () => {
  assert.equal(find({ PATH: `/nowhere:${folder}` }), program);
  assert.match(places({ PATH: '' }).at(-1), /build\/iii$/);
});

test('arguments, input, output and exit code are handed on', () => {
  const done = run({ PATH: folder + ':/bin:/usr/bin' }, '--server', 'http://x');
  assert.equal(done.stdout, 'mcp --server http://x\nin');
  assert.equal(done.status, 7);
});

test('without a program it says so', () => {
  const done = run({ III_BIN: join(folder, 'none') });
  assert.equal(done.status, 1);
  assert.equal(done.stdout, '');
  assert.match(done.stderr, /III_BIN names .*none, which cannot be executed/);
});

test('a program that a signal ended is told as a shell does', () => {
  writeFileSync(program, '#!/bin/sh\nkill -TERM $$\n');
  assert.equal(run({ III_BIN: program, PATH: '/bin:/usr/bin' }).status, 143);
});

#!/usr/bin/env node
// Starts `iii mcp` in our place: its standard input, output and error are ours, and so is its end.
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import process from 'node:process';

import { find } from './find.js';

const program = find(process.env);
if (!program) {
  const wanted = process.env.III_BIN
    ? `III_BIN names ${process.env.III_BIN}, which cannot be executed`
    : 'no `iii` in the PATH; set III_BIN to the program, or put it into the PATH';
  console.error(`iii-sandbox-mcp: ${wanted}`);
  process.exit(1);
}

const child = spawn(program, ['mcp', ...process.argv.slice(2)], { stdio: 'inherit' });
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
child.on('error', (error) => {
  console.error(`iii-sandbox-mcp: ${program}: ${error.message}`);
  process.exit(1);
});
child.on('exit', (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : code));

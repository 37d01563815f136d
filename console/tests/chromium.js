/** The Chromium of all tests in a browser. */

import { existsSync } from 'node:fs';

/**
 * Debian's build for tests comes first: the same engine, of the same source package, but a page needs no window around it,
 * whose bars and buttons would be drawn as well. With windows, a page that is empty takes a second of processor time, and
 * without them a fifth of that.
 */
const PROGRAMS = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'];

export const EXECUTABLE = process.env['CHROMIUM_BIN'] ?? PROGRAMS.find(existsSync) ?? PROGRAMS[0];

export const ARGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const css = readFileSync(new URL('../../src/style/tokens.css', import.meta.url), 'utf8');

/** Opaque colours of one theme by token name. */
function palette(theme: 'light' | 'dark'): Map<string, string> {
  const found = css.matchAll(/--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);/g);
  return new Map(Array.from(found, (m) => [m[1]!, (theme === 'light' ? m[2] : m[3])!]));
}

/** WCAG's relative luminance of `#rrggbb`. */
function luminance(hex: string): number {
  const [r, g, b] = [1, 3, 5].map((at) => {
    const part = parseInt(hex.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
}

function contrast(a: string, b: string): number {
  const [dark, light] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (light! + 0.05) / (dark! + 0.05);
}

const SURFACES = ['canvas', 'page', 'panel', 'raised', 'sunken', 'hover'];
const STATUS = ['ok', 'warn', 'bad', 'info', 'wait'];
const KINDS = ['trigger', 'flow', 'data', 'action', 'code', 'human'].map((kind) => `kind-${kind}`);
const CODE = ['keyword', 'string', 'number', 'name', 'comment'].map((part) => `code-${part}`);

const pairs: [text: string, surface: string, atLeast: number][] = [
  ...['text', 'dim', 'accent', ...STATUS].flatMap((text) =>
    SURFACES.map((surface): [string, string, number] => [text, surface, 4.5]),
  ),
  ...STATUS.map((status): [string, string, number] => [status, `${status}-soft`, 4.5]),
  ...STATUS.map((status): [string, string, number] => ['text', `${status}-soft`, 4.5]),
  ...CODE.flatMap((part) => ['sunken', 'raised'].map((on): [string, string, number] => [part, on, 4.5])),
  ['on-accent', 'accent', 4.5],
  ['on-accent', 'accent-hover', 4.5],
  ['accent', 'accent-soft', 4.5],
  ['text', 'accent-soft', 4.5],
  ['text', 'selection', 4.5],
  ['text', 'pressed', 4.5],
  ['inverse', 'text', 4.5],
  // What is not text: borders of controls, focus, icons of nodes.
  ...['line-strong', 'focus', ...KINDS].flatMap((part) =>
    ['canvas', 'page', 'panel', 'raised', 'sunken'].map((on): [string, string, number] => [part, on, 3]),
  ),
];

describe.each(['light', 'dark'] as const)('%s theme', (theme) => {
  const colours = palette(theme);
  it.each(pairs)('%s on %s has a contrast of at least %d', (text, surface, atLeast) => {
    const [front, back] = [colours.get(text), colours.get(surface)];
    expect(front, text).toBeDefined();
    expect(back, surface).toBeDefined();
    expect(contrast(front!, back!)).toBeGreaterThanOrEqual(atLeast);
  });
});

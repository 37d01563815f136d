import { spawnSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { bodyOf, drawnBody, type Language, readBody, withBody } from '$/screens/deployment/snippet-body';
import type { GraphNode } from '$/graph/model';
import { doc, graph } from './graph/support';

const AWKWARD = { name: '🦀 It\'s "Ann" \\ `$HOME` $(id) %s\n\u007fé', total: 2.5, lines: ['a', "b'"] };

/** How the server's snippets begin the line with the body, and what prints it. */
const LANGUAGES: readonly [Language, line: (body: string) => string, shows: string, run: string[]][] = [
  ['curl', (body) => `body=${body}`, `printf '%s' "$body"`, ['sh', '-c']],
  ['python', (body) => `body = b${body}`, 'print(body.decode(), end="")', ['python3', '-c']],
  ['javascript', (body) => `const body = ${body};`, 'process.stdout.write(body)', ['node', '-e']],
];

describe('snippets', () => {
  test.each(LANGUAGES)(
    'of %s send whatever the body says',
    (language, line, shows, [program = '', ...args]) => {
      const sent = (greeting: string) => {
        const { text } = withBody(line(greeting), language, { value: AWKWARD, from: '' }, 'heddle');
        return spawnSync(program, [...args, `${text}\n${shows}`], { encoding: 'utf8' }).stdout;
      };
      expect(JSON.parse(sent(`'{"hello":"world"}'`))).toEqual(AWKWARD);
      const form = Object.fromEntries(new URLSearchParams(sent(`'hello=world'`)));
      expect(form).toEqual({ name: AWKWARD.name, total: '2.5', lines: JSON.stringify(AWKWARD.lines) });
    },
  );
  test('of PowerShell double their quotes', () => {
    const { text } = withBody(`$body = '{"hello":"world"}'`, 'pwsh', { value: "it's", from: '' }, 'none');
    expect(text).toBe(`$body = '"it''s"'`);
  });
  test('stay as they are where nothing is known, or the body is signed already', () => {
    const snippet = `body='{"hello":"world"}'`;
    expect(withBody(snippet, 'curl', { value: undefined, from: 'x' }, 'heddle')).toEqual({
      text: snippet,
      from: '',
    });
    expect(withBody(snippet, 'curl', { value: 1, from: 'x' }, 'twilio')).toEqual({ text: snippet, from: '' });
    expect(withBody(`body='hello world'`, 'curl', { value: 1, from: 'x' }, 'heddle').from).toBe('');
  });
});

test('a body is taken from a pin, the example, or what is read', () => {
  const drawn = graph('t:OnWebhook a:Transform', 't>a');
  const [t, a] = drawn.nodes as [GraphNode, GraphNode];
  const reading = { ...a, data: { parameters: { value: '{{ $trigger.body.id }}' } } };
  const of = (data: NonNullable<GraphNode['data']>) => doc({ ...drawn, nodes: [{ ...t, data }, reading] });
  expect(drawnBody(of({ pin: { value: { body: 1 } }, exampleEvent: { body: 2 } }), 't')?.value).toBe(1);
  expect(drawnBody(of({ exampleEvent: { body: 2 } }), 't')?.value).toBe(2);
  expect(drawnBody(of({}), 't')).toBeUndefined();
  expect(readBody(of({}), 't')?.value).toEqual({ id: 'example' });
  expect(bodyOf({ body: 'x'.repeat(5_000) })).toBeUndefined();
  expect(bodyOf({ query: {} })).toBeUndefined();
});

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Vocabulary } from '../../../src/inspector/api';
import { caretOf } from '../../../src/inspector/chain';
import { complete } from '../../../src/inspector/complete';
import { fixOf, routeOf } from '../../../src/inspector/findings';
import { inserted, insertion, reference } from '../../../src/inspector/insert';
import { best, NO_SURROUNDINGS, type Surroundings } from '../../../src/inspector/sample';
import { expressionAt, pieces } from '../../../src/inspector/template';

const around: Surroundings = {
  ...NO_SURROUNDINGS,
  input: {
    value: { body: { total: 59.9, 'unit price': 2, lines: [{ sku: 'DESK-1', price: 10 }] }, method: 'POST' },
    kind: 'run',
    from: 'run of 14:02',
  },
  upstream: [
    {
      id: 'fetch',
      name: 'Fetch order',
      type: 'HttpRequest',
      reference: '$("Fetch order")',
      sample: { value: { status: 200, body: [1] }, kind: 'pin', from: 'the pin' },
    },
    { id: 'n2', name: 'Same', type: 'If', reference: '$nodes["n2"]' },
  ],
  variables: ['REGION'],
  secrets: ['SHOP_KEY'],
};
const vocabulary: Vocabulary = {
  names: [],
  functions: [
    { name: 'parseInt', arguments: ['text', 'radix?'], about: 'the whole number' },
    { name: 'Math.max', arguments: ['...numbers'], about: 'the largest' },
  ],
  types: [
    {
      type: 'array',
      methods: [{ name: 'map', arguments: ['function'], about: 'what it gives of each' }],
      properties: [{ name: 'length', about: 'the number of elements' }],
    },
    {
      type: 'string',
      methods: [{ name: 'trim', arguments: [], about: 'without space around it' }],
      properties: [],
    },
    {
      type: 'any',
      methods: [{ name: 'isEmpty', arguments: [], about: 'whether it is empty' }],
      properties: [],
    },
    { type: 'dateTime', methods: [], properties: [{ name: 'year', about: 'the year' }] },
  ],
};
const labels = (text: string, scope: 'run' | 'item' | 'pair' = 'run') =>
  complete(text, around, scope, vocabulary)?.suggestions.map(({ label }) => label) ?? [];

describe('pieces', () => {
  test.each([
    ['plain', [['text', 'plain']]],
    [
      'Hi {{ $input.name }}!',
      [
        ['text', 'Hi '],
        ['expression', ' $input.name '],
        ['text', '!'],
      ],
    ],
    ['{{ "}}" }}', [['expression', ' "}}" ']]],
    [
      '{{ {a: {b: 1}} }}x',
      [
        ['expression', ' {a: {b: 1}} '],
        ['text', 'x'],
      ],
    ],
    ['{{ `a ${ {x: 1}.x } }}` }}', [['expression', ' `a ${ {x: 1}.x } }}` ']]],
    ['{{ $input.match(/}}/) }}', [['expression', ' $input.match(/}}/) ']]],
    [
      '{{ a / b }} / {{ c }}',
      [
        ['expression', ' a / b '],
        ['text', ' / '],
        ['expression', ' c '],
      ],
    ],
    ['{{ open', [['expression', ' open']]],
    ['', []],
  ])('%s', (text, expected) => {
    expect(pieces(text).map(({ kind, from, to }) => [kind, text.slice(from, to)])).toEqual(expected);
  });

  test('any text is covered in order', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('{', '}', '"', '`', '$', '/', 'a', ' ', '(', ')', '\\') }),
        (text) => {
          let at = 0;
          for (const { from, to } of pieces(text)) {
            expect(from).toBeGreaterThanOrEqual(at);
            expect(to).toBeGreaterThanOrEqual(from);
            expect(to).toBeLessThanOrEqual(text.length);
            at = to;
          }
        },
      ),
    );
  });

  test('the caret between braces is inside', () => {
    expect(expressionAt('{{}}', 2)).toMatchObject({ from: 2, to: 2 });
    expect(expressionAt('a {{ b }}', 1)).toBeUndefined();
  });
});

describe('inserting values', () => {
  test('the right expression for its place', () => {
    expect(reference({ kind: 'input' }, ['body', 'lines', 0, 'unit price'])).toBe(
      '$input.body.lines[0]["unit price"]',
    );
    const node = { kind: 'node', reference: '$("Fetch order")' } as const;
    expect(reference(node, ['status'])).toBe('$("Fetch order").status');
    expect(reference({ kind: 'item' }, ['sku'])).toBe('$item.sku');
  });

  test('with braces outside of an expression and without inside', () => {
    const into = (text: string, at: number) => inserted(text, insertion(text, at, at, '$input.a'));
    expect(into('', 0)).toBe('{{ $input.a }}');
    expect(into('Hi ', 3)).toBe('Hi {{ $input.a }}');
    expect(into('{{  }}', 3)).toBe('{{ $input.a }}');
    const outside = insertion('Hi ', 3, 3, '$input.a');
    expect(inserted('Hi ', outside).slice(outside.caret)).toBe(' }}');
  });
});

describe('completion', () => {
  test('names, with nodes before this one', () => {
    expect(labels('')).toEqual(
      expect.arrayContaining(['$input', '$trigger', '$("Fetch order")', '$nodes["n2"]', 'parseInt']),
    );
    expect(labels('')).not.toContain('$item');
    expect(labels('', 'item')).toEqual(expect.arrayContaining(['$item', '$index']));
    expect(labels('', 'pair')).toEqual(expect.arrayContaining(['$a', '$b']));
  });

  test('fields of real data, with where they are from', () => {
    const found = complete('$input.body.to', around, 'run', null);
    expect(found?.from).toBe('$input.body.'.length);
    expect(found?.suggestions.map(({ label }) => label)).toEqual(['total', 'unit price', 'lines']);
    expect(found?.suggestions[0]).toMatchObject({ detail: '59.9', info: 'Number. From run of 14:02.' });
    expect(found?.suggestions[1]).toMatchObject({ insert: '["unit price"]', back: 1 });
  });

  test.each([
    ['$("Fetch order").', ['status', 'body']],
    ['$nodes["fetch"].', ['status', 'body']],
    ['$node["Fetch order"].json.', ['status', 'body']],
    ['$json.body.lines[0].', ['sku', 'price']],
    ['$input?.body?.lines?.[0]?.', ['sku', 'price']],
    ['$input.body.lines.first().', ['sku', 'price']],
    ['$input.body.lines.map(line => line.', ['sku', 'price']],
    ['$input.body.lines.reduce((sum, line) => sum + line.', ['sku', 'price']],
    ['1 + ($input.body.total > 3 ? $input.', ['body', 'method']],
    ['`total: ${$input.', ['body', 'method']],
    ['$vars.', ['REGION']],
    ['$secrets.', ['SHOP_KEY']],
    ['Math.', ['max']],
    ['$("', ['Fetch order', 'Same']],
    ['$nodes["', ['fetch', 'n2']],
    ['$input["', ['body', 'method']],
  ])('%s', (text, expected) => {
    expect(labels(text)).toEqual(expect.arrayContaining(expected));
  });

  test('nothing in a string or after an unknown name', () => {
    expect(labels('"text ')).toEqual([]);
    expect(complete('unknown.', around, 'run', null)).toBeUndefined();
    expect(labels('1.')).toEqual([]);
  });

  test('methods by the kind of value, when the server tells them', () => {
    expect(labels('$input.body.lines.')).toEqual(['[0]', 'length', 'map', 'isEmpty']);
    expect(labels('$now.')).toEqual(['year']);
    expect(labels('')).toEqual(expect.arrayContaining(['Math', 'parseInt']));
    expect(labels('$input.unknown.')).toEqual(['isEmpty']);
    expect(labels('$input.method.')).toContain('trim');
    expect(complete('$input.method.', around, 'run', null)).toBeUndefined();
  });

  test('any text is survived', () => {
    fc.assert(
      fc.property(
        fc.string({
          unit: fc.constantFrom('$', '(', ')', '[', ']', '"', '.', 'a', '=>', '{', '}', '`', ' '),
        }),
        (text) => {
          caretOf(text);
          complete(text, around, 'run', vocabulary);
        },
      ),
    );
  });

  test('the best sample is the nearest to what really happened', () => {
    const sample = (kind: 'pin' | 'run' | 'example') => ({ value: kind, kind, from: kind });
    expect(best([sample('example'), undefined, sample('run')])?.kind).toBe('run');
    expect(best([sample('run'), sample('pin')])?.kind).toBe('pin');
    expect(best([undefined])).toBeUndefined();
  });
});

describe('findings', () => {
  const fixed = (text: string, span: [number, number], help: string) => {
    const fix = fixOf(text, { span: { start: span[0], end: span[1] }, help });
    return fix && text.slice(0, fix.span.start) + fix.text + text.slice(fix.span.end);
  };
  test('a quick fix takes the name that was meant', () => {
    expect(fixed('{{ $inptu.a }}', [3, 9], 'did you mean `$input`?')).toBe('{{ $input.a }}');
    expect(fixed('{{ $("Fech").a }}', [3, 12], 'did you mean `Fetch`?')).toBe('{{ $("Fetch").a }}');
    expect(fixed('{{ $input.a.trimm() }}', [3, 19], 'did you mean `trim`?')).toBe('{{ $input.a.trim() }}');
    expect(fixed('{{ Math.maxx }}', [3, 12], 'did you mean `max`?')).toBe('{{ Math.max }}');
    expect(fixed('{{ a }}', [3, 4], 'connect the nodes')).toBeUndefined();
    expect(fixOf('{{ a }}', { help: 'did you mean `b`?' })).toBeUndefined();
  });

  test('one expression for the engine takes the text there', () => {
    const found = [
      { parameter: 'text', evaluation: 'compiled' as const, reasons: [] },
      { parameter: 'text', evaluation: 'engine' as const, reasons: [{ what: 'a regular expression' }] },
    ];
    expect(routeOf(found, 'text')).toEqual({ route: 'engine', reasons: ['a regular expression'] });
    expect(routeOf(found, 'other')).toBeUndefined();
  });
});

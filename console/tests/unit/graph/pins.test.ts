import { describe, expect, test } from 'vitest';
import { commandsOf } from '../../../src/graph/commands';
import { DocumentStore } from '../../../src/graph/document';
import { graphOf, type Doc, type Pin } from '../../../src/graph/model';
import { hasPins, pinEdit, pinnedNodes, readPin, unpinAllEdit, writtenPin } from '../../../src/graph/pins';
import { Session } from '../../../src/graph/session';
import { catalogue, doc, graph } from './support';

const INNER: Doc = doc(graph('t:OnManual p:Pay z:NoOp', 't>p p>z'), {
  Pay: { kind: 'graph', graphData: graph('c:OnCall q:NoOp r:Return', 'c>q q>r') },
});
const given = (...names: string[]) =>
  names.map((name) => {
    const [definition, node = ''] = name.includes('/') ? name.split('/') : [null, name];
    return { definition: definition ?? null, node, pin: { value: `of ${name}`, from: 'the last test' } };
  });
const pinsIn = (of: Doc) => pinnedNodes(of);

test('pins are read back from the form of test runs', () => {
  const pins: Pin[] = [
    { value: 1 },
    { value: null },
    { value: { a: 1 }, port: 'error' },
    { value: { $pin: true, value: 2 } },
  ];
  for (const pin of pins) expect(readPin(writtenPin(pin))).toEqual(pin);
});

describe('pinning several nodes', () => {
  const open = () => {
    const session = new Session(new DocumentStore(INNER), catalogue);
    session.given = () => given('z', 'Pay/q');
    return session;
  };

  test('is one step, which leaves pins that are there as they are', () => {
    const session = open();
    session.dispatch({
      kind: 'data',
      definition: null,
      nodes: ['z'],
      field: 'pin',
      value: { value: 'typed' },
    });
    session.pinAll();
    expect(pinsIn(session.document.doc)).toEqual({ z: 'typed', 'p/q': 'of Pay/q' });
    expect(graphOf(session.document.doc, 'Pay').nodes[1]?.data?.pin?.from).toBe('the last test');
    session.undo();
    expect(pinsIn(session.document.doc)).toEqual({ z: 'typed' });
    // There is nothing more to pin.
    expect(pinEdit(session.document.doc, given('z', 'gone'))).toBeUndefined();
  });

  test('pins what is selected, inside of composites too, and unpins it again', () => {
    const session = open();
    session.select(['t', 'p']);
    session.togglePins();
    expect(pinsIn(session.document.doc)).toEqual({ 'p/q': 'of Pay/q' });
    session.select(['z']);
    session.togglePins();
    expect(pinsIn(session.document.doc)).toEqual({ z: 'of z', 'p/q': 'of Pay/q' });
    session.togglePins();
    expect(pinsIn(session.document.doc)).toEqual({ 'p/q': 'of Pay/q' });
    const title = () => commandsOf(session, false).find(({ id }) => id === 'pin')?.title;
    expect(title()).toBe('Pin to what it gave');
    session.togglePins();
    expect(title()).toBe('Unpin');
  });

  test('all are removed at once, in every graph', () => {
    const session = open();
    expect(unpinAllEdit(session.document.doc)).toBeUndefined();
    session.pinAll();
    expect(hasPins(session.document.doc)).toBe(true);
    session.unpinAll();
    expect(hasPins(session.document.doc)).toBe(false);
    session.undo();
    expect(pinsIn(session.document.doc)).toEqual({ z: 'of z', 'p/q': 'of Pay/q' });
  });
});

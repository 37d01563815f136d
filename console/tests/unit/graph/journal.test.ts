import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DocumentStore } from '../../../src/graph/document';
import { applyEdit, type Edit } from '../../../src/graph/edit';
import { isEqual } from '../../../src/graph/equal';
import { isKeptIn, Journal, recover } from '../../../src/graph/journal';
import { mergeDocuments } from '../../../src/graph/merge';
import { anyEdit, BASE, memory } from './support';

const AT_3 = () => ({ version: 3, doc: BASE });

const steps = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.tuple(anyEdit, fc.constantFrom(undefined, 'one', 'two')) },
    { weight: 2, arbitrary: fc.constantFrom('undo' as const, 'redo' as const) },
    { weight: 1, arbitrary: fc.constantFrom('save' as const, 'full' as const, 'free' as const) },
  ),
  { maxLength: 30 },
);

test('what was on the screen is recovered after a crash, whatever was done, undone and saved', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (list) => {
      const storage = memory();
      const store = new DocumentStore(BASE);
      let base = { version: 3, doc: BASE };
      const journal = new Journal(storage, store, 'p', 's', () => base);
      for (const step of list) {
        if (step === 'save') {
          base = { version: base.version + 1, doc: store.doc };
          journal.rebase();
        } else if (step === 'undo' || step === 'redo') store[step]();
        else if (typeof step !== 'string')
          store.dispatch(step[0], step[1] === undefined ? {} : { group: step[1] });
      }
      const [found] = await recover(storage, 'p');
      expect(found).toMatchObject({ doc: store.doc, version: base.version, base: base.doc });
    }),
    { numRuns: 200 },
  );
});

test('whatever is said to be kept is recovered, also if the disk was full in between', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (list) => {
      const storage = memory();
      const store = new DocumentStore(BASE);
      const journal = new Journal(storage, store, 'p', 's', AT_3);
      for (const step of list) {
        if (step === 'full' || step === 'free') storage.failing = step === 'full';
        else if (step === 'undo' || step === 'redo') store[step]();
        else if (step !== 'save') store.dispatch(step[0]);
        if (await journal.written()) expect(await recover(storage, 'p')).toMatchObject([{ doc: store.doc }]);
      }
      storage.failing = false;
      store.dispatch({ kind: 'rename', definition: null, node: 'a', label: 'The last one' });
      if (await journal.written()) expect(await recover(storage, 'p')).toMatchObject([{ doc: store.doc }]);
    }),
    { numRuns: 200 },
  );
});

const edits = fc.array(anyEdit, { maxLength: 8 });
const applied = (list: readonly Edit[]) => list.reduce(applyEdit, BASE);

test('a document has what was joined with it without a conflict, and nothing less', () => {
  fc.assert(
    fc.property(edits, edits, (one, other) => {
      const lost = { base: BASE, doc: applied(one) };
      expect(isKeptIn(lost.doc, lost)).toBe(true);
      expect(isKeptIn(BASE, lost)).toBe(isEqual(lost.doc, BASE));
      const joined = mergeDocuments(BASE, applied(other), lost.doc);
      if (joined.conflicts.length === 0) expect(isKeptIn(joined.doc, lost)).toBe(true);
    }),
    { numRuns: 400 },
  );
});

test('what a version has is not left behind, and what a draft alone had is', async () => {
  const storage = memory();
  const store = new DocumentStore(BASE);
  let base = { version: 3, doc: BASE };
  const journal = new Journal(storage, store, 'p', 's', () => base);
  store.dispatch({ kind: 'rename', definition: null, node: 'a', label: 'Start' });
  const [left] = await recover(storage, 'p');
  expect(isKeptIn(BASE, left!)).toBe(false);
  expect(isKeptIn(store.doc, left!)).toBe(true);
  base = { version: 4, doc: store.doc };
  journal.rebase();
  await journal.written();
  const [saved] = await recover(storage, 'p');
  expect(saved).toMatchObject({ version: 4, base: store.doc, doc: store.doc });
  expect(storage.records).toHaveLength(1);
  await journal.close(true);
  expect(storage.records).toEqual([]);
});

test('sessions of consoles that did not note what the version has begin with what was kept', async () => {
  const storage = memory();
  const entry = { kind: 'base' as const, doc: BASE, version: 3 };
  const edit: Edit = { kind: 'rename', definition: null, node: 'a', label: 'Start' };
  const record = { session: 's', pattern: 'p', at: 1 };
  await storage.put({ ...record, seq: 0, entry });
  await storage.put({ ...record, seq: 1, entry: { kind: 'edit', edit } });
  expect(await recover(storage, 'p')).toMatchObject([{ version: 3, base: BASE, doc: applied([edit]) }]);
});

test('a record that is missing ends what is recovered; two tabs are two sessions', async () => {
  const storage = memory();
  const [one, other] = [new DocumentStore(BASE), new DocumentStore(BASE)];
  new Journal(storage, one, 'p', 'one', AT_3, { now: () => 1 });
  new Journal(storage, other, 'p', 'other', AT_3, { now: () => 2 });
  for (const label of ['X', 'Y', 'Z']) one.dispatch({ kind: 'rename', definition: null, node: 'a', label });
  other.dispatch({ kind: 'rename', definition: null, node: 'b', label: 'Q' });
  storage.records = storage.records.filter((record) => record.session !== 'one' || record.seq !== 2);
  const found = await recover(storage, 'p');
  expect(
    found.map(({ session, doc }) => [
      session,
      doc.graph.nodes[0]?.data?.label,
      doc.graph.nodes[1]?.data?.label,
    ]),
  ).toEqual([
    ['other', 'A', 'Q'],
    ['one', 'X', 'B'],
  ]);
});

test('that nothing can be kept is told, and that it can again', async () => {
  const storage = memory();
  const told: boolean[] = [];
  const store = new DocumentStore(BASE);
  new Journal(storage, store, 'p', 's', AT_3, { onFailure: (failing) => told.push(failing) });
  const rename = async (label: string) => {
    store.dispatch({ kind: 'rename', definition: null, node: 'a', label });
    await new Promise((done) => setTimeout(done));
  };
  storage.failing = true;
  await rename('X');
  await rename('Y');
  storage.failing = false;
  await rename('Z');
  expect(told).toEqual([true, false]);
});

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DocumentStore } from '../../../src/graph/document';
import { Journal, recover, type JournalRecord, type JournalStorage } from '../../../src/graph/journal';
import { anyEdit, BASE } from './support';

/** A storage that keeps copies, as a database does. */
function memory(): JournalStorage & { records: JournalRecord[]; failing: boolean } {
  return {
    records: [],
    failing: false,
    async put(record) {
      if (this.failing) throw new Error('The disk is full.');
      this.records.push(structuredClone(record));
    },
    async read(pattern) {
      return structuredClone(this.records.filter((record) => record.pattern === pattern));
    },
    async drop(session, before = Infinity) {
      this.records = this.records.filter((record) => record.session !== session || record.seq >= before);
    },
  };
}

test('what was on the screen is recovered after a crash, whatever was done and undone', async () => {
  const steps = fc.array(
    fc.oneof(
      { weight: 4, arbitrary: fc.tuple(anyEdit, fc.constantFrom(undefined, 'one', 'two')) },
      { weight: 2, arbitrary: fc.constantFrom('undo' as const, 'redo' as const) },
      { weight: 1, arbitrary: fc.constantFrom('save' as const, 'lost' as const) },
    ),
    { maxLength: 30 },
  );
  await fc.assert(
    fc.asyncProperty(steps, async (list) => {
      const storage = memory();
      const store = new DocumentStore(BASE);
      const journal = new Journal(storage, store, 'p', 's', 3);
      let saved = BASE;
      for (const step of list) {
        if (step === 'save') {
          journal.saved(3);
          saved = store.doc;
        } else if (step === 'lost') journal.lost();
        else if (typeof step === 'string') store[step]();
        else store.dispatch(step[0], step[1] === undefined ? {} : { group: step[1] });
      }
      const [found] = await recover(storage, 'p');
      if (found) expect(found).toMatchObject({ doc: store.doc, version: 3 });
      else expect(store.doc).toEqual(saved);
    }),
    { numRuns: 100 },
  );
});

test('what is kept elsewhere is not offered again', async () => {
  const storage = memory();
  const store = new DocumentStore(BASE);
  const journal = new Journal(storage, store, 'p', 's', 3);
  store.dispatch({ kind: 'rename', definition: null, node: 'a', label: 'Start' });
  journal.saved(4);
  await Promise.resolve();
  expect(await recover(storage, 'p')).toEqual([]);
  store.dispatch({ kind: 'rename', definition: null, node: 'a', label: 'Begin' });
  expect(await recover(storage, 'p')).toMatchObject([{ version: 4, edits: 1 }]);
  await journal.close(true);
  expect(storage.records).toEqual([]);
});

test('what is kept elsewhere no longer is offered', async () => {
  const storage = memory();
  const store = new DocumentStore(BASE);
  const journal = new Journal(storage, store, 'p', 's', 3);
  store.dispatch({ kind: 'rename', definition: null, node: 'a', label: 'Start' });
  journal.saved(3);
  await Promise.resolve();
  expect(await recover(storage, 'p')).toEqual([]);
  journal.lost();
  expect(await recover(storage, 'p')).toMatchObject([{ doc: store.doc, version: 3 }]);
});

test('a record that is missing ends what is recovered; two tabs are two sessions', async () => {
  const storage = memory();
  const [one, other] = [new DocumentStore(BASE), new DocumentStore(BASE)];
  new Journal(storage, one, 'p', 'one', 3, { now: () => 1 });
  new Journal(storage, other, 'p', 'other', 3, { now: () => 2 });
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
  new Journal(storage, store, 'p', 's', 3, { onFailure: (failing) => told.push(failing) });
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
